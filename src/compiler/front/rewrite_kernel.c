/* Kernels, attributes and function constants.
 *
 * R2   kernel, [[kernel]]      -> [[clang::sycl_external, clang::annotate("tombac.kernel:NAME")]] first in
 * the declaration; `static` and `inline` go, anonymous namespaces become inline ones: kernels are external R3
 * Metal's attributes      -> nothing; what they say is in front_kernel R3b  host_name               ->
 * __attribute__((annotate("tombac.host_name:NAME"))) on the explicit instantiation R4   function constants ->
 * external variables that clang cannot fold, and one bool each that says "is defined" */
#include "artifact/abi.h"
#include "compiler/front/rewrite.h"

static bool keep(const rewriter *r, const kernel_site *site)
{
    if (site->kind == SITE_STAGE) return false;
    if (!r->selected || (site->kind == SITE_KERNEL && site->is_template)) return true;
    if (site->kind == SITE_KERNEL && site->body == NO_TOKEN) return true;
    return site->kernel != NO_TOKEN && &r->unit->kernels[site->kernel] == r->selected;
}

void front_select(rewriter *r)
{
    for (size_t i = 0; i < r->unit->site_count; i++) {
        const kernel_site *site = &r->unit->sites[i];
        if (!keep(r, site)) front_edit_blank(&r->edits, site->head, site->last);
    }
}

/* max_total_threads_per_threadgroup(N * 32): clang evaluates it in every instantiation, for ir/ to read. */
static void note_limit(rewriter *r, const kernel_site *site)
{
    tb_text text = {0};
    tb_text_puts(&text, " __tombac::limit(unsigned(");
    front_append_tokens(r->list, site->limit, site->limit_end, &text);
    tb_text_puts(&text, "));");
    front_edit_after(&r->edits, site->body, tb_text_string(&text));
    r->edits.pool.bad |= text.bad;
    tb_text_free(&text);
}

static void rewrite_definition(rewriter *r, const kernel_site *site)
{
    const token *t = r->list->tokens;
    tb_text text = {0};
    const char *name = site->kernel != NO_TOKEN ? r->unit->kernels[site->kernel].name : NULL;
    tb_text_puts(&text, "[[clang::sycl_external, clang::annotate(\"tombac.kernel:");
    if (name)
        tb_text_puts(&text, name);
    else
        tb_text_append(&text, token_text(r->list, site->name), t[site->name].length);
    tb_text_puts(&text, "\")");
    tb_text_puts(&text, "]] ");
    uint32_t start = site->start;
    if (t[start].code == KW_EXTERN && t[start + 1].kind == TOKEN_STRING) start += 2;
    for (uint32_t i = start; i < site->name; i++) {
        if (front_is_attribute(r->list, i) || t[i].code == '(')
            i = t[i].match;
        else if (t[i].code == KW_KERNEL || t[i].code == KW_STATIC || t[i].code == KW_INLINE)
            front_edit_delete(&r->edits, i);
    }
    front_edit_before(&r->edits, start, tb_text_string(&text));
    r->edits.pool.bad |= text.bad;
    tb_text_free(&text);
    if (site->limit_end > site->limit && site->body != NO_TOKEN) note_limit(r, site);
}

static void rewrite_instantiation(rewriter *r, const kernel_site *site)
{
    const token *t = r->list->tokens;
    for (uint32_t i = site->start; i < site->name; i++)
        if (t[i].code == KW_KERNEL) front_edit_delete(&r->edits, i);
    if (site->kernel == NO_TOKEN) return;
    tb_text text = {0};
    tb_text_printf(
        &text, " __attribute__((annotate(\"tombac.host_name:%s\")))", r->unit->kernels[site->kernel].name);
    front_edit_after(&r->edits, site->start - 1, tb_text_string(&text));
    r->edits.pool.bad |= text.bad;
    tb_text_free(&text);
}

/* `constant T name [[function_constant(n)]];` open is the attribute. */
static tombac_status rewrite_constant(rewriter *r, uint32_t open, const attribute *a)
{
    const token *t = r->list->tokens;
    int64_t index;
    if (open == 0 || t[open - 1].kind != TOKEN_IDENTIFIER || open - t[open].head > 64) return TOMBAC_OK;
    if (!front_evaluate(r->unit, a->argument, a->argument_end, &index) || index < 0 ||
        index >= TB_MAX_FUNCTION_CONSTANTS)
        return front_fail_at(r->unit, a->first, TOMBAC_ERROR_SOURCE, r->error,
            "the index of a function constant must be an integer constant between 0 and 65535");
    uint32_t end = t[open].match + 1;
    if (t[end].code == '=' || t[end].code == '{')
        return front_fail_at(r->unit, end, TOMBAC_ERROR_SOURCE, r->error,
            "function constant '%.*s' cannot have an initialiser: its value comes from the host",
            (int)t[open - 1].length, token_text(r->list, open - 1));
    for (uint32_t i = t[open].head; i < open - 1; i++) {
        uint32_t code = t[i].code;
        if (front_is_attribute(r->list, i))
            i = t[i].match;
        else if (code == KW_CONSTANT)
            front_edit_replace(&r->edits, i, "__attribute__((opencl_global_host))");
        else if (code == KW_CONST || code == KW_CONSTEXPR || code == KW_STATIC)
            front_edit_delete(&r->edits, i);
    }
    uint32_t length = t[open - 1].length;
    const char *name = token_text(r->list, open - 1);
    tb_text text = {0};
    tb_text_printf(&text, " __attribute__((annotate(\"tombac.function_constant:%.*s\")))", (int)length, name);
    front_edit_after(&r->edits, open - 1, tb_text_string(&text));
    tb_text_free(&text);
    tb_text_printf(&text,
        " __attribute__((opencl_global_host)) bool " FRONT_DEFINED_PREFIX
        "%.*s __attribute__((annotate(\"tombac.function_constant_defined:%.*s\")));",
        (int)length, name, (int)length, name);
    if (t[end].code == ';') front_edit_after(&r->edits, end, tb_text_string(&text));
    tb_text_free(&text);
    return TOMBAC_OK;
}

static tombac_status rewrite_constants(rewriter *r)
{
    const token_list *list = r->list;
    tombac_status status = TOMBAC_OK;
    for (uint32_t i = 0; status == TOMBAC_OK && i < list->count; i++) {
        if (!front_is_attribute(list, i) || list->tokens[i].bracket == '(' || r->edits.edits[i].blank)
            continue;
        attribute_cursor cursor = front_attributes(list, i);
        for (attribute a; status == TOMBAC_OK && front_next_attribute(&cursor, &a);)
            if (a.known && !strcmp(a.known, "function_constant")) status = rewrite_constant(r, i, &a);
    }
    return status;
}

/* A constant that only decides about parameters (`constant bool no_mask = !has_mask;`) would not be emitted:
 * nothing in the code refers to it once the parameters have lost their attributes. A function behind it does.
 */
static void keep_condition(rewriter *r, const char *name)
{
    const token_list *list = r->list;
    const token *t = list->tokens;
    size_t length = strlen(name);
    for (uint32_t i = 0; i + 1 < list->count; i++) {
        if (t[i].kind != TOKEN_IDENTIFIER || t[i].length != length || t[i + 1].code != '=') continue;
        if (memcmp(token_text(list, i), name, length) || r->edits.edits[i].blank) continue;
        uint32_t end = i + 1;
        while (end < list->count && t[end].code != ';') end = t[end].match > end ? t[end].match + 1 : end + 1;
        if (end >= list->count) return;
        tb_text text = {0};
        tb_text_printf(&text,
            " extern \"C\" { [[clang::sycl_external]] bool __tombac_condition_%s() { return %s; } }", name,
            name);
        front_edit_after(&r->edits, end, tb_text_string(&text));
        r->edits.pool.bad |= text.bad;
        tb_text_free(&text);
        return;
    }
}

static void keep_conditions(rewriter *r)
{
    const front_kernel *kernel = r->selected;
    for (size_t i = 0; kernel && i < kernel->parameter_count; i++) {
        const char *name = kernel->parameters[i].condition;
        bool repeated = false;
        for (size_t k = 0; name && k < i; k++) {
            const char *other = kernel->parameters[k].condition;
            repeated |= other && !strcmp(other, name);
        }
        if (name && !repeated) keep_condition(r, name);
    }
}

/* namespace { ... } hides kernels and what they are instantiated with from the linker; an inline namespace
 * does not. */
static void rewrite_namespaces(rewriter *r)
{
    const token *t = r->list->tokens;
    for (uint32_t i = 0; i < r->list->count; i++)
        if (t[i].code == KW_NAMESPACE && t[i + 1].code == '{') {
            front_edit_before(&r->edits, i, "inline ");
            front_edit_after(&r->edits, i, " __tombac_anonymous");
        }
}

tombac_status front_rewrite_kernels(rewriter *r)
{
    for (size_t i = 0; i < r->unit->site_count; i++) {
        const kernel_site *site = &r->unit->sites[i];
        if (r->edits.edits[site->head].blank) continue;
        if (site->kind == SITE_INSTANTIATION)
            rewrite_instantiation(r, site);
        else
            rewrite_definition(r, site);
    }
    rewrite_namespaces(r);
    keep_conditions(r);
    return rewrite_constants(r);
}

void front_rewrite_attributes(rewriter *r)
{
    const token_list *list = r->list;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->tokens[i].code != '[' || !front_is_attribute(list, i)) continue;
        uint32_t close = list->tokens[i].match;
        bool foreign = false;
        attribute_cursor cursor = front_attributes(list, i);
        for (attribute a; front_next_attribute(&cursor, &a);) foreign |= a.kind == ATTRIBUTE_OTHER;
        cursor = front_attributes(list, i);
        if (!foreign) {
            for (uint32_t k = i; k <= close; k++) front_edit_delete(&r->edits, k);
        } else { /* an empty place in the list is allowed */
            for (attribute a; front_next_attribute(&cursor, &a);)
                for (uint32_t k = a.first; a.kind != ATTRIBUTE_OTHER && k < a.last; k++)
                    front_edit_delete(&r->edits, k);
        }
        i = close;
    }
}
