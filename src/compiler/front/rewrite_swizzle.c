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

void front_rewrite_swizzle(rewriter *r, uint32_t i, bool even_if_field)
{
    const token *t = r->list->tokens;
    int index[4];
    uint32_t length;
    if (i == 0 || (t[i - 1].code != '.' && t[i - 1].code != PUNCT2('-', '>')) || t[i + 1].code == '(') return;
    int id = swizzle(r, i, index, &length);
    if (id < 0 || (r->swizzle_fields[id] && !even_if_field)) return;
    char text[48] = "template swz<";
    if (assigns(t[i + 1].code)) memcpy(text, "template swzl<", sizeof "template swzl<");
    for (uint32_t k = 0; k < length; k++) {
        size_t at = strlen(text);
        text[at] = (char)('0' + index[k]);
        text[at + 1] = k + 1 < length ? ',' : '>';
        text[at + 2] = 0;
    }
    strcat(text, "()");
    front_edit_replace(&r->edits, i, text);
}
