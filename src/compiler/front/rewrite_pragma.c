/* R11: pragmas. Clang knows #pragma unroll and #pragma clang ...; Metal's own become clang's:
 *
 *   METAL fp math_mode(safe | relaxed | fast)   clang fp reassociate(...) reciprocal(...) contract(...)
 *   METAL fp contract(off | on | fast)          clang fp contract(...)
 *   METAL internals ...                         nothing
 *   unroll(expression with names)               unroll: macros in it are not expanded any more
 *
 * A pragma can take back reassociation, reciprocals and contraction, but not the freedom to ignore signed
 * zeros or to approximate functions (float_control would, and is not there on this target). So if the kernel
 * can reach a safe region, all is compiled with safe options, and the mode of the compilation is given back
 * by a pragma at its beginning, as far as pragmas can. */
#include "compiler/front/rewrite.h"

#include <ctype.h>

enum { MAX_SAFE_REGIONS = 64, MAX_PUSHED = 64 };

static bool next_word(const char **p, const char *end, char *word, size_t size)
{
    while (*p < end && isspace((unsigned char)**p)) ++*p;
    size_t n = 0;
    while (*p < end && (isalnum((unsigned char)**p) || **p == '_') && n + 1 < size) word[n++] = *(*p)++;
    word[n] = 0;
    return n > 0;
}

static const char *mode_pragma(const char *mode)
{
    if (!strcmp(mode, "safe")) return "#pragma clang fp reassociate(off) reciprocal(off) contract(on)";
    if (!strcmp(mode, "relaxed")) return "#pragma clang fp reassociate(off) reciprocal(on) contract(fast)";
    if (!strcmp(mode, "fast")) return "#pragma clang fp reassociate(on) reciprocal(on) contract(fast)";
    return NULL;
}

/* name(argument) after "METAL fp". */
static void metal_fp(rewriter *r, uint32_t i, const char *p, const char *end)
{
    char name[32], argument[32] = "", text[128] = "";
    while (next_word(&p, end, name, sizeof name)) {
        while (p < end && (*p == '(' || isspace((unsigned char)*p))) p++;
        next_word(&p, end, argument, sizeof argument);
        while (p < end && (*p == ')' || isspace((unsigned char)*p))) p++;
        const char *mode = mode_pragma(argument);
        bool contract = !strcmp(argument, "fast") || !strcmp(argument, "on") || !strcmp(argument, "off");
        if (!strcmp(name, "math_mode") && mode) {
            strcpy(text, mode);
            if (!strcmp(argument, "safe") &&
                !r->safe_base) /* each look costs a walk: a source with many is safe anyway */
                r->safe_base = ++r->safe_regions > MAX_SAFE_REGIONS || front_reaches_directive(r, i);
        } else if (!strcmp(name, "contract") && contract) {
            strcat(strcat(strcpy(text, "#pragma clang fp contract("), argument), ")");
        }
    }
    front_edit_directive(&r->edits, i, text[0] ? text : " ");
}

/* The modes that float_control has pushed; NULL is the compilation's own. */
typedef struct mode_stack {
    const char *saved[MAX_PUSHED];
    size_t depth;
    const char *mode;
} mode_stack;

static const char *own_mode(const rewriter *r)
{
    tombac_math math = r->unit->options.math;
    return math == TOMBAC_MATH_SAFE ? "safe" : math == TOMBAC_MATH_RELAXED ? "relaxed" : "fast";
}

static tombac_status fail_pragma(rewriter *r, uint32_t i, const char *message)
{
    const directive *d = &r->list->directives[i];
    front_position at = front_locate(r->unit, d->offset, d->line);
    tb_text report = {0};
    front_report(r->unit, at, "error", message, &report);
    tombac_status status = report.bad ? tb_fail_memory(r->error)
                                      : tb_fail(r->error, TOMBAC_ERROR_SOURCE, "%s", tb_text_string(&report));
    tb_error_set_location(r->error, at.file, at.line, at.column);
    tb_text_free(&report);
    return status;
}

/* #pragma float_control(precise, on | off [, push]), (push), (pop): math_mode(safe | fast), and a stack of modes. To
 * leave a region fast that asks for precision would be wrong: whatever asks makes the whole source safe, with
 * the mode of the compilation given back by pragmas. */
static tombac_status float_control(rewriter *r, uint32_t i, const char *p, const char *end, mode_stack *stack)
{
    char word[32];
    bool precise = false, on = false, push = false, pop = false;
    while (p < end) {
        if (!next_word(&p, end, word, sizeof word)) {
            p++;
            continue;
        }
        precise |= !strcmp(word, "precise") || !strcmp(word, "except");
        on |= !strcmp(word, "on");
        push |= !strcmp(word, "push");
        pop |= !strcmp(word, "pop");
    }
    if (push) {
        if (stack->depth == MAX_PUSHED) return fail_pragma(r, i, "float_control is pushed more than 64 times");
        stack->saved[stack->depth++] = stack->mode;
    }
    if (pop) {
        if (stack->depth == 0) return fail_pragma(r, i, "float_control(pop) without a push before it");
        stack->mode = stack->saved[--stack->depth];
    } else if (precise) {
        stack->mode = on ? "safe" : "fast";
        if (on) r->safe_base = true;
    }
    const char *text = pop || precise ? mode_pragma(stack->mode ? stack->mode : own_mode(r)) : " ";
    front_edit_directive(&r->edits, i, text);
    return TOMBAC_OK;
}

tombac_status front_rewrite_pragmas(rewriter *r)
{
    mode_stack stack = {.depth = 0};
    tombac_status status = TOMBAC_OK;
    for (uint32_t i = 0; i < r->list->directive_count && status == TOMBAC_OK; i++) {
        const directive *d = &r->list->directives[i];
        const char *p = r->list->text + d->offset + 1, *end = p + d->length - 1;
        char word[32];
        if (!next_word(&p, end, word, sizeof word) || strcmp(word, "pragma") != 0) continue;
        if (!next_word(&p, end, word, sizeof word)) continue;
        if (!strcmp(word, "unroll")) {
            bool names = false;
            for (; p < end; p++) names |= isalpha((unsigned char)*p) || *p == '_';
            if (names) front_edit_directive(&r->edits, i, "#pragma unroll");
        } else if (!strcmp(word, "float_control")) {
            status = float_control(r, i, p, end, &stack);
        } else if (!strcmp(word, "METAL")) {
            if (next_word(&p, end, word, sizeof word) && !strcmp(word, "fp"))
                metal_fp(r, i, p, end);
            else
                front_edit_directive(&r->edits, i, " ");
        }
    }
    /* The first line is the marker of the source's first line, which later markers repeat. */
    if (r->safe_base && r->unit->options.math != TOMBAC_MATH_SAFE && r->list->directive_count &&
        r->list->directives[0].line == 1)
        front_edit_directive(&r->edits, 0, mode_pragma(own_mode(r)));
    return status;
}
