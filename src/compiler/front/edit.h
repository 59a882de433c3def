/* Edits of a token list, and the text that results.
 *
 * Each token has text put before it, text in its place, and text after it; white space between tokens stays,
 * so every token keeps its line. Texts live in one pool. */
#ifndef TB_FRONT_EDIT_H
#define TB_FRONT_EDIT_H

#include "base/text.h"
#include "compiler/front/lex.h"

enum { EDIT_NONE = 0, EDIT_DELETE = UINT32_MAX };

typedef struct edit {
    uint32_t before, text, after; /* offsets of strings in the pool; text may be EDIT_DELETE */
    bool blank;                   /* deleted, with the directives before it */
} edit;

typedef struct edit_list {
    const token_list *list;
    edit *edits;
    uint32_t *directives; /* texts in place of directives, EDIT_NONE: as it is */
    tb_text pool;
    bool too_large;
} edit_list;

bool front_edit_start(edit_list *e, const token_list *list);
void front_edit_free(edit_list *e);

void front_edit_replace(edit_list *e, uint32_t at, const char *text);
void front_edit_delete(edit_list *e, uint32_t at);
/* Deletes tokens [first, last], and directives among them. */
void front_edit_blank(edit_list *e, uint32_t first, uint32_t last);
/* Puts text before all that is already before the token (after all that is already after it). */
void front_edit_before(edit_list *e, uint32_t at, const char *text);
void front_edit_after(edit_list *e, uint32_t at, const char *text);
void front_edit_directive(edit_list *e, uint32_t directive, const char *text);

/* Appends tokens [first, last] as edited, on one line. */
void front_edit_render(const edit_list *e, uint32_t first, uint32_t last, tb_text *out);
/* Appends the whole text. `offsets`, if not NULL, has room for count + 1 entries and receives where each
 * token begins in `out`, the text before it included (or would begin, if deleted). */
void front_edit_emit(const edit_list *e, uint32_t *offsets, tb_text *out);

/* Bytes of the text before a token. */
static inline size_t front_edit_lead(const edit_list *e, uint32_t at)
{
    return strlen(e->pool.data + e->edits[at].before);
}

#endif
