/* See edit.h. */
#include "compiler/front/edit.h"

#include <stdlib.h>

static const size_t pool_limit = (size_t)256
                                 << 20; /* hostile nesting makes texts of texts; real files need 1 MiB */

bool front_edit_start(edit_list *e, const token_list *list)
{
    *e = (edit_list){.list = list};
    e->edits = calloc((size_t)list->count + 1, sizeof *e->edits);
    e->directives = calloc((size_t)list->directive_count + 1, sizeof *e->directives);
    tb_text_putc(&e->pool, 0); /* offset 0 is the empty text */
    return e->edits && e->directives && !e->pool.bad;
}

void front_edit_free(edit_list *e)
{
    free(e->edits);
    free(e->directives);
    tb_text_free(&e->pool);
    *e = (edit_list){0};
}

static const char *pooled(const edit_list *e, uint32_t at)
{
    return e->pool.data + at;
}

/* Stores first + second. */
static uint32_t store(edit_list *e, const char *first, const char *second)
{
    size_t a = strlen(first), b = strlen(second), at = e->pool.size;
    if (at + a + b + 1 > pool_limit) e->too_large = true;
    if (e->pool.bad || e->too_large) return EDIT_NONE;
    /* The parts may lie in the pool, which moves as it grows: reserve by appending, then copy from where they
     * are now. */
    bool a_inside = first >= e->pool.data && first < e->pool.data + at;
    bool b_inside = second >= e->pool.data && second < e->pool.data + at;
    size_t a_at = a_inside ? (size_t)(first - e->pool.data) : 0,
           b_at = b_inside ? (size_t)(second - e->pool.data) : 0;
    char zero[64] = {0};
    for (size_t left = a + b + 1; left;) {
        size_t part = left < sizeof zero ? left : sizeof zero;
        tb_text_append(&e->pool, zero, part);
        left -= part;
    }
    if (e->pool.bad) return EDIT_NONE;
    memcpy(e->pool.data + at, a_inside ? e->pool.data + a_at : first, a);
    memcpy(e->pool.data + at + a, b_inside ? e->pool.data + b_at : second, b);
    return (uint32_t)at;
}

void front_edit_replace(edit_list *e, uint32_t at, const char *text)
{
    e->edits[at].text = store(e, text, "");
}

void front_edit_delete(edit_list *e, uint32_t at)
{
    e->edits[at].text = EDIT_DELETE;
}

void front_edit_blank(edit_list *e, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++) e->edits[i] = (edit){.text = EDIT_DELETE, .blank = true};
}

void front_edit_before(edit_list *e, uint32_t at, const char *text)
{
    if (e->edits[at].blank) return;
    e->edits[at].before = store(e, text, pooled(e, e->edits[at].before));
}

void front_edit_after(edit_list *e, uint32_t at, const char *text)
{
    if (e->edits[at].blank) return;
    e->edits[at].after = store(e, pooled(e, e->edits[at].after), text);
}

void front_edit_directive(edit_list *e, uint32_t i, const char *text)
{
    e->directives[i] = store(e, text, "");
}

static void append_token(const edit_list *e, uint32_t i, tb_text *out, uint32_t *offset)
{
    const edit *d = &e->edits[i];
    if (offset) *offset = (uint32_t)out->size;
    tb_text_puts(out, pooled(e, d->before));
    if (d->text == EDIT_NONE)
        tb_text_append(out, token_text(e->list, i), e->list->tokens[i].length);
    else if (d->text != EDIT_DELETE)
        tb_text_puts(out, pooled(e, d->text));
    tb_text_puts(out, pooled(e, d->after));
}

void front_edit_render(const edit_list *e, uint32_t first, uint32_t last, tb_text *out)
{
    const token *t = e->list->tokens;
    for (uint32_t i = first; i <= last; i++) {
        if (i > first && t[i].offset > t[i - 1].offset + t[i - 1].length) tb_text_putc(out, ' ');
        append_token(e, i, out, NULL);
    }
}

/* Is the white space before token i in the body of a function? */
static bool in_body(const edit_list *e, uint32_t i)
{
    const token *t = e->list->tokens;
    return (t[i].scope == SCOPE_FUNCTION && t[i].code != '{') || (i > 0 && t[i - 1].scope == SCOPE_FUNCTION);
}

/* White space between two tokens, with directives; only newlines where both sides are blank. A pragma in the body of a function
 * that is left out goes too: where it would stand, it would be about all that follows. Others stay. */
static void append_gap(
    const edit_list *e, uint32_t from, uint32_t to, bool blank, bool gone, uint32_t *next_directive, tb_text *out)
{
    const token_list *list = e->list;
    while (from < to) {
        const directive *d =
            *next_directive < list->directive_count ? &list->directives[*next_directive] : NULL;
        uint32_t end = d && d->offset < to ? d->offset : to;
        if (!blank)
            tb_text_append(out, list->text + from, end - from);
        else
            for (uint32_t i = from; i < end; i++)
                if (list->text[i] == '\n') tb_text_putc(out, '\n');
        from = end;
        if (!d || d->offset >= to) continue;
        uint32_t replaced = e->directives[*next_directive];
        bool marker = d->length > 2 && list->text[d->offset + 1] == ' ' && list->text[d->offset + 2] <= '9' &&
                      list->text[d->offset + 2] >= '0';
        if (replaced && (!gone || marker))
            tb_text_puts(out, pooled(e, replaced));
        else if (!gone || marker)
            tb_text_append(out, list->text + d->offset, d->length);
        from += d->length;
        ++*next_directive;
    }
}

void front_edit_emit(const edit_list *e, uint32_t *offsets, tb_text *out)
{
    const token_list *list = e->list;
    uint32_t at = 0, directive_at = 0;
    for (uint32_t i = 0; i <= list->count; i++) {
        const token *t = &list->tokens[i];
        bool blank = e->edits[i].blank && (i == 0 || e->edits[i - 1].blank);
        append_gap(e, at, t->offset, blank, blank && in_body(e, i), &directive_at, out);
        append_token(e, i, out, offsets ? &offsets[i] : NULL);
        at = t->offset + t->length;
    }
}
