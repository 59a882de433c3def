/* See diagnose.h. Clang is told to report physical positions of the rewritten text (<stdin>:line:column); a
 * position there is a byte, a byte belongs to a token, and a token has a place in the user's file. */
#include "compiler/front/diagnose.h"

#include <stdlib.h>

enum { MAX_SHOWN_ERRORS = 20, MAX_NOTES = 8, MAX_HISTORY = 64 };

typedef struct line_index {
    const char **starts;
    uint32_t count;
} line_index;

static bool index_lines(const tb_text *text, line_index *index)
{
    uint32_t count = 1;
    const char *p = tb_text_string(text), *end = p + text->size;
    for (const char *q = p; q < end; q++) count += *q == '\n';
    index->starts = malloc((size_t)count * sizeof *index->starts);
    if (!index->starts) return false;
    index->count = 0;
    index->starts[index->count++] = p;
    for (const char *q = p; q < end; q++)
        if (*q == '\n') index->starts[index->count++] = q + 1;
    return true;
}

/* The last token that begins at or before the byte. */
static uint32_t token_at(const rewriter *r, const uint32_t *offsets, uint32_t byte)
{
    uint32_t low = 0, high = r->list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (offsets[middle] <= byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

static bool read_number(const char **p, const char *end, uint32_t *value)
{
    *value = 0;
    const char *start = *p;
    while (*p < end && **p >= '0' && **p <= '9' && *p - start < 9)
        *value = *value * 10 + (uint32_t)(*(*p)++ - '0');
    return *p > start && *p < end && *(*p)++ == ':';
}

static bool skip(const char **p, const char *end, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(end - *p) < length || memcmp(*p, word, length) != 0) return false;
    *p += length;
    return true;
}

/* One line of clang's output: PLACE:LINE:COLUMN: KIND: MESSAGE, or KIND: MESSAGE without a place. */
static bool parse_line(const rewriter *r, const char *p, const char *end, const tb_text *text,
    const uint32_t *offsets, const line_index *lines, diagnostic *out)
{
    *out = (diagnostic){.token = NO_TOKEN};
    bool user = skip(&p, end, "<stdin>:");
    uint32_t line = 0, column = 0;
    if (user) {
        if (!read_number(&p, end, &line) || !read_number(&p, end, &column)) return false;
    } else {
        const char *kind = NULL; /* a header's path may hold anything: find ": KIND: " */
        static const char *const kinds[] = {": fatal error: ", ": error: ", ": warning: ", ": note: "};
        for (size_t i = 0; i < 4 && !kind; i++) {
            kind = memmem(p, (size_t)(end - p), kinds[i], strlen(kinds[i]));
            if (kind) p = kind + 1;
        }
    }
    skip(&p, end, " ");
    if (skip(&p, end, "fatal error: ") || skip(&p, end, "error: "))
        out->kind = DIAGNOSTIC_ERROR;
    else if (skip(&p, end, "warning: "))
        out->kind = DIAGNOSTIC_WARNING;
    else if (skip(&p, end, "note: "))
        out->kind = DIAGNOSTIC_NOTE;
    else
        return false;
    out->message = p;
    out->length = (size_t)(end - p);
    if (!user || line == 0 || line > lines->count) return true;
    uint32_t byte = (uint32_t)(lines->starts[line - 1] - tb_text_string(text)) + column - 1;
    out->token = token_at(r, offsets, byte);
    size_t own = offsets[out->token] + front_edit_lead(&r->edits, out->token);
    if (byte > own && byte - own < r->list->tokens[out->token].length && front_is_free(r, out->token))
        out->inside = (uint32_t)(byte - own);
    return true;
}

bool front_parse_diagnostics(const rewriter *r, const tb_text *errors, const tb_text *text,
    const uint32_t *offsets, diagnostic_list *list)
{
    line_index lines;
    if (!index_lines(text, &lines)) return false;
    *list = (diagnostic_list){0};
    size_t room = 0;
    const char *p = tb_text_string(errors), *end = p + errors->size;
    bool fine = true;
    while (p < end && fine) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        if (list->count == room) {
            room = room ? room * 2 : 32;
            diagnostic *grown = realloc(list->items, room * sizeof *grown);
            fine = grown != NULL;
            if (grown) list->items = grown;
        }
        if (fine && parse_line(r, p, stop, text, offsets, &lines, &list->items[list->count])) list->count++;
        p = stop + 1;
    }
    free(lines.starts);
    return fine;
}

uint32_t front_diagnostic_token(const diagnostic_list *list, size_t i)
{
    uint32_t at = list->items[i].token;
    for (size_t k = i + 1; at == NO_TOKEN && k < list->count && list->items[k].kind == DIAGNOSTIC_NOTE; k++)
        at = list->items[k].token;
    return at;
}

bool front_diagnostic_says(const diagnostic *d, const char *words)
{
    return memmem(d->message, d->length, words, strlen(words)) != NULL;
}

/* Equal but for what stands in quotes: types, mostly. */
static bool same_words(const diagnostic *a, const diagnostic *b)
{
    const char *p = a->message, *q = b->message, *p_end = p + a->length, *q_end = q + b->length;
    while (p < p_end && q < q_end && *p == *q) {
        const char *p_close = *p == '\'' ? memchr(p + 1, '\'', (size_t)(p_end - p) - 1) : p;
        const char *q_close = *q == '\'' ? memchr(q + 1, '\'', (size_t)(q_end - q) - 1) : q;
        if (!p_close || !q_close) return false;
        p = p_close + 1;
        q = q_close + 1;
    }
    return p == p_end && q == q_end;
}

/* The places shown last. */
typedef struct history {
    const diagnostic *items[MAX_HISTORY];
    uint32_t places[MAX_HISTORY];
    size_t count;
} history;

/* The same words at the same place, as a template gives them for each instantiation and a header for each
 * member of a class? If not, they are noted. */
static bool repeats(history *h, const diagnostic *d, uint32_t at)
{
    size_t known = h->count < MAX_HISTORY ? h->count : MAX_HISTORY;
    for (size_t i = 0; at != NO_TOKEN && i < known; i++)
        if (h->places[i] == at && h->items[i]->kind == d->kind && same_words(h->items[i], d)) return true;
    h->items[h->count % MAX_HISTORY] = d;
    h->places[h->count++ % MAX_HISTORY] = at;
    return false;
}

/* An error about an operand of ?: that was wrapped (R10) belongs to the '?'. */
static uint32_t ternary_of(const rewriter *r, uint32_t at)
{
    const token *t = r->list->tokens;
    for (uint32_t i = at; i < r->list->count && i > t[at].head; i--) {
        if (t[i].code == '?' && t[i].brace == t[at].brace) return i;
    }
    return at;
}

/* Metal's headers need a namespace std for braced lists (metal_types); to a kernel there is none. */
static bool names_std(const diagnostic *d)
{
    return front_diagnostic_says(d, "in namespace 'std'");
}

static uint32_t std_before(const rewriter *r, uint32_t at)
{
    for (uint32_t i = at; i != NO_TOKEN && i + 4 > at && i < r->list->count; i--)
        if (token_is(r->list, i, "std")) return i;
    return at;
}

/* A static assertion of Metal's headers speaks to the user: its message alone counts. */
static diagnostic plain(const diagnostic *d)
{
    diagnostic out = *d;
    static const char no_std[] = "use of undeclared identifier 'std'";
    const char *start = "static assertion failed";
    if (names_std(d)) {
        out.message = no_std;
        out.length = sizeof no_std - 1;
        out.inside = 0;
    }
    const char *colon = memmem(d->message, d->length, "': ", 3);
    if (d->token == NO_TOKEN && colon && d->length > strlen(start) &&
        !memcmp(d->message, start, strlen(start))) {
        out.message = colon + 3;
        out.length -= (size_t)(out.message - d->message);
    }
    static const char vla[] = " [-Werror,-Wvla-cxx-extension]"; /* an option of ours */
    size_t tail = sizeof vla - 1;
    if (out.length > tail && memcmp(out.message + out.length - tail, vla, tail) == 0) out.length -= tail;
    return out;
}

static void show(
    const rewriter *r, const diagnostic *original, uint32_t at, tb_text *out, front_position *first)
{
    static const char *const kinds[] = {"error", "warning", "note"};
    const token *t = &r->list->tokens[at < r->list->count ? at : r->list->count];
    tb_text message = {0};
    diagnostic shorter = plain(original), *d = &shorter;
    if (r->unit->options.language == FRONT_C)
        tb_text_append(&message, d->message, d->length);
    else
        front_metal_words(d->message, d->length, r->list->text + t->offset, t->length, &message);
    front_position position = front_locate(r->unit, t->offset + d->inside, t->line);
    front_report(r->unit, position, kinds[d->kind], tb_text_string(&message), out);
    if (first && d->kind == DIAGNOSTIC_ERROR && !first->file) *first = position;
    bool is_c = r->unit->options.language == FRONT_C;
    const char *hint = is_c ? NULL : front_hint(tb_text_string(&message), message.size);
    if (!hint && !is_c) hint = front_hint(d->message, d->length);
    if (hint && d->kind != DIAGNOSTIC_WARNING)
        tb_text_printf(out, "%s:%u:%u: note: %s\n", position.file, position.line, position.column, hint);
    out->bad |= message.bad;
    tb_text_free(&message);
}

tombac_status front_show_diagnostics(
    const rewriter *r, const diagnostic_list *list, tb_text *out, front_position *first)
{
    tombac_status status = TOMBAC_ERROR_SOURCE;
    size_t errors = 0, notes = 0, hidden = 0;
    bool shown = false;
    uint32_t used = NO_TOKEN;
    history seen = {.count = 0};
    for (size_t i = 0; i < list->count; i++) {
        const diagnostic *d = &list->items[i];
        if (d->kind == DIAGNOSTIC_NOTE) {
            if (!shown || d->token == NO_TOKEN || d->token == used || notes++ >= MAX_NOTES) continue;
            show(r, d, d->token, out, NULL);
            continue;
        }
        uint32_t at = front_diagnostic_token(list, i);
        notes = 0;
        used = d->token == NO_TOKEN ? at : NO_TOKEN;
        shown = !(d->kind == DIAGNOSTIC_WARNING && d->token == NO_TOKEN);
        if (at < r->list->count && front_diagnostic_says(d, FRONT_TERNARY_SIGN)) at = ternary_of(r, at);
        if (names_std(d)) at = std_before(r, at);
        bool follows =
            front_diagnostic_says(d, "variable length array declaration cannot have"); /* another error */
        if (follows || repeats(&seen, d, at)) {
            shown = false;
            continue;
        }
        if (d->kind == DIAGNOSTIC_ERROR) {
            if (front_diagnostic_says(d, "not supported")) status = TOMBAC_ERROR_UNSUPPORTED;
            if (front_diagnostic_says(d, "too many errors emitted")) continue;
            shown = ++errors <= MAX_SHOWN_ERRORS;
            hidden += !shown;
        }
        if (!shown) continue;
        if (at == NO_TOKEN) {
            tb_text_puts(out, "error: ");
            front_metal_words(d->message, d->length, "", 0, out);
            tb_text_putc(out, '\n');
        } else {
            show(r, d, at, out, first);
        }
    }
    if (hidden) tb_text_printf(out, "%zu more errors\n", hidden);
    return status;
}
