/* All rules in order, and the ones that look at one token: R1 (address spaces), R6, R9, R12 (coherent), R13
 * (casts), and is_function_constant_defined. */
#include "compiler/front/c.h"

#include <stdlib.h>

/* is_function_constant_defined(scope::name) -> scope::__tombac_fcdef_name */
static void rewrite_is_defined(rewriter *r, uint32_t i)
{
    const token *t = r->list->tokens;
    if (t[i + 1].code != '(') return;
    uint32_t close = t[i + 1].match, name = close - 1;
    if (t[name].kind != TOKEN_IDENTIFIER) return;
    tb_text text = {0};
    tb_text_printf(&text, FRONT_DEFINED_PREFIX "%.*s", (int)t[name].length, token_text(r->list, name));
    front_edit_delete(&r->edits, i);
    front_edit_replace(&r->edits, i + 1, "(");
    front_edit_replace(&r->edits, name, tb_text_string(&text));
    r->edits.pool.bad |= text.bad;
    tb_text_free(&text);
}

/* From metal4.1 on, the operand of a static_cast may be generic, and refer to other memory (generic.h). */
static void check_cast(rewriter *r, uint32_t i, uint32_t close)
{
    front_position at = front_locate_token(r->unit, i);
    tb_text text = {0};
    tb_text_puts(&text, ", \"static_cast<");
    front_append_tokens(r->list, i + 2, close, &text);
    tb_text_puts(&text, "> of a pointer to other memory\", \"");
    for (const char *p = at.file; *p; p++) tb_text_printf(&text, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    tb_text_printf(&text, "\", %u", at.line);
    front_edit_replace(&r->edits, i, "__tombac_static_cast");
    front_edit_before(&r->edits, r->list->tokens[close + 1].match, tb_text_string(&text));
    r->edits.pool.bad |= text.bad;
    tb_text_free(&text);
}

/* static_cast<device T *>(x) -> ((device T *)(x)): clang's static_cast and reinterpret_cast do not enter a
 * named address space. */
static void rewrite_cast(rewriter *r, uint32_t i)
{
    const token *t = r->list->tokens;
    if (t[i + 1].code != '<') return;
    uint32_t close = front_angle_match(r->list, i + 1);
    if (close == NO_TOKEN || t[close + 1].code != '(') return;
    bool space = false, pointer = false, thread = false;
    for (uint32_t k = i + 2; k < close; k++) {
        space |= code_is_space(t[k].code) && t[k].code != KW_THREAD;
        thread |= t[k].code == KW_THREAD;
        pointer |= t[k].code == '*';
    }
    bool generic = r->unit->standard.version >= 410 && t[i].code == KW_STATIC_CAST && pointer;
    if (generic && (space || thread)) {
        check_cast(r, i, close);
        return;
    }
    if (!space || !pointer) return;
    front_edit_replace(&r->edits, i, "((");
    front_edit_delete(&r->edits, i + 1);
    front_edit_replace(&r->edits, close, ")");
    front_edit_after(&r->edits, t[close + 1].match, ")");
}

/* coherent, coherent(device), coherent(system): every access is coherent here. */
static void rewrite_coherent(rewriter *r, uint32_t i)
{
    const token *t = r->list->tokens;
    uint32_t after = t[i + 1].code, before = i ? t[i - 1].code : 0;
    if (after == '(') {
        for (uint32_t k = i; k <= t[i + 1].match; k++) front_edit_delete(&r->edits, k);
    } else if (code_is_space(after) || code_is_space(before) || after == KW_CONST || after == KW_VOLATILE) {
        front_edit_delete(&r->edits, i);
    }
}

static void rewrite_number(rewriter *r, uint32_t i)
{
    tb_text text = {0};
    if (front_rewrite_number(token_text(r->list, i), r->list->tokens[i].length, &text))
        front_edit_replace(&r->edits, i, tb_text_string(&text));
    r->edits.pool.bad |= text.bad;
    tb_text_free(&text);
}

static void rewrite_word(rewriter *r, uint32_t i)
{
    switch (r->list->tokens[i].code) {
    case KW_THREAD: front_edit_delete(&r->edits, i); break;
    case KW_DEVICE: front_edit_replace(&r->edits, i, "__attribute__((opencl_global))"); break;
    case KW_CONSTANT: front_edit_replace(&r->edits, i, FRONT_CONSTANT_TEXT); break;
    case KW_THREADGROUP: front_edit_replace(&r->edits, i, "__attribute__((opencl_local))"); break;
    case KW_IS_DEFINED: rewrite_is_defined(r, i); break;
    case KW_STATIC_CAST:
    case KW_REINTERPRET_CAST: rewrite_cast(r, i); break;
    case KW_COHERENT: rewrite_coherent(r, i); break;
    case 0: front_rewrite_swizzle(r, i); break;
    default: break;
    }
}

static void rewrite_words(rewriter *r)
{
    const token_list *list = r->list;
    for (uint32_t i = 0; i < list->count; i++) {
        if (front_is_attribute(list, i)) {
            i = list->tokens[i].match;
        } else if (front_is_free(r, i)) {
            if (list->tokens[i].kind == TOKEN_NUMBER)
                rewrite_number(r, i);
            else if (r->asked[i] && front_is_string(r, i))
                front_edit_before(&r->edits, i, "(" FRONT_CONSTANT_TEXT " char *)");
            else if (list->tokens[i].kind == TOKEN_IDENTIFIER)
                rewrite_word(r, i);
        }
    }
}

static tombac_status run_rules(rewriter *r)
{
    if (!front_edit_start(&r->edits, r->list)) return tb_fail_memory(r->error);
    front_select(r);
    tombac_status status = front_prune(r);
    if (status != TOMBAC_OK) return status;
    front_find_swizzle_fields(r);
    front_rewrite_attributes(r);
    status = front_rewrite_kernels(r);
    if (status == TOMBAC_OK) status = front_rewrite_methods(r);
    if (status == TOMBAC_OK) status = front_rewrite_variables(r);
    if (status != TOMBAC_OK) return status;
    rewrite_words(r);
    front_rewrite_subscripts(r);
    front_rewrite_aliases(r);
    status = front_rewrite_pragmas(r);
    if (status != TOMBAC_OK) return status;
    front_rewrite_ternaries(r);
    if (r->edits.too_large)
        return tb_fail(r->error, TOMBAC_ERROR_SOURCE, "the source is too deeply nested");
    return r->edits.pool.bad ? tb_fail_memory(r->error) : TOMBAC_OK;
}

tombac_status front_rewrite_start(
    rewriter *r, front_unit *unit, const front_kernel *selected, tombac_error **error)
{
    *r = (rewriter){.unit = unit, .list = &unit->list, .selected = selected, .error = error};
    r->swizzle_fields = calloc(SWIZZLE_NAMES, sizeof *r->swizzle_fields);
    r->wrapped = calloc((size_t)unit->list.count + 1, sizeof *r->wrapped);
    r->asked = calloc((size_t)unit->list.count + 1, sizeof *r->asked);
    if (!r->swizzle_fields || !r->wrapped || !r->asked) return tb_fail_memory(error);
    return run_rules(r);
}

tombac_status front_rewrite_again(rewriter *r)
{
    front_edit_free(&r->edits);
    memset(r->wrapped, 0, ((size_t)r->list->count + 1) * sizeof *r->wrapped);
    r->safe_base = false;
    r->safe_regions = 0;
    return run_rules(r);
}

void front_rewrite_free(rewriter *r)
{
    front_edit_free(&r->edits);
    free(r->swizzle_fields);
    free(r->wrapped);
    free(r->asked);
    free(r->unannotated);
    *r = (rewriter){0};
}

tombac_status front_rewrite(front_unit *unit, const front_kernel *kernel, tb_text *out, tombac_error **error)
{
    rewriter r;
    tombac_status status = unit->options.language == FRONT_C ? front_c_rewrite(&r, unit, kernel, error)
                                                             : front_rewrite_start(&r, unit, kernel, error);
    if (status == TOMBAC_OK) {
        front_edit_emit(&r.edits, NULL, out);
        if (out->bad) status = tb_fail_memory(error);
    }
    front_rewrite_free(&r);
    return status;
}
