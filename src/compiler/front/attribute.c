/* Attributes [[...]]; see declare.h. */
#include "compiler/front/declare.h"

#include <stdlib.h>

static const struct {
    const char *name;
    attribute_kind kind;
} known[] = {
#define X(kind, name) {#name, ATTRIBUTE_##kind},
#include "compiler/front/attributes.def"
#undef X
};

attribute_cursor front_attributes(const token_list *list, uint32_t open)
{
    return (attribute_cursor){list, open + 2, list->tokens[open].match - 1};
}

bool front_next_attribute(attribute_cursor *cursor, attribute *out)
{
    const token *t = cursor->list->tokens;
    while (cursor->at < cursor->end && t[cursor->at].code == ',') cursor->at++;
    if (cursor->at >= cursor->end) return false;
    uint32_t i = cursor->at;
    *out = (attribute){.first = i, .argument = i, .argument_end = i};
    bool scoped = t[i + 1].code == PUNCT2(':', ':');
    uint32_t name = scoped ? i + 2 : i;
    while (i < cursor->end && t[i].code != ',') {
        if (t[i].code == '(' || t[i].code == '[' || t[i].code == '{') {
            if (i == name + 1 && t[i].code == '(') {
                out->argument = i + 1;
                out->argument_end = t[i].match;
            }
            i = t[i].match;
        }
        i++;
    }
    out->last = cursor->at = i;
    if (scoped && token_is(cursor->list, out->first, "tombac") && token_is(cursor->list, name, "requires")) {
        out->known = FRONT_REQUIRES;
        out->kind = ATTRIBUTE_FUNCTION;
    }
    for (size_t k = 0; k < sizeof known / sizeof *known && !scoped; k++) { /* not clang::..., gnu::... */
        if (!token_is(cursor->list, out->first, known[k].name)) continue;
        out->known = known[k].name;
        out->kind = known[k].kind;
        break;
    }
    return true;
}

enum { LONGEST_NAME = 63 };

/* Levenshtein's distance. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned row[LONGEST_NAME + 1];
    for (size_t k = 0; k <= m; k++) row[k] = (unsigned)k;
    for (size_t i = 0; i < n; i++) {
        unsigned corner = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t k = 0; k < m; k++) {
            unsigned replace = corner + (a[i] != b[k]),
                     drop = (row[k] < row[k + 1] ? row[k] : row[k + 1]) + 1;
            corner = row[k + 1];
            row[k + 1] = replace < drop ? replace : drop;
        }
    }
    return row[m];
}

const char *front_nearest_attribute(const token_list *list, uint32_t i)
{
    const char *nearest = NULL;
    unsigned best = 4;
    size_t length = list->tokens[i].length;
    for (size_t k = 0; length <= LONGEST_NAME && k < sizeof known / sizeof *known; k++) {
        size_t other = strlen(known[k].name);
        unsigned d = other <= LONGEST_NAME && known[k].kind != ATTRIBUTE_IGNORED
                         ? distance(token_text(list, i), length, known[k].name, other)
                         : best;
        bool begins = length >= 8 && other > length && !memcmp(token_text(list, i), known[k].name, length);
        if (begins && d >= best) d = best - 1; /* the beginning of a name, rather than anything else */
        if (d >= best || (!begins && d > length / 3)) continue;
        best = d;
        nearest = known[k].name;
    }
    return nearest;
}

char *front_join_strings(const token_list *list, uint32_t first, uint32_t end)
{
    tb_text text = {0};
    for (uint32_t i = first; i < end; i++) {
        const token *t = &list->tokens[i];
        if (t->kind != TOKEN_STRING || t->length < 2 || token_text(list, i)[0] != '"') continue;
        tb_text_append(&text, token_text(list, i) + 1, t->length - 2);
    }
    if (!text.size && !text.bad) return front_copy("", 0);
    return tb_text_take(&text);
}
