/* R15: several subscripts, which tensors have from metal4.0 on and C++ from C++23:
 *
 *     t[i, j]    -> t[__tombac::subscript(i, j)]
 *
 * For anything but a tensor this is the last of them, as the comma operator gives. A comma between template
 * arguments does no harm: the function returns a single argument as it is. */
#include "compiler/front/rewrite.h"

static bool has_comma(const token *t, uint32_t open)
{
    for (uint32_t i = open + 1; i < t[open].match; i++) {
        if (t[i].code == ',') return true;
        if (t[i].code == '(' || t[i].code == '[' || t[i].code == '{') i = t[i].match;
    }
    return false;
}

/* A subscript follows an expression; a lambda's captures and the names of a structured binding do not. */
static bool is_subscript(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    if (i == 0 || t[i].code != '[' || t[i].match == NO_TOKEN || front_is_attribute(list, i)) return false;
    const token *before = &t[i - 1];
    if (before->kind == TOKEN_IDENTIFIER) return before->code == 0 && !token_is(list, i - 1, "auto");
    return before->code == ')' || before->code == ']';
}

void front_rewrite_subscripts(rewriter *r)
{
    const token *t = r->list->tokens;
    if (r->unit->standard.version < 400) return;
    for (uint32_t i = 0; i < r->list->count; i++) {
        if (!is_subscript(r->list, i) || r->edits.edits[i].blank || !has_comma(t, i)) continue;
        front_edit_after(&r->edits, i, "__tombac::subscript(");
        front_edit_before(&r->edits, t[i].match, ")");
    }
}
