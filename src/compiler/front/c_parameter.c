/* Parameters of C kernels: which memory a parameter is bound to, and what its elements are.
 *
 *     float a                a constant argument, bound by bytes
 *     const float *x, y[]    device memory
 *     threadgroup float *t   threadgroup memory, sized at launch
 *     slice(float) s         device memory and, behind it, the number of its elements (s_count)
 *
 * Buffers and constants share one numbering, threadgroup memory has its own; both count in order. */
#include "compiler/front/c.h"

#include <stdlib.h>

static bool fail(uint32_t place, const char *message, uint32_t *bad, const char **problem)
{
    *bad = place;
    *problem = message;
    return false;
}

static void note_token(const token_list *list, uint32_t i, c_parameter *p)
{
    const token *t = list->tokens;
    switch (t[i].code) {
    case KW_THREADGROUP: p->kind = C_THREADGROUP; break;
    case '*': p->star = i; break;
    case '[':
        if (p->square == NO_TOKEN) p->square = i;
        break;
    case '(':
        if (t[i + 1].code == '*') p->group = i;
        break;
    default:
        if (t[i].kind == TOKEN_IDENTIFIER && p->square == NO_TOKEN && t[i].code == 0) p->name = i;
        break;
    }
}

/* const before the last '*' is of what it points to; `const` right behind a '*' is the pointer's own. */
static bool element_is_const(const token_list *list, const c_parameter *p)
{
    const token *t = list->tokens;
    uint32_t stop = p->group != NO_TOKEN ? p->group : p->star != NO_TOKEN ? p->star : p->end;
    bool is_const = false;
    for (uint32_t i = p->first; i < stop; i++) {
        if (t[i].code == '*') is_const = false;
        if (t[i].code == KW_CONST) is_const = true;
    }
    return is_const;
}

bool front_c_next_parameter(const token_list *list, uint32_t close, uint32_t *at, c_parameter *out,
    uint32_t *bad, const char **problem)
{
    const token *t = list->tokens;
    *bad = NO_TOKEN;
    uint32_t i = *at;
    if (i >= close || (i + 1 == close && token_is(list, i, "void"))) return false;
    *out = (c_parameter){.kind = C_VALUE,
        .first = i,
        .name = NO_TOKEN,
        .star = NO_TOKEN,
        .square = NO_TOKEN,
        .group = NO_TOKEN};
    bool is_slice = token_is(list, i, "slice"), is_const = token_is(list, i, "slice_const");
    if ((is_slice || is_const) && t[i + 1].code == '(') {
        if (t[i + 1].match != i + 3)
            return fail(i, "a slice's element is a type of one word: slice(float), declare_slice(name)", bad,
                problem);
        out->kind = C_SLICE;
        out->is_const = is_const;
        i = t[i + 1].match + 1;
    }
    for (; i < close && t[i].code != ','; i++) {
        note_token(list, i, out);
        if (t[i].code == '(' && out->group == i) {
            for (uint32_t k = i + 1; k < t[i].match; k++)
                if (t[k].kind == TOKEN_IDENTIFIER && t[k].code == 0) out->name = k;
            if (t[t[i].match + 1].code == '(')
                return fail(i, "a pointer to a function is not supported in kernels", bad, problem);
            i = t[i].match;
        } else if (t[i].code == '(' || t[i].code == '[' || t[i].code == '{') {
            i = t[i].match;
        }
    }
    out->end = i;
    *at = i + 1;
    if (out->name == NO_TOKEN || out->name == out->first)
        return fail(out->first, "a kernel's parameter needs a name", bad, problem);
    bool pointer = out->star != NO_TOKEN || out->square != NO_TOKEN || out->group != NO_TOKEN;
    if (out->kind == C_SLICE) return !pointer || fail(out->first, "a slice is passed by value", bad, problem);
    if (out->kind == C_THREADGROUP && !pointer)
        return fail(out->first, "a threadgroup parameter is a pointer", bad, problem);
    if (out->kind == C_VALUE && pointer) out->kind = C_POINTER;
    out->is_const = pointer && element_is_const(list, out);
    if (out->group == NO_TOKEN && out->star != NO_TOKEN) {
        size_t stars = out->square != NO_TOKEN;
        for (uint32_t k = out->first; k < out->end; k++) stars += t[k].code == '*';
        if (stars > 1)
            return fail(out->star, "a pointer to a pointer cannot be a kernel's parameter", bad, problem);
    }
    return true;
}

void front_c_element_type(const token_list *list, const c_parameter *p, tb_text *out)
{
    const token *t = list->tokens;
    if (p->kind == C_SLICE) {
        tb_text_printf(out, "%s%.*s", p->is_const ? "const " : "", (int)t[p->first + 2].length,
            token_text(list, p->first + 2));
        return;
    }
    if (p->group != NO_TOKEN) tb_text_puts(out, "__typeof__(*(");
    for (uint32_t i = p->first; i < p->end; i++) {
        bool own =
            p->group == NO_TOKEN && p->star != NO_TOKEN && i >= p->star; /* '*' and what qualifies it */
        if (i == p->square && p->group == NO_TOKEN) { /* the first dimension: the pointer */
            i = t[i].match;
            own = true;
        }
        if (own || i == p->name || t[i].code == KW_THREADGROUP) continue;
        tb_text_printf(out, "%.*s ", (int)t[i].length, token_text(list, i));
    }
    if (p->group != NO_TOKEN) tb_text_puts(out, ")0)");
}

/* The type as reflection falls back to it: words without qualifiers, '*' and the name. */
static char *type_text(const token_list *list, const c_parameter *p)
{
    const token *t = list->tokens;
    tb_text text = {0};
    uint32_t first = p->kind == C_SLICE ? p->first + 2 : p->first,
             end = p->kind == C_SLICE ? p->first + 3 : p->end;
    for (uint32_t i = first; i < end; i++) {
        uint32_t code = t[i].code;
        if (code == '[') i = t[i].match;
        if (t[i].kind != TOKEN_IDENTIFIER || i == p->name || code == KW_CONST || code == KW_VOLATILE ||
            code == KW_RESTRICT || code == KW_RESTRICT2 || code == KW_RESTRICT3 || code == KW_THREADGROUP ||
            code == KW_STRUCT || code == KW_UNION || code == KW_ENUM)
            continue;
        tb_text_printf(&text, "%s%.*s", text.size ? " " : "", (int)t[i].length, token_text(list, i));
    }
    return text.size ? tb_text_take(&text) : strdup("");
}

static bool add(
    front_unit *unit, front_kernel *kernel, const c_parameter *p, const char *suffix, front_parameter made)
{
    const token_list *list = &unit->list;
    const token *name = &list->tokens[p->name];
    front_parameter *grown = realloc(kernel->parameters, (kernel->parameter_count + 1) * sizeof *grown);
    if (!grown) return false;
    kernel->parameters = grown;
    tb_text text = {0};
    tb_text_printf(&text, "%.*s%s", (int)name->length, token_text(list, p->name), suffix);
    made.name = tb_text_take(&text);
    made.type_text = *suffix ? strdup("ulong") : type_text(list, p);
    front_line_of(unit, name->line, &made.line);
    made.column = front_locate_token(unit, p->name).column;
    kernel->parameters[kernel->parameter_count++] = made;
    return made.name && made.type_text;
}

static bool add_parameter(front_unit *unit, front_kernel *kernel, const c_parameter *p, uint32_t next[2])
{
    front_parameter made = {.binding = FRONT_BUFFER, .space = FRONT_DEVICE, .is_const = p->is_const};
    const front_parameter value = {
        .binding = FRONT_BUFFER, .space = FRONT_CONSTANT, .is_const = true, .is_reference = true};
    switch (p->kind) {
    case C_VALUE: made = value; break;
    case C_THREADGROUP:
        made.binding = FRONT_THREADGROUP;
        made.space = FRONT_THREADGROUP_SPACE;
        break;
    default: break;
    }
    made.index = next[p->kind == C_THREADGROUP]++;
    if (!add(unit, kernel, p, "", made)) return false;
    if (p->kind != C_SLICE) return true;
    made = value;
    made.index = next[0]++;
    const token *name = &unit->list.tokens[p->name];
    const char *text = token_text(&unit->list, p->name);
    tb_text_printf(&kernel->requirements, "%.*s" FRONT_C_COUNT_SUFFIX " <= len(%.*s)\n", (int)name->length,
        text, (int)name->length, text);
    return add(unit, kernel, p, FRONT_C_COUNT_SUFFIX, made) && !kernel->requirements.bad;
}

tombac_status front_c_read_parameters(
    front_unit *unit, const kernel_site *site, front_kernel *kernel, tombac_error **error)
{
    uint32_t at = site->open + 1, close = unit->list.tokens[site->open].match, bad, next[2] = {0, 0};
    const char *problem = NULL;
    for (c_parameter p; front_c_next_parameter(&unit->list, close, &at, &p, &bad, &problem);)
        if (!add_parameter(unit, kernel, &p, next)) return tb_fail_memory(error);
    if (bad == NO_TOKEN) return TOMBAC_OK;
    return front_fail_at(unit, bad, TOMBAC_ERROR_SOURCE, error, "%s", problem);
}
