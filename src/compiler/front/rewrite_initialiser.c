/* R14: float4 v = {1.0f} sets one component and zeroes the rest; the header's vectors, classes with a
 * constructor from one value, would set all. So a list of one value gets a helper that does what Metal does:
 *
 *     float4 v = {x};            -> float4 v = {metal::__first<float4>(x)};
 *     float2 a[2] = {{x}, {y}};  -> each inner list
 *
 * The type must be spelled as a vector (float4, packed_half3); members of structs are not reached. */
#include "compiler/front/rewrite.h"

static bool is_vector_name(const token_list *list, uint32_t i)
{
    static const char *const scalars[] = {"float", "half", "bfloat", "int", "uint", "short", "ushort", "char",
        "uchar", "long", "ulong", "bool"};
    const char *p = token_text(list, i);
    uint32_t length = list->tokens[i].length;
    if (list->tokens[i].kind != TOKEN_IDENTIFIER || length < 4 || p[length - 1] < '2' || p[length - 1] > '4')
        return false;
    if (length > 7 && !memcmp(p, "packed_", 7)) {
        p += 7;
        length -= 7;
    }
    for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++)
        if (strlen(scalars[k]) == length - 1 && !memcmp(p, scalars[k], length - 1)) return true;
    return false;
}

/* `{ expression }` at open, with one expression that is no list itself. */
static void fill(rewriter *r, uint32_t type, uint32_t open)
{
    const token *t = r->list->tokens;
    uint32_t close = t[open].match;
    if (close == open + 1 || t[open + 1].code == '{' || t[open + 1].code == '.') return;
    uint32_t last = t[close - 1].code == ',' ? close - 2 : close - 1;
    for (uint32_t i = open + 1; i <= last; i++) {
        if (t[i].code == ',') return;
        if (t[i].code == '(' || t[i].code == '[' || t[i].code == '{') i = t[i].match;
        if (t[i].code == '<') {
            uint32_t angle = front_angle_match(r->list, i);
            if (angle != NO_TOKEN && angle <= last) i = angle;
        }
    }
    tb_text text = {0};
    tb_text_printf(&text, "metal::__first<%.*s>(", (int)t[type].length, token_text(r->list, type));
    front_edit_before(&r->edits, open + 1, tb_text_string(&text));
    front_edit_after(&r->edits, last, ")");
    r->edits.pool.bad |= text.bad;
    tb_text_free(&text);
}

void front_rewrite_initialisers(rewriter *r)
{
    const token *t = r->list->tokens;
    for (uint32_t i = 0; i < r->list->count; i++) {
        if (!is_vector_name(r->list, i) || r->edits.edits[i].blank) continue;
        uint32_t at = i + 1;
        bool array = false;
        if (t[at].kind == TOKEN_IDENTIFIER && t[at].code == 0) at++;
        while (at > i + 1 && t[at].code == '[' && t[at].match != NO_TOKEN) {
            at = t[at].match + 1;
            array = true;
        }
        if (at > i + 1 && t[at].code == '=') at++;
        if (t[at].code != '{' || t[at].scope != SCOPE_LIST) continue;
        if (!array) {
            fill(r, i, at);
            continue;
        }
        for (uint32_t k = at + 1; k < t[at].match; k++)
            if (t[k].code == '{') {
                fill(r, i, k);
                k = t[k].match;
            }
    }
}
