/* R9: v.xyz -> v.template swz<0,1,2>(), and swzl, which can be assigned, where an assignment follows. Single
 * components are members. A class of the source may have members called xy or rg: that spelling then stays as
 * it is, and clang's complaint about a vector leads to a second attempt for that place alone (compile.c). */
#include "compiler/front/rewrite.h"

/* A number below SWIZZLE_NAMES for a swizzle's spelling, -1 for any other word. Components go to index[]. */
static int swizzle(const rewriter *r, uint32_t i, int index[4], uint32_t *length)
{
    const char *p = token_text(r->list, i);
    *length = r->list->tokens[i].length;
    if (*length < 2 || *length > 4) return -1;
    for (int set = 0; set < 2; set++) {
        int id = 0;
        uint32_t n = 0;
        for (; n < *length; n++) {
            const char *letters = set ? "rgba" : "xyzw", *at = strchr(letters, p[n]);
            if (!at || !p[n]) break;
            index[n] = (int)(at - letters);
            id = id * 4 + index[n];
        }
        if (n == *length) return (set * 256 + id) * 3 + (int)*length - 2;
    }
    return -1;
}

void front_find_swizzle_fields(rewriter *r)
{
    const token *t = r->list->tokens;
    int index[4];
    uint32_t length;
    for (uint32_t i = 1; i < r->list->count; i++) {
        if (t[i].kind != TOKEN_IDENTIFIER || t[i].scope != SCOPE_CLASS || t[i].bracket != '{') continue;
        uint32_t after = t[i + 1].code, before = t[i - 1].code;
        bool declared =
            after == ';' || after == ',' || after == '[' || after == '=' || after == ':' || after == '{';
        if (!declared || before == '.' || before == PUNCT2('-', '>')) continue;
        int id = swizzle(r, i, index, &length);
        if (id >= 0) r->swizzle_fields[id] = true;
    }
}

static bool assigns(uint32_t code)
{
    switch (code) {
    case '=':
    case PUNCT2('+', '='):
    case PUNCT2('-', '='):
    case PUNCT2('*', '='):
    case PUNCT2('/', '='):
    case PUNCT2('%', '='):
    case PUNCT2('&', '='):
    case PUNCT2('|', '='):
    case PUNCT2('^', '='):
    case PUNCT3('<', '<', '='):
    case PUNCT3('>', '>', '='):
    case PUNCT2('+', '+'):
    case PUNCT2('-', '-'): return true;
    default: return false;
    }
}

static bool is_step(uint32_t code)
{
    return code == PUNCT2('+', '+') || code == PUNCT2('-', '-');
}

/* First token of the postfix expression whose member is at i: v.xy, p[2]->v.xy, f(x).xy, (*p).xy, a::b.xy */
static uint32_t postfix_start(const token *t, uint32_t i)
{
    while (i > 1) {
        uint32_t code = t[i - 1].code;
        if (code != '.' && code != PUNCT2('-', '>') && code != PUNCT2(':', ':')) return i;
        i -= 2;
        while (i > 0 && (t[i].code == ')' || t[i].code == ']') && t[i].match != NO_TOKEN) {
            i = t[i].match;
            bool follows = i > 0 && ((t[i - 1].kind == TOKEN_IDENTIFIER && t[i - 1].code == 0) ||
                                        t[i - 1].code == ')' || t[i - 1].code == ']');
            if (!follows) return i;
            i--;
        }
    }
    return i;
}

/* Is the swizzle at i assigned to? `=` and its kin after it, ++ and -- on either side; parentheses around it
 * change nothing. */
static bool is_assigned(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    if (assigns(t[i + 1].code)) return true;
    uint32_t first = postfix_start(t, i), last = i;
    for (;;) {
        if (assigns(t[last + 1].code) || (first > 0 && is_step(t[first - 1].code))) return true;
        if (first < 2 || t[first - 1].code != '(' || t[last + 1].code != ')') return false;
        uint32_t before = t[first - 2].code;
        if (t[first - 2].kind == TOKEN_IDENTIFIER || before == ')' || before == ']' || before == '>')
            return false;
        first--;
        last++;
    }
}

void front_rewrite_swizzle(rewriter *r, uint32_t i, bool even_if_field)
{
    const token *t = r->list->tokens;
    int index[4];
    uint32_t length;
    if (i == 0 || (t[i - 1].code != '.' && t[i - 1].code != PUNCT2('-', '>')) || t[i + 1].code == '(') return;
    int id = swizzle(r, i, index, &length);
    if (id < 0 || (r->swizzle_fields[id] && !even_if_field)) return;
    char text[48] = "template swz<";
    if (is_assigned(r->list, i)) memcpy(text, "template swzl<", sizeof "template swzl<");
    for (uint32_t k = 0; k < length; k++) {
        size_t at = strlen(text);
        text[at] = (char)('0' + index[k]);
        text[at + 1] = k + 1 < length ? ',' : '>';
        text[at + 2] = 0;
    }
    strcat(text, "()");
    front_edit_replace(&r->edits, i, text);
}
