/* Declarations of variables and parameters.
 *
 * R5  threadgroup and constant variables in functions -> static: one global of that address space per
 * function. Threadgroup memory starts undefined; real kernels write `= {0}` nevertheless, any other
 * initialiser is refused R8  array parameters with an address space: constant T x[3] -> constant T *x;
 * constant T x[3][4] -> constant T (*x)[4] */
#include "compiler/front/rewrite.h"

enum { MAX_DECLARATION = 512 };

/* Is i the first word of its statement, but for qualifiers? *is_static: `static` is among them. */
static bool starts_statement(const rewriter *r, uint32_t i, bool *is_static)
{
    const token *t = r->list->tokens;
    *is_static = false;
    if (i - t[i].head > 64) return false;
    for (uint32_t j = t[i].head; j < i; j++) {
        uint32_t code = t[j].code;
        if (code == KW_STATIC)
            *is_static = true;
        else if (front_is_attribute(r->list, j))
            j = t[j].match;
        else if ((code == KW_ALIGNAS || code == KW_ATTRIBUTE) && t[j + 1].code == '(')
            j = t[j + 1].match;
        else if (code != KW_CONST && code != KW_CONSTEXPR && code != KW_VOLATILE)
            return false;
    }
    return true;
}

/* Does the declaration from i on declare an object, not a pointer or reference to one? *initialiser: its '='
 * or '{', if any. */
static bool declares_object(const rewriter *r, uint32_t i, uint32_t *initialiser)
{
    *initialiser = NO_TOKEN;
    const token *t = r->list->tokens;
    uint32_t names = NO_TOKEN; /* words since struct or union */
    uint32_t limit = r->list->count - i > MAX_DECLARATION ? i + MAX_DECLARATION : r->list->count;
    for (uint32_t j = i + 1; j < limit; j++) {
        if (token_is(r->list, j, "struct") || token_is(r->list, j, "union"))
            names = 0;
        else if (t[j].kind == TOKEN_IDENTIFIER && names != NO_TOKEN)
            names++;
        if (t[j].code == '{' && names < 2) { /* the type's members */
            j = t[j].match;
            names = NO_TOKEN;
            continue;
        }
        switch (t[j].code) {
        case '=':
        case '{': *initialiser = j; return true;
        case ';': return true;
        case '*':
        case '&': return false;
        case '(':
            if (t[j + 1].code == '*' || t[j + 1].code == '&') return false;
            j = t[j].match;
            break;
        case '[': j = t[j].match; break;
        case '<': {
            uint32_t close = front_angle_match(r->list, j);
            if (close != NO_TOKEN) j = close;
            break;
        }
        case KW_STATIC: return false;
        default: break;
        }
    }
    return false;
}

/* Nothing but zeros and braces up to the ';' or ','? */
static bool initialises_to_zero(const token_list *list, uint32_t i)
{
    for (i += list->tokens[i].code == '='; i < list->count && list->tokens[i].code != ';'; i++) {
        const token *t = &list->tokens[i];
        bool zero = t->kind == TOKEN_NUMBER && strspn(token_text(list, i), "0.fhu") >= t->length;
        if (!zero && t->code != '{' && t->code != '}' && t->code != ',') return false;
    }
    return true;
}

static tombac_status local_variable(rewriter *r, uint32_t i)
{
    bool is_static;
    uint32_t initialiser;
    if (!starts_statement(r, i, &is_static) || !declares_object(r, i, &initialiser)) return TOMBAC_OK;
    bool shared = r->list->tokens[i].code == KW_THREADGROUP;
    if (shared && initialiser != NO_TOKEN && !initialises_to_zero(r->list, initialiser))
        return front_fail_at(r->unit, initialiser, TOMBAC_ERROR_SOURCE, r->error,
            "variables in threadgroup memory cannot be initialised");
    if (!is_static) front_edit_before(&r->edits, r->list->tokens[i].head, "static ");
    return TOMBAC_OK;
}

/* i is an address space directly inside the parentheses of a parameter list. */
static void array_parameter(rewriter *r, uint32_t i)
{
    const token *t = r->list->tokens;
    uint32_t name = NO_TOKEN, j = i + 1;
    for (; t[j].code != '['; j++) {
        if (t[j].code == '<') {
            uint32_t close = front_angle_match(r->list, j);
            if (close == NO_TOKEN) return;
            j = close;
            name = NO_TOKEN;
        } else if (t[j].kind == TOKEN_IDENTIFIER) {
            name = j;
        } else if (t[j].code != PUNCT2(':', ':')) {
            return;
        }
    }
    if (front_is_attribute(r->list, j) || name + 1 != j) return;
    uint32_t after = t[j].match + 1, end = after;
    bool more = t[after].code == '[' && !front_is_attribute(r->list, after);
    while (t[end].code == '[') end = t[end].match + 1;
    if (t[end].code != ',' && t[end].code != ')' && t[end].code != '=') return;
    for (uint32_t k = j; k < after; k++) front_edit_delete(&r->edits, k);
    front_edit_before(&r->edits, name, more ? "(*" : "*");
    if (more) front_edit_after(&r->edits, name, ")");
}

tombac_status front_rewrite_variables(rewriter *r)
{
    const token *t = r->list->tokens;
    tombac_status status = TOMBAC_OK;
    for (uint32_t i = 0; status == TOMBAC_OK && i < r->list->count; i++) {
        uint32_t code = t[i].code;
        if (code != KW_DEVICE && code != KW_CONSTANT && code != KW_THREADGROUP) continue;
        if (r->edits.edits[i].blank) continue;
        if (t[i].bracket == '(')
            array_parameter(r, i);
        else if (code != KW_DEVICE && t[i].scope == SCOPE_FUNCTION && t[i].bracket == '{')
            status = local_variable(r, i);
    }
    return status;
}
