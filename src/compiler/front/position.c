/* From the preprocessed text back to the user's file, line and column, and reports that show the place.
 *
 * File and line follow from the line markers. The column does not: macros are expanded and white space is
 * collapsed. So the tokens of the preprocessed line are aligned with the tokens of the user's raw line by a
 * longest common subsequence; a token that came out of a macro gets the position of the macro's name. Only
 * lines that are reported pay for this. */
#include "compiler/front/unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_ALIGNED = 500, MAX_SHOWN_LINE = 1000 };

const char *front_line_of(const front_unit *unit, uint32_t physical, unsigned *line)
{
    uint32_t low = 0, high = unit->mark_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (unit->marks[middle].line <= physical)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) {
        *line = physical;
        return unit->main_path;
    }
    const line_mark *mark = &unit->marks[low - 1];
    *line = mark->presumed + (physical - mark->line);
    return unit->files[mark->file].path;
}

/* The text of a line of one of the user's files; NULL if there is none. */
static const char *raw_line(const front_unit *unit, const char *file, unsigned line, size_t *length)
{
    for (uint32_t i = 0; i < unit->file_count; i++) {
        if (strcmp(unit->files[i].path, file) != 0 || !unit->files[i].text || line == 0) continue;
        const char *p = unit->files[i].text, *end = p + unit->files[i].size;
        for (unsigned n = 1; n < line && p; n++) {
            p = memchr(p, '\n', (size_t)(end - p));
            if (p) p++;
        }
        if (!p || p >= end) return NULL;
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        *length = (size_t)((newline ? newline : end) - p);
        if (*length && p[*length - 1] == '\r') --*length;
        return p;
    }
    return NULL;
}

/* A copy of the raw line with comments, and what is not text, blanked. */
static char *without_comments(const char *raw, size_t length)
{
    char *copy = front_copy(raw, length);
    if (!copy) return NULL;
    char quote = 0;
    for (size_t i = 0; i < length; i++) {
        if (copy[i] == 0) copy[i] = ' ';
        if (quote) {
            if (copy[i] == '\\')
                i++;
            else if (copy[i] == quote)
                quote = 0;
        } else if (copy[i] == '"' || copy[i] == '\'') {
            quote = copy[i];
        } else if (copy[i] == '/' && copy[i + 1] == '/') {
            memset(copy + i, ' ', length - i);
        } else if (copy[i] == '/' && copy[i + 1] == '*') {
            const char *close = strstr(copy + i + 2, "*/");
            size_t end = close ? (size_t)(close - copy) + 2 : length;
            memset(copy + i, ' ', end - i);
        }
    }
    return copy;
}

static bool same(const token_list *a, uint32_t i, const token_list *b, uint32_t j)
{
    return a->tokens[i].length == b->tokens[j].length &&
           memcmp(token_text(a, i), token_text(b, j), a->tokens[i].length) == 0;
}

/* table[i * (m + 1) + j]: length of the longest common subsequence of a[first + i ...] and b[j ...]. */
static uint16_t *common_subsequence(
    const token_list *a, uint32_t first, uint32_t n, const token_list *b, uint32_t m)
{
    uint16_t *table = calloc((size_t)(n + 1) * (m + 1), sizeof *table);
    if (!table) return NULL;
    for (uint32_t i = n; i-- > 0;)
        for (uint32_t j = m; j-- > 0;) {
            uint16_t *cell = &table[i * (m + 1) + j];
            uint16_t down = cell[m + 1], right = cell[1];
            if (same(a, first + i, b, j))
                *cell = (uint16_t)(cell[m + 2] + 1);
            else
                *cell = down > right ? down : right;
        }
    return table;
}

/* Column of token `target` (one of the n from `first` on) in the raw line's tokens; 0 if unknown. */
static unsigned align(
    const token_list *list, uint32_t first, uint32_t n, uint32_t target, const token_list *raw)
{
    uint32_t m = raw->count;
    uint16_t *table = common_subsequence(list, first, n, raw, m);
    if (!table) return 0;
    uint32_t i = 0, j = 0, after_match = 0;
    bool matched = false;
    while (i < n && first + i <= target && j < m) {
        uint16_t here = table[i * (m + 1) + j];
        if (same(list, first + i, raw, j) && here == table[(i + 1) * (m + 1) + j + 1] + 1) {
            matched = first + i == target;
            if (matched) break;
            i++;
            after_match = ++j;
        } else if (here == table[(i + 1) * (m + 1) + j]) {
            i++; /* this token came from a macro */
        } else {
            j++;
        }
    }
    free(table);
    if (!matched) {
        j = after_match; /* the macro's name stands after the last common token */
        while (j < m && raw->tokens[j].kind != TOKEN_IDENTIFIER) j++;
        if (j >= m) j = after_match;
    }
    return j < m ? raw->tokens[j].offset + 1 : 0;
}

static uint32_t token_at(const token_list *list, uint32_t offset)
{
    uint32_t low = 0, high = list->count;
    while (low < high) { /* first token that ends after offset */
        uint32_t middle = low + (high - low) / 2;
        if (list->tokens[middle].offset + list->tokens[middle].length <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static unsigned column_of(
    const front_unit *unit, uint32_t offset, uint32_t line, const char *raw, size_t length)
{
    const token_list *list = &unit->list;
    uint32_t target = token_at(list, offset), first = target, last = target;
    if (target >= list->count || list->tokens[target].line != line) return 0;
    while (first > 0 && list->tokens[first - 1].line == line && target - first < MAX_ALIGNED / 2) first--;
    while (last + 1 < list->count && list->tokens[last + 1].line == line && last - target < MAX_ALIGNED / 2)
        last++;
    char *copy = without_comments(raw, length);
    token_list tokens = {0};
    lex_problem problem;
    unsigned column = 0;
    if (copy && front_lex(copy, length, &tokens, &problem, NULL) == TOMBAC_OK && tokens.count <= MAX_ALIGNED)
        column = align(list, first, last - first + 1, target, &tokens);
    front_lex_free(&tokens);
    free(copy);
    uint32_t start = list->tokens[target].offset;
    bool inside = column && offset > start && column - 1 + list->tokens[target].length <= length &&
                  memcmp(raw + column - 1, token_text(list, target), list->tokens[target].length) == 0;
    return inside ? column + (offset - start) : column;
}

front_position front_locate(const front_unit *unit, uint32_t offset, uint32_t line)
{
    front_position position = {0};
    position.file = front_line_of(unit, line, &position.line);
    size_t length = 0;
    const char *raw = raw_line(unit, position.file, position.line, &length);
    if (raw && length <= MAX_SHOWN_LINE) position.column = column_of(unit, offset, line, raw, length);
    if (raw && position.column == 0 &&
        length <= MAX_SHOWN_LINE) { /* not a token: the same text in the raw line */
        const char *text = unit->list.text + offset, *end = unit->list.text + unit->list.size;
        size_t same = 0;
        while (text + same < end && same < 8 && text[same] != '\n') same++;
        const char *found = same ? memmem(raw, length, text, same) : NULL;
        if (found) position.column = (unsigned)(found - raw) + 1;
    }
    if (position.column == 0) { /* the line's first character */
        size_t i = 0;
        while (raw && i < length && (raw[i] == ' ' || raw[i] == '\t')) i++;
        position.column = (unsigned)i + 1;
    }
    return position;
}

front_position front_locate_token(const front_unit *unit, uint32_t i)
{
    return front_locate(unit, unit->list.tokens[i].offset, unit->list.tokens[i].line);
}

void front_report(
    const front_unit *unit, front_position at, const char *kind, const char *message, tb_text *out)
{
    tb_text_printf(out, "%s:%u:%u: %s: %s\n", at.file, at.line, at.column, kind, message);
    size_t length = 0;
    const char *raw = raw_line(unit, at.file, at.line, &length);
    if (!raw || length > MAX_SHOWN_LINE) return;
    tb_text_printf(out, "%5u | ", at.line);
    for (size_t i = 0; i < length; i++)
        tb_text_putc(out, (unsigned char)raw[i] < ' ' && raw[i] != '\t' ? ' ' : raw[i]);
    tb_text_puts(out, "\n      | ");
    for (size_t i = 0; i + 1 < at.column && i < length; i++) tb_text_putc(out, raw[i] == '\t' ? '\t' : ' ');
    tb_text_puts(out, "^\n");
}

tombac_status front_fail_at(const front_unit *unit, uint32_t where, tombac_status status,
    tombac_error **error, const char *format, ...)
{
    tb_text message = {0}, report = {0};
    va_list arguments;
    va_start(arguments, format);
    tb_text_vprintf(&message, format, arguments);
    va_end(arguments);
    front_position at = front_locate_token(unit, where);
    front_report(unit, at, "error", tb_text_string(&message), &report);
    status = message.bad || report.bad ? tb_fail_memory(error)
                                       : tb_fail(error, status, "%s", tb_text_string(&report));
    tb_error_set_location(error, at.file, at.line, at.column);
    tb_text_free(&message);
    tb_text_free(&report);
    return status;
}

char *front_copy(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy) return NULL;
    memcpy(copy, text, size);
    copy[size] = 0;
    return copy;
}
