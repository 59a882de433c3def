/* From the tokens of a C kernel file to the C that clang gets for the device.
 *
 *   kernel ATTRIBUTES void f(...) {...}   the same function, and behind it an entry that takes each argument
 * by a pointer into its memory and calls it; a kernel that is neither selected nor named anywhere is left out
 *   threadgroup T x[n];                   a static variable that ir_prepare moves to threadgroup memory
 *   threadgroup T *p                      T *p: pointers are generic
 *   printf("...", a, b)                   calls that open a message, add an argument each, close it
 *   assert(c)                             a test and a call that names the condition and its place
 *
 * Function constants are c_constant.c. Every token keeps its line. */
#include "compiler/front/c.h"

#include <stdlib.h>

#define SPACE(N) "__attribute__((address_space(" #N ")))"
#define THREADGROUP_VARIABLE "__attribute__((annotate(\"tombac.threadgroup\")))"

/* ---- Entries ---- */

/* `restrict` behind the '*': no other argument overlaps it, so that its loads can be moved where it is not written. */
static bool is_restrict(const token_list *list, const c_parameter *p)
{
    const token *t = list->tokens;
    for (uint32_t i = p->star; p->kind == C_POINTER && p->star != NO_TOKEN && i < p->end; i++)
        if (t[i].code == KW_RESTRICT || t[i].code == KW_RESTRICT2 || t[i].code == KW_RESTRICT3) return true;
    return false;
}

static void append_entry_parameter(const token_list *list, const c_parameter *p, tb_text *out)
{
    const token *name = &list->tokens[p->name];
    tb_text type = {0};
    front_c_element_type(list, p, &type);
    tb_text_printf(out,
        "%s"
        "__attribute__((address_space(%s))) __typeof__(%s) *%s%.*s",
        p->kind == C_VALUE ? "const " : "", p->kind == C_THREADGROUP ? "3" : "1", tb_text_string(&type),
        is_restrict(list, p) ? "__restrict " : "",
        (int)name->length, token_text(list, p->name));
    if (p->kind == C_SLICE)
        tb_text_printf(out, ", const " SPACE(1) " unsigned long *%.*s" FRONT_C_COUNT_SUFFIX,
            (int)name->length, token_text(list, p->name));
    out->bad |= type.bad;
    tb_text_free(&type);
}

static void append_entry_argument(const token_list *list, const c_parameter *p, tb_text *out)
{
    const token *t = list->tokens;
    int length = (int)t[p->name].length;
    const char *name = token_text(list, p->name);
    if (p->kind == C_VALUE)
        tb_text_printf(out, "*%.*s", length, name);
    else if (p->kind == C_SLICE)
        tb_text_printf(out, "(struct tombac_slice_%s%.*s){(void *)%.*s, *%.*s" FRONT_C_COUNT_SUFFIX "}",
            p->is_const ? "const_" : "", (int)t[p->first + 2].length, token_text(list, p->first + 2), length,
            name, length, name);
    else
        tb_text_printf(out, "(void *)%.*s", length, name);
}

/* A by-value parameter whose type turns out to be a pointer would be bound to the wrong memory. */
static void append_value_check(const token_list *list, const c_parameter *p, tb_text *out)
{
    if (p->kind != C_VALUE) return;
    tb_text_printf(out,
        " _Static_assert(__builtin_classify_type(*%.*s) != 5, \"parameter '%.*s' is a pointer by its "
        "typedef, which is "
        "not supported: write its '*'\");",
        (int)list->tokens[p->name].length, token_text(list, p->name), (int)list->tokens[p->name].length,
        token_text(list, p->name));
}

static void add_entry(rewriter *r, const kernel_site *site)
{
    const token_list *list = r->list;
    const front_kernel *kernel = &r->unit->kernels[site->kernel];
    uint32_t close = list->tokens[site->open].match, bad;
    const char *problem;
    tb_text text = {0}, arguments = {0}, checks = {0};
    tb_text_printf(&text, " __attribute__((annotate(\"tombac.kernel:%s\"))) void " FRONT_C_ENTRY_PREFIX "%s(",
        kernel->name, kernel->name);
    uint32_t at = site->open + 1;
    bool first = true;
    for (c_parameter p; front_c_next_parameter(list, close, &at, &p, &bad, &problem); first = false) {
        tb_text_puts(&text, first ? "" : ", ");
        tb_text_puts(&arguments, first ? "" : ", ");
        append_entry_parameter(list, &p, &text);
        append_entry_argument(list, &p, &arguments);
        append_value_check(list, &p, &checks);
    }
    tb_text_printf(&text, "%s) {%s %s(%s); }", first ? "void" : "", tb_text_string(&checks), kernel->name,
        tb_text_string(&arguments));
    front_edit_after(&r->edits, site->last, tb_text_string(&text));
    r->edits.pool.bad |= text.bad | arguments.bad | checks.bad;
    tb_text_free(&text);
    tb_text_free(&arguments);
    tb_text_free(&checks);
}

/* Is the kernel's name used outside its own declarations? */
static bool is_named(const rewriter *r, const kernel_site *site)
{
    for (uint32_t i = 0; i < r->list->count; i++) {
        if (i == site->head)
            i = site->last;
        else if (tokens_equal(r->list, i, site->name) && front_c_is_use(r->list, i))
            return true;
    }
    return false;
}

static void rewrite_kernel(rewriter *r, const kernel_site *site)
{
    bool wanted =
        !r->selected || (site->kernel != NO_TOKEN && &r->unit->kernels[site->kernel] == r->selected);
    if (!wanted && site->kernel != NO_TOKEN && !is_named(r, site)) {
        front_edit_blank(&r->edits, site->head, site->last);
        return;
    }
    uint32_t end = front_c_attributes_end(r->list, site->head);
    for (uint32_t i = site->head; i <= end; i++) front_edit_delete(&r->edits, i);
    if (wanted && site->kernel != NO_TOKEN) add_entry(r, site);
}

/* ---- Words ---- */

bool front_c_declares_threadgroup(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    if (t[i].bracket == '(' || t[i].scope == SCOPE_CLASS) return false;
    for (uint32_t k = i + 1; k < list->count; k++) {
        if (t[k].code == '*' || t[k].code == ')') return false;
        if (t[k].code == ';' || t[k].code == '=' || t[k].code == ',' || t[k].code == '[') return true;
        if (t[k].code == '(') k = t[k].match; /* an attribute, typeof */
    }
    return false;
}

static tombac_status rewrite_threadgroup(rewriter *r, uint32_t i)
{
    const token *t = r->list->tokens;
    if (!front_c_declares_threadgroup(r->list, i)) {
        front_edit_delete(&r->edits, i);
        return TOMBAC_OK;
    }
    uint32_t k = i + 1;
    while (t[k].code != ';' && t[k].code != '=' && k < r->list->count)
        k = t[k].match != NO_TOKEN && t[k].match > k ? t[k].match + 1 : k + 1;
    if (t[k].code == '=')
        return front_fail_at(r->unit, k, TOMBAC_ERROR_UNSUPPORTED, r->error,
            "a threadgroup variable cannot be initialised: its threads share it");
    bool is_static = i > 0 && t[i - 1].code == KW_STATIC;
    front_edit_replace(&r->edits, i, is_static ? THREADGROUP_VARIABLE : "static " THREADGROUP_VARIABLE);
    return TOMBAC_OK;
}

/* printf(format, a, b) -> (__tombac_log_begin(0u, format), printf_argument(a), printf_argument(b),
 * __tombac_log_end()) */
static void rewrite_printf(rewriter *r, uint32_t i)
{
    const token *t = r->list->tokens;
    uint32_t open = i + 1, close = t[open].match;
    front_edit_replace(&r->edits, i, "(__tombac_log_begin");
    front_edit_after(&r->edits, open, "0u, ");
    for (uint32_t k = open + 1; k < close; k++) {
        if (t[k].code == ',') front_edit_replace(&r->edits, k, "), printf_argument(");
        if (t[k].code == '(' || t[k].code == '[' || t[k].code == '{') k = t[k].match;
    }
    front_edit_after(&r->edits, close, ", __tombac_log_end())");
}

static void append_quoted(const char *p, size_t length, tb_text *out)
{
    for (size_t i = 0; i < length; i++) {
        if (p[i] == '"' || p[i] == '\\') tb_text_putc(out, '\\');
        tb_text_putc(out, p[i] == '\n' ? ' ' : p[i]);
    }
}

/* assert(c) -> ((c) ? (void)0 : __tombac_assert_fail("c", "file", line)) */
static void rewrite_assert(rewriter *r, uint32_t i)
{
    const token *t = r->list->tokens;
    uint32_t open = i + 1, close = t[open].match;
    unsigned line;
    const char *file = front_line_of(r->unit, t[i].line, &line);
    tb_text text = {0};
    tb_text_puts(&text, " ? (void)0 : __tombac_assert_fail(\"");
    if (close > open + 1) {
        const token *last = &t[close - 1];
        append_quoted(token_text(r->list, open + 1), last->offset + last->length - t[open + 1].offset, &text);
    }
    tb_text_puts(&text, "\", \"");
    append_quoted(file, strlen(file), &text);
    tb_text_printf(&text, "\", %uu))", line);
    front_edit_replace(&r->edits, i, "(");
    front_edit_after(&r->edits, close, tb_text_string(&text));
    r->edits.pool.bad |= text.bad;
    tb_text_free(&text);
}

static tombac_status rewrite_words(rewriter *r)
{
    const token *t = r->list->tokens;
    tombac_status status = TOMBAC_OK;
    for (uint32_t i = 0; i < r->list->count && status == TOMBAC_OK; i++) {
        if (t[i].kind != TOKEN_IDENTIFIER || !front_is_free(r, i)) continue;
        if (t[i].code == KW_THREADGROUP)
            status = rewrite_threadgroup(r, i);
        else if (t[i + 1].code == '(' && front_c_is_use(r->list, i) && token_is(r->list, i, "printf"))
            rewrite_printf(r, i);
        else if (t[i + 1].code == '(' && front_c_is_use(r->list, i) && token_is(r->list, i, "assert"))
            rewrite_assert(r, i);
    }
    return status;
}

tombac_status front_c_rewrite(
    rewriter *r, front_unit *unit, const front_kernel *selected, tombac_error **error)
{
    *r = (rewriter){.unit = unit, .list = &unit->list, .selected = selected, .error = error};
    tombac_status status = front_c_check(unit, error);
    if (!front_edit_start(&r->edits, r->list)) return status == TOMBAC_OK ? tb_fail_memory(error) : status;
    if (status != TOMBAC_OK) return status;
    for (size_t i = 0; i < unit->site_count; i++) rewrite_kernel(r, &unit->sites[i]);
    status = rewrite_words(r);
    if (status == TOMBAC_OK) status = front_c_rewrite_constants(r);
    return status == TOMBAC_OK && r->edits.pool.bad ? tb_fail_memory(error) : status;
}
