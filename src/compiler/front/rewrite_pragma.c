/* R11: pragmas. Clang knows #pragma unroll and #pragma clang ...; Metal's own become clang's:
 *
 *   METAL fp math_mode(safe)          float_control(precise, on): no fast-math flags
 *   METAL fp math_mode(fast|relaxed)  clang fp: reassociation, reciprocals, contraction. Not float_control(precise, off):
 *                                     that would also promise that there are no infinities
 *   METAL fp contract(off|on|fast)    clang fp contract(...)
 *   unroll(expression with names)     unroll: macros in it are not expanded any more
 *   METAL internals ...               nothing */
#include "compiler/front/rewrite.h"

#include <ctype.h>

static bool next_word(const char **p, const char *end, char *word, size_t size)
{
    while (*p < end && isspace((unsigned char)**p)) ++*p;
    size_t n = 0;
    while (*p < end && (isalnum((unsigned char)**p) || **p == '_') && n + 1 < size) word[n++] = *(*p)++;
    word[n] = 0;
    return n > 0;
}

/* name(argument) after "METAL fp". */
static void metal_fp(rewriter *r, uint32_t i, const char *p, const char *end)
{
    char name[32], argument[32] = "", text[64] = "";
    while (next_word(&p, end, name, sizeof name)) {
        while (p < end && (*p == '(' || isspace((unsigned char)*p))) p++;
        next_word(&p, end, argument, sizeof argument);
        while (p < end && (*p == ')' || isspace((unsigned char)*p))) p++;
        bool fast = !strcmp(argument, "fast"), on = !strcmp(argument, "on"), off = !strcmp(argument, "off");
        if (!strcmp(name, "math_mode") && !strcmp(argument, "safe")) strcpy(text, "#pragma float_control(precise, on)");
        else if (!strcmp(name, "math_mode") && (fast || !strcmp(argument, "relaxed")))
            strcpy(text, "#pragma clang fp reassociate(on) reciprocal(on) contract(fast)");
        else if (!strcmp(name, "contract") && (fast || on || off))
            strcat(strcpy(text, "#pragma clang fp contract("), fast ? "fast)" : on ? "on)" : "off)");
    }
    front_edit_directive(&r->edits, i, text[0] ? text : " ");
}

void front_rewrite_pragmas(rewriter *r)
{
    for (uint32_t i = 0; i < r->list->directive_count; i++) {
        const directive *d = &r->list->directives[i];
        const char *p = r->list->text + d->offset + 1, *end = p + d->length - 1;
        char word[32];
        if (!next_word(&p, end, word, sizeof word) || strcmp(word, "pragma") != 0) continue;
        if (!next_word(&p, end, word, sizeof word)) continue;
        if (!strcmp(word, "unroll")) {
            bool names = false;
            for (; p < end; p++) names |= isalpha((unsigned char)*p) || *p == '_';
            if (names) front_edit_directive(&r->edits, i, "#pragma unroll");
        } else if (!strcmp(word, "METAL")) {
            if (next_word(&p, end, word, sizeof word) && !strcmp(word, "fp")) metal_fp(r, i, p, end);
            else front_edit_directive(&r->edits, i, " ");
        }
    }
}
