/* R10: c ? a : b where a and b are objects in different address spaces, or a class and an integer literal.
 *
 * C++ does not unify these. Metal does. So operands that look like such objects are converted to values of their
 * common type: c ? ::metal::__tc<decltype(b)>(a) : ::metal::__tc<decltype(a)>(b) (from the global namespace: one of
 * the program may be called metal too). What looks like one: an operand that ends in ']' or begins with '*', or
 * exactly one literal. Where clang still complains, the same is done at the '?' that it reports (compile.c). */
#include "compiler/front/rewrite.h"

enum { MAX_OPERAND = 1024, MAX_TEXT = 8192 };

typedef struct ternary {
    uint32_t first2, last2, first3, last3; /* tokens of the second and third operand */
} ternary;

/* Moves *i over a bracket, if one begins there. Returns the last token consumed. */
static uint32_t step(const token_list *list, uint32_t *i)
{
    const token *t = &list->tokens[*i];
    uint32_t last = *i;
    if ((t->code == '(' || t->code == '[' || t->code == '{') && t->match != NO_TOKEN) last = t->match;
    *i = last + 1;
    return last;
}

static bool closes(uint32_t code)
{
    return code == ';' || code == ')' || code == ']' || code == '}';
}

/* Is the '<' at i a template bracket, judging by what follows its '>'? */
static uint32_t template_bracket(const token_list *list, uint32_t i)
{
    if (i == 0 || list->tokens[i - 1].kind != TOKEN_IDENTIFIER) return NO_TOKEN;
    uint32_t close = front_angle_match(list, i);
    if (close == NO_TOKEN) return NO_TOKEN;
    uint32_t after = list->tokens[close + 1].code;
    return after == '(' || after == '{' || after == PUNCT2(':', ':') ? close : NO_TOKEN;
}

static bool find_operands(const token_list *list, uint32_t question, ternary *out)
{
    const token *t = list->tokens;
    uint32_t i = question + 1, limit = question + MAX_OPERAND, depth = 0, last = question;
    out->first2 = i;
    while (i < list->count && i < limit && !(t[i].code == ':' && depth == 0)) {
        if (closes(t[i].code)) return false;
        depth += t[i].code == '?';
        depth -= t[i].code == ':';
        last = step(list, &i);
    }
    if (t[i].code != ':' || last == question) return false;
    out->last2 = last;
    out->first3 = last = ++i;
    for (depth = 0; i < list->count && i < limit;) {
        uint32_t code = t[i].code, close;
        if (closes(code) || code == ',' || (code == ':' && depth == 0)) break;
        depth += code == '?';
        depth -= code == ':';
        if (code == '<' && (close = template_bracket(list, i)) != NO_TOKEN) {
            last = close;
            i = close + 1;
        } else {
            last = step(list, &i);
        }
    }
    out->last3 = last;
    return i < limit && i > out->first3;
}

/* Tokens that cannot be repeated inside decltype: a lambda. */
static bool repeatable(const token_list *list, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++)
        if (list->tokens[i].code == '{' && list->tokens[i].scope == SCOPE_FUNCTION) return false;
    return true;
}

static bool wrap(rewriter *r, const ternary *x)
{
    const char *const head = " ::metal::__tc<decltype(", *const middle = ")>("; /* ':' and "::" are two tokens */
    if (!repeatable(r->list, x->first2, x->last2) || !repeatable(r->list, x->first3, x->last3)) return false;
    tb_text before2 = {0}, before3 = {0};
    tb_text_puts(&before2, head);
    front_edit_render(&r->edits, x->first3, x->last3, &before2);
    tb_text_puts(&before2, middle);
    tb_text_puts(&before3, head);
    front_edit_render(&r->edits, x->first2, x->last2, &before3);
    tb_text_puts(&before3, middle);
    bool fits = before2.size < MAX_TEXT && before3.size < MAX_TEXT && !before2.bad && !before3.bad;
    if (fits) {
        front_edit_before(&r->edits, x->first2, tb_text_string(&before2));
        front_edit_after(&r->edits, x->last2, ")");
        front_edit_before(&r->edits, x->first3, tb_text_string(&before3));
        front_edit_after(&r->edits, x->last3, ")");
    }
    tb_text_free(&before2);
    tb_text_free(&before3);
    return fits;
}

bool front_wrap_ternary(rewriter *r, uint32_t i)
{
    ternary x;
    if (r->wrapped[i] || r->edits.edits[i].blank || !find_operands(r->list, i, &x) || !wrap(r, &x))
        return false;
    return r->asked[i] = r->wrapped[i] = true;
}

static bool is_object(const token_list *list, uint32_t first, uint32_t last)
{
    return list->tokens[first].code == '*' || list->tokens[last].code == ']';
}

static bool is_number(const token_list *list, uint32_t first, uint32_t last)
{
    return first == last && list->tokens[first].kind == TOKEN_NUMBER;
}

void front_rewrite_ternaries(rewriter *r)
{
    const token_list *list = r->list;
    const token *t = list->tokens;
    for (uint32_t i = list->count; i-- > 0;) { /* inner ones first */
        ternary x;
        if (t[i].code != '?' || r->edits.edits[i].blank || !find_operands(list, i, &x)) continue;
        uint32_t code2 = t[x.first2].code, code3 = t[x.first3].code;
        if (code2 == KW_NULLPTR || code3 == KW_NULLPTR || code2 == KW_THROW ||
            t[x.first2].kind == TOKEN_STRING)
            continue;
        bool number2 = is_number(list, x.first2, x.last2), number3 = is_number(list, x.first3, x.last3);
        if (number2 && number3 && !r->asked[i]) continue;
        bool objects = is_object(list, x.first2, x.last2) || is_object(list, x.first3, x.last3);
        if (objects || number2 != number3 || r->asked[i]) r->wrapped[i] = wrap(r, &x);
    }
}
