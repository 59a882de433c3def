/* -Wmetal-addr-spaces: member functions without an address space, whose `this` is in thread memory below
 * metal4.1 and generic from it on; and the fix that keeps the meaning, `thread` after their parameters.
 *
 * Fixes go into the user's files, so every place must be found there again, spelled as in the preprocessed
 * text: what a macro made is warned about but stays as it is. */
#include "compiler/front/rewrite.h"

#include <stdlib.h>

typedef struct insertion {
    uint32_t file, offset; /* in the file's text */
} insertion;

void front_warn_unannotated(const rewriter *r, tb_text *out)
{
    for (size_t i = 0; i < r->unannotated_count; i++) {
        uint32_t name = r->unannotated[i].name;
        const token *t = &r->list->tokens[name];
        tb_text message = {0};
        bool operators = t->code == KW_OPERATOR;
        tb_text_printf(&message,
            "member function '%.*s%.*s' has no address space: its 'this' is in thread memory "
            "below metal4.1 and generic from it on [-Wmetal-addr-spaces]",
            (int)t->length, token_text(r->list, name), operators ? (int)t[1].length : 0,
            token_text(r->list, name + 1));
        front_report(r->unit, front_locate_token(r->unit, name), "warning", tb_text_string(&message), out);
        out->bad |= message.bad;
        tb_text_free(&message);
    }
}

/* Walks from `at` in the file over tokens [first, last]; NULL if the file has others there. */
static const char *walk(
    const token_list *list, uint32_t first, uint32_t last, const char *at, const char *end)
{
    for (uint32_t i = first; i <= last; i++) {
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
        uint32_t length = list->tokens[i].length;
        if ((size_t)(end - at) < length || memcmp(at, token_text(list, i), length) != 0) return NULL;
        at += length;
    }
    return at;
}

/* The place behind a member's parameters and qualifiers in its file; false if the file does not have them. */
static bool place(const front_unit *unit, const front_unannotated *member, insertion *out)
{
    front_position position = front_locate_token(unit, member->name);
    for (uint32_t f = 0; f < unit->file_count; f++) {
        const source_file *file = &unit->files[f];
        if (!file->text || strcmp(file->path, position.file) != 0) continue;
        const char *line = file->text, *end = file->text + file->size;
        for (unsigned n = 1; line && n < position.line; n++) {
            line = memchr(line, '\n', (size_t)(end - line));
            if (line) line++;
        }
        if (!line || position.column == 0 || (size_t)(end - line) < position.column) return false;
        const char *after = walk(&unit->list, member->name, member->after, line + position.column - 1, end);
        if (after) *out = (insertion){f, (uint32_t)(after - file->text)};
        return after != NULL;
    }
    return false;
}

static int compare(const void *a, const void *b)
{
    const insertion *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Insertions [first, end) belong to one file; a header read twice has each of them twice. */
static tombac_status write_file(const front_unit *unit, const insertion *list, size_t count,
    front_fix_writer *write, void *context, tombac_error **error)
{
    const source_file *file = &unit->files[list[0].file];
    tb_text text = {0};
    uint32_t done = 0;
    for (size_t i = 0; i < count; i++) {
        if (i && list[i].offset == list[i - 1].offset) continue;
        tb_text_append(&text, file->text + done, list[i].offset - done);
        tb_text_puts(&text, " thread");
        done = list[i].offset;
    }
    tb_text_append(&text, file->text + done, file->size - done);
    tombac_status status = text.bad ? tb_fail_memory(error) : write(file->path, &text, context, error);
    tb_text_free(&text);
    return status;
}

tombac_status front_fix(front_unit *unit, front_fix_writer *write, void *context, tombac_error **error)
{
    rewriter r;
    bool wanted = unit->options.address_space_warnings;
    unit->options.address_space_warnings = true;
    tombac_status status = front_rewrite_start(&r, unit, NULL, error);
    unit->options.address_space_warnings = wanted;
    insertion *list = calloc(r.unannotated_count + 1, sizeof *list);
    size_t count = 0;
    if (status == TOMBAC_OK && !list) status = tb_fail_memory(error);
    for (size_t i = 0; status == TOMBAC_OK && i < r.unannotated_count; i++)
        count += place(unit, &r.unannotated[i], &list[count]);
    if (count) qsort(list, count, sizeof *list, compare);
    for (size_t i = 0, end; status == TOMBAC_OK && i < count; i = end) {
        for (end = i + 1; end < count && list[end].file == list[i].file;) end++;
        status = write_file(unit, list + i, end - i, write, context, error);
    }
    free(list);
    front_rewrite_free(&r);
    return status;
}
