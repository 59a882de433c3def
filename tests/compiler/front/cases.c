/* Runs one case file: Metal source whose leading comments say what to do with it and what must come out.
 *
 *     //@ rewrite [KERNEL]   the rewritten text       //@ list    one line per kernel, parameter, constant
 *     //@ check [KERNEL]     clang's verdict          //@ std NAME, //@ math NAME, //@ define NAME, //@ warnings
 *     //= LINE               a line of the outcome, white space squeezed; for a `list`: the next line, all of
 * them in order
 *     //! TEXT               text that must not be in the outcome
 *     //: LINE:COLUMN: KIND: MESSAGE   a diagnostic; all errors must be listed, other diagnostics may be
 *     //? STATUS             the status' name; "ok" if not given */
#include "compiler/front/front.h"

#include "base/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_case {
    char action[16], kernel[128];
    char status[32];
    tb_text source, outcome, squeezed;
    front_options options;
    char standard[32], define[64];
    const char *defines[1];
    int failures;
} test_case;

static void complain(test_case *c, const char *what, const char *text)
{
    printf("%s: %s\n", what, text);
    c->failures++;
}

/* Runs of white space become one space; leading and trailing space of lines goes. */
static void squeeze(const char *text, size_t size, tb_text *out)
{
    bool space = false, start = true;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n') {
            tb_text_putc(out, '\n');
            start = true;
            space = false;
        } else if (isspace((unsigned char)text[i])) {
            space = true;
        } else {
            if (space && !start) tb_text_putc(out, ' ');
            tb_text_putc(out, text[i]);
            start = space = false;
        }
    }
}

static bool next_line(const char **p, char *line, size_t size)
{
    if (!**p) return false;
    size_t n = 0;
    for (; **p && **p != '\n'; ++*p)
        if (n + 1 < size) line[n++] = **p;
    line[n] = 0;
    if (**p) ++*p;
    return true;
}

static bool has_line(const char *text, const char *line)
{
    size_t length = strlen(line);
    for (const char *at = text; (at = strstr(at, line)); at++)
        if ((at == text || at[-1] == '\n') && (at[length] == '\n' || at[length] == 0)) return true;
    return false;
}

static void read_options(test_case *c)
{
    const char *p = tb_text_string(&c->source);
    char line[512], value[128] = "";
    strcpy(c->status, "ok");
    while (next_line(&p, line, sizeof line)) {
        if (sscanf(line, "//@ std %31s", c->standard) == 1)
            c->options.standard = c->standard;
        else if (!strcmp(line, "//@ warnings"))
            c->options.warnings = true;
        else if (sscanf(line, "//@ define %63s", c->define) == 1) {
            c->defines[0] = c->define;
            c->options.defines = c->defines;
            c->options.define_count = 1;
        } else if (sscanf(line, "//@ math %127s", value) == 1) {
            c->options.math = !strcmp(value, "safe") ? TOMBAC_MATH_SAFE : TOMBAC_MATH_RELAXED;
        } else if (sscanf(line, "//@ %15s %127s", c->action, c->kernel) >= 1) {
            continue;
        } else if (strncmp(line, "//? ", 4) == 0) {
            snprintf(c->status, sizeof c->status, "%.31s", line + 4);
        }
    }
}

static void describe(const front_unit *unit, tb_text *out)
{
    static const char *const bindings[] = {"buffer", "threadgroup", "position"};
    static const char *const spaces[] = {"thread", "device", "constant", "threadgroup"};
    for (size_t i = 0; i < front_constant_count(unit); i++) {
        const front_constant *c = front_constant_at(unit, i);
        tb_text_printf(
            out, "constant %s %u %s %d x %u\n", c->name, c->index, c->type_text, c->type, c->vector_length);
    }
    for (size_t i = 0; i < front_kernel_count(unit); i++) {
        const front_kernel *k = front_kernel_find(unit, front_kernel_at(unit, i)->name);
        tb_text_printf(out, "kernel %s %s line %u column %u\n", k->name, k->function, k->line, k->column);
        if (k->max_total_threads) tb_text_printf(out, "max %u\n", k->max_total_threads);
        if (k->required_threads[0])
            tb_text_printf(out, "required %u %u %u\n", k->required_threads[0], k->required_threads[1],
                k->required_threads[2]);
        for (size_t n = 0; n < k->parameter_count; n++) {
            const front_parameter *p = &k->parameters[n];
            tb_text_printf(out, "%s %s", bindings[p->binding], p->name);
            if (p->binding == FRONT_POSITION)
                tb_text_printf(out, " %s", p->position);
            else
                tb_text_printf(out, " %u %s%s%s", p->index, spaces[p->space], p->is_const ? " const" : "",
                    p->is_reference ? " &" : " *");
            tb_text_printf(out, " %s", p->type_text);
            if (p->condition) tb_text_printf(out, " if %s", p->condition);
            tb_text_printf(out, " at %u:%u\n", p->line, p->column);
        }
    }
}

static void run(test_case *c, const char *path)
{
    front_unit *unit = NULL;
    tombac_error *error = NULL;
    front_result result = {0};
    const front_kernel *kernel = NULL;
    tombac_status status = front_open(path, NULL, 0, &c->options, &unit, &error);
    if (status == TOMBAC_OK && c->kernel[0]) {
        kernel = front_kernel_find(unit, c->kernel);
        if (!kernel) complain(c, "no kernel", c->kernel);
    }
    if (status == TOMBAC_OK && !strcmp(c->action, "rewrite"))
        status = front_rewrite(unit, kernel, &c->outcome, &error);
    else if (status == TOMBAC_OK && !strcmp(c->action, "list"))
        describe(unit, &c->outcome);
    else if (status == TOMBAC_OK && !strcmp(c->action, "check")) {
        status = front_compile(unit, kernel, false, &result, &error);
        tb_text_puts(&c->outcome, tb_text_string(&result.diagnostics));
        if (status == TOMBAC_OK &&
            (result.bitcode.size < 4 || memcmp(result.bitcode.data, "BC\xc0\xde", 4) != 0))
            complain(c, "no bitcode", c->action);
    } else if (status == TOMBAC_OK)
        complain(c, "unknown action", c->action);
    if (status != TOMBAC_OK) tb_text_puts(&c->outcome, tombac_error_message(error));
    if (strcmp(tombac_status_name(status), c->status) != 0)
        complain(c, "status is", tombac_status_name(status));
    tombac_error_release(error);
    front_result_free(&result);
    front_close(unit);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++) n++;
    return n;
}

static void verify(test_case *c, const char *path)
{
    const char *p = tb_text_string(&c->source), *outcome = tb_text_string(&c->squeezed);
    const char *ordered = outcome;
    bool list = !strcmp(c->action, "list");
    char line[512], found[512];
    size_t errors = 0, expectations = 0;
    while (next_line(&p, line, sizeof line)) {
        tb_text wanted = {0};
        bool equal = !strncmp(line, "//= ", 4), message = !strncmp(line, "//: ", 4),
             without = !strncmp(line, "//! ", 4);
        if (strlen(line) > 4) squeeze(line + 4, strlen(line) - 4, &wanted);
        const char *text = tb_text_string(&wanted);
        if (equal) errors += strstr(text, ": error: ") != NULL;
        if (equal && list && !strcmp(c->status, "ok")) {
            if (!next_line(&ordered, found, sizeof found))
                complain(c, "missing at the end", text);
            else if (strcmp(found, text) != 0) {
                complain(c, "expected", text);
                complain(c, "   found", found);
            }
        } else if (equal && !has_line(outcome, text)) {
            complain(c, "missing line", text);
        } else if (message) {
            tb_text whole = {0};
            tb_text_printf(&whole, "%s:%s", path, text);
            if (!has_line(outcome, tb_text_string(&whole))) complain(c, "missing diagnostic", text);
            errors += strstr(text, ": error: ") != NULL;
            tb_text_free(&whole);
        } else if (without && strstr(outcome, text)) {
            complain(c, "must not be there", text);
        }
        expectations += equal || message || without;
        tb_text_free(&wanted);
    }
    if (list && *ordered && !strcmp(c->status, "ok")) complain(c, "more than expected", ordered);
    if (!strcmp(c->action, "check") && count(outcome, ": error: ") != errors)
        complain(c, "other errors", outcome);
    if (expectations == 0) complain(c, "no expectation in", path);
    if (c->failures && !list) printf("---- outcome ----\n%s\n", outcome);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    test_case c = {0};
    if (tb_file_read(argv[1], 0, &c.source, NULL) != TOMBAC_OK) return 2;
    read_options(&c);
    run(&c, argv[1]);
    squeeze(tb_text_string(&c.outcome), c.outcome.size, &c.squeezed);
    verify(&c, argv[1]);
    tb_text_free(&c.source);
    tb_text_free(&c.outcome);
    tb_text_free(&c.squeezed);
    return c.failures ? 1 : 0;
}
