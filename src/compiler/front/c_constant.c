/* Function constants of C kernels: values that are set when a kernel is made, as in Metal.
 *
 *     function_constant(0) uint radius;
 *     ... is_function_constant_defined(radius) ? radius : 4 ...
 *
 * The device sees two globals for each, which ir_prepare gives their values; nothing may write them. */
#include "compiler/front/c.h"

#include "artifact/abi.h"

#include <stdlib.h>

#define DEFINED "__tombac_is_defined_"
#define NOTE(KIND, NAME) "__attribute__((annotate(\"tombac." KIND ":" NAME "\")))"

bool front_c_is_constant(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    return t[i].brace == NO_TOKEN && !t[i].bracket && t[i + 1].code == '(' &&
           token_is(list, i, "function_constant");
}

/* The name: the last word before the ';' of the declaration at i; NO_TOKEN where it is none. */
static uint32_t name_of(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    uint32_t k = t[i + 1].match + 1;
    while (t[k].kind == TOKEN_IDENTIFIER) k++;
    return t[k].code == ';' && k > t[i + 1].match + 2 ? k - 1 : NO_TOKEN;
}

static tombac_status read_one(front_unit *unit, uint32_t i, front_constant *out, tombac_error **error)
{
    const token_list *list = &unit->list;
    uint32_t close = list->tokens[i + 1].match, name = name_of(list, i);
    int64_t index;
    if (!front_evaluate(unit, i + 2, close, &index) || index < 0 || index >= TB_MAX_FUNCTION_CONSTANTS)
        return front_fail_at(unit, i, TOMBAC_ERROR_SOURCE, error,
            "the index of a function constant must be an integer constant between 0 and 65535");
    if (name == NO_TOKEN)
        return front_fail_at(unit, close + 1, TOMBAC_ERROR_SOURCE, error,
            "a function constant is one scalar or vector without an initialiser: function_constant(%d) uint "
            "name;",
            (int)index);
    for (size_t k = 0; k < unit->constant_count; k++)
        if (unit->constants[k].index == (uint32_t)index)
            return front_fail_at(
                unit, i, TOMBAC_ERROR_SOURCE, error, "function constant %d is declared twice", (int)index);
    tb_text type = {0};
    for (uint32_t k = close + 1; k < name; k++)
        if (list->tokens[k].code != KW_CONST)
            tb_text_printf(
                &type, "%s%.*s", type.size ? " " : "", (int)list->tokens[k].length, token_text(list, k));
    out->index = (uint32_t)index;
    out->name = front_copy(token_text(list, name), list->tokens[name].length);
    out->type_text = type.size ? tb_text_take(&type) : strdup("");
    if (!out->name || !out->type_text) return tb_fail_memory(error);
    out->type = front_scalar_type(out->type_text, &out->vector_length);
    if (out->type == TOMBAC_TYPE_OTHER)
        return front_fail_at(unit, close + 1, TOMBAC_ERROR_UNSUPPORTED, error,
            "a function constant of type '%s' is not supported: it is bool, an integer, half, float or a "
            "vector of these",
            out->type_text);
    return TOMBAC_OK;
}

tombac_status front_c_find_constants(front_unit *unit, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    for (uint32_t i = 0; i < unit->list.count && status == TOMBAC_OK; i++) {
        if (!front_c_is_constant(&unit->list, i)) continue;
        front_constant *grown = realloc(unit->constants, (unit->constant_count + 1) * sizeof *grown),
                       made = {0};
        if (!grown) return tb_fail_memory(error);
        unit->constants = grown;
        status = read_one(unit, i, &made, error);
        unit->constants[unit->constant_count++] = made;
    }
    return status;
}

/* ---- Uses ---- */

static bool is_written(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    uint32_t after = t[i + 1].code, before = t[i - 1].code, k = i + 1;
    while (t[k].code == '.' || t[k].code == '[')
        k = t[k].code == '.' ? k + 2 : t[k].match + 1; /* an element */
    const char *p = token_text(list, k);
    bool assigned = t[k].kind == TOKEN_PUNCTUATOR && p[t[k].length - 1] == '=' &&
                    t[k].code != PUNCT2('=', '=') && t[k].code != PUNCT2('!', '=') &&
                    t[k].code != PUNCT2('<', '=') && t[k].code != PUNCT2('>', '=');
    bool counted = after == PUNCT2('+', '+') || after == PUNCT2('-', '-') || before == PUNCT2('+', '+') ||
                   before == PUNCT2('-', '-');
    bool binary = i > 1 && (t[i - 2].kind == TOKEN_IDENTIFIER || t[i - 2].kind == TOKEN_NUMBER ||
                               t[i - 2].code == ')' || t[i - 2].code == ']');
    return assigned || counted || (before == '&' && !binary);
}

tombac_status front_c_check_constants(const front_unit *unit, tombac_error **error)
{
    const token_list *list = &unit->list;
    for (size_t k = 0; k < unit->constant_count; k++) {
        const front_constant *c = &unit->constants[k];
        for (uint32_t i = 1; i < list->count; i++) {
            if (list->tokens[i].brace == NO_TOKEN || !token_is(list, i, c->name) || !front_c_is_use(list, i))
                continue;
            if (is_written(list, i) && !front_c_declares_variable(list, i))
                return front_fail_at(unit, i, TOMBAC_ERROR_SOURCE, error,
                    "function constant '%s' cannot be changed, nor its address be taken", c->name);
        }
    }
    return TOMBAC_OK;
}

static tombac_status check_is_defined(const front_unit *unit, uint32_t i, tombac_error **error)
{
    const token *t = unit->list.tokens;
    for (size_t k = 0; k < unit->constant_count; k++)
        if (t[i + 1].code == '(' && t[i + 1].match == i + 3 &&
            token_is(&unit->list, i + 2, unit->constants[k].name))
            return TOMBAC_OK;
    return front_fail_at(unit, i, TOMBAC_ERROR_SOURCE, error,
        "is_function_constant_defined takes the name of a function constant of this file");
}

tombac_status front_c_rewrite_constants(rewriter *r)
{
    const token_list *list = r->list;
    const token *t = list->tokens;
    tombac_status status = TOMBAC_OK;
    for (uint32_t i = 0; i < list->count && status == TOMBAC_OK; i++) {
        if (t[i].code == KW_IS_DEFINED && t[i].brace != NO_TOKEN) {
            status = check_is_defined(r->unit, i, r->error);
            if (status != TOMBAC_OK) break;
            front_edit_replace(&r->edits, i, DEFINED);
            front_edit_delete(&r->edits, i + 1);
            front_edit_delete(&r->edits, i + 3);
        }
        if (!front_c_is_constant(list, i)) continue;
        uint32_t name = name_of(list, i), close = t[i + 1].match;
        int length = (int)t[name].length;
        const char *word = token_text(list, name);
        tb_text note = {0}, defined = {0};
        tb_text_printf(&note, NOTE("function_constant", "%.*s"), length, word);
        tb_text_printf(&defined, NOTE("function_constant_defined", "%.*s") " bool " DEFINED "%.*s;", length,
            word, length, word);
        front_edit_replace(&r->edits, i, tb_text_string(&note));
        for (uint32_t k = i + 1; k < name; k++)
            if (k <= close || t[k].code == KW_CONST) front_edit_delete(&r->edits, k);
        front_edit_after(&r->edits, name + 1, tb_text_string(&defined));
        r->edits.pool.bad |= note.bad | defined.bad;
        tb_text_free(&note);
        tb_text_free(&defined);
    }
    return status;
}

/* constant uint radius [[function_constant(0)]]; */
void front_c_write_constant(edit_list *edits, const token_list *list, uint32_t i)
{
    uint32_t close = list->tokens[i + 1].match, name = name_of(list, i);
    tb_text text = {0};
    tb_text_puts(&text, " [[function_constant(");
    front_edit_render(edits, i + 2, close - 1, &text);
    tb_text_puts(&text, ")]]");
    front_edit_replace(edits, i, "constant");
    for (uint32_t k = i + 1; k < name; k++)
        if (k <= close || list->tokens[k].code == KW_CONST) front_edit_delete(edits, k);
    front_edit_after(edits, name, tb_text_string(&text));
    edits->pool.bad |= text.bad;
    tb_text_free(&text);
}
