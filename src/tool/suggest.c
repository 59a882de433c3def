/* Misspelt names; see suggest.h. Method: Levenshtein distance, one row at a time; near enough is a third of
 * the name. */
#include "tool/suggest.h"

#include <string.h>

enum { LONGEST = 127 };

static size_t distance_between(const char *a, const char *b)
{
    size_t row[LONGEST + 1], length = strlen(b);
    for (size_t j = 0; j <= length; j++) row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t replaced = diagonal + ((a[i] | 32) != (b[j] | 32));
            size_t shorter = row[j] < row[j + 1] ? row[j] : row[j + 1];
            diagonal = row[j + 1];
            row[j + 1] = replaced < shorter + 1 ? replaced : shorter + 1;
        }
    }
    return row[length];
}

void tool_suggest_consider(tool_suggestion *suggestion, const char *candidate)
{
    size_t length = strlen(suggestion->name);
    if (length > LONGEST || strlen(candidate) > LONGEST) return;
    size_t distance = distance_between(suggestion->name, candidate);
    if (distance > (length + 3) / 3 || distance >= length) return;
    if (suggestion->best && distance >= suggestion->distance) return;
    suggestion->best = candidate;
    suggestion->distance = distance;
}

void tool_suggest_append(const tool_suggestion *suggestion, tb_text *text)
{
    if (suggestion->best) tb_text_printf(text, "; did you mean '%s'?", suggestion->best);
}
