/* The rewritten C through clang -cc1 to bitcode, by pipes. Diagnostics come back to the user's places; the
 * words are clang's own, which are C's. */
#include "compiler/front/c.h"

#include "base/process.h"
#include "compiler/front/diagnose.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_ARGUMENTS = 80, TIME_LIMIT = 300 };
static const size_t memory_limit = (size_t)16 << 30;

typedef struct arguments {
    const char *list[MAX_ARGUMENTS];
    size_t count;
} arguments;

static void push_all(arguments *a, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count && a->count + 1 < MAX_ARGUMENTS; i++) a->list[a->count++] = list[i];
}
#define PUSH(a, ...)                                                                                         \
    push_all(a, (const char *const[]){__VA_ARGS__}, sizeof(const char *const[]){__VA_ARGS__} / sizeof(char *))

/* Variables of run-time length, and values that would be lost on the way, are errors. */
static void push_language(arguments *a, const front_options *options)
{
    PUSH(a, "-cc1", "-triple", "nvptx64", "-x", "c", "-std=c23", "-O1", "-funroll-loops", "-relaxed-aliasing",
        "-fno-finite-loops", "-disable-free", "-disable-llvm-passes", "-disable-lifetime-markers", "-discard-value-names",
        "-nostdsysteminc", "-nobuiltininc",
        "-fno-builtin", "-D__TOMBAC_DEVICE__", "-fno-caret-diagnostics",
        "-fno-diagnostics-use-presumed-location", "-fmessage-length=0", "-ferror-limit", "200");
    if (!options->warnings)
        PUSH(a, "-Wno-everything");
    else
        PUSH(a, "-Wall", "-Wno-unknown-pragmas", "-Wno-unknown-attributes", "-Wno-unused-function",
            "-Wno-unused-const-variable");
    PUSH(a, "-Werror=vla", "-Werror=implicit-function-declaration", "-Werror=implicit-int",
        "-Werror=int-conversion", "-Werror=incompatible-pointer-types", "-Werror=return-type");
}

/* As for Metal (compile.c). */
static void push_math(arguments *a, tombac_math math)
{
    if (math == TOMBAC_MATH_SAFE) {
        PUSH(a, "-ffp-contract=on");
        return;
    }
    PUSH(a, "-ffp-contract=fast", "-fno-signed-zeros", "-freciprocal-math", "-fapprox-func");
    if (math == TOMBAC_MATH_FAST) PUSH(a, "-mreassociate");
}

static tombac_status run(
    const rewriter *r, bool syntax_only, const tb_text *text, tb_process *process, tombac_error **error)
{
    const front_unit *unit = r->unit;
    arguments line = {0};
    tb_text header = {0};
    tb_text_printf(&header, "%s/" FRONT_C_HEADER, unit->paths.msl);
    if (header.bad) return tb_fail_memory(error);
    PUSH(&line, unit->paths.clang);
    push_language(&line, &unit->options);
    push_math(&line, r->selected && r->selected->has_math ? r->selected->math : unit->options.math);
    PUSH(&line, "-internal-isystem", unit->paths.msl, "-include", tb_text_string(&header));
    if (syntax_only)
        PUSH(&line, "-fsyntax-only");
    else
        PUSH(&line, "-debug-info-kind=standalone", "-dwarf-version=4", "-emit-llvm-bc", "-o", "-");
    PUSH(&line, "-");
    *process = (tb_process){.arguments = line.list,
        .input = tb_text_string(text),
        .input_size = text->size,
        .time_limit = TIME_LIMIT,
        .memory_limit = memory_limit};
    tombac_status status = tb_process_run(process, error);
    process->arguments = NULL;
    tb_text_free(&header);
    if (status != TOMBAC_ERROR_NOT_FOUND && status != TOMBAC_ERROR_TIMEOUT) return status;
    if (error) tombac_error_release(*error);
    if (status == TOMBAC_ERROR_TIMEOUT)
        return tb_fail(
            error, TOMBAC_ERROR_COMPILER, "clang ran longer than %d s and was stopped", TIME_LIMIT);
    return tb_fail(error, TOMBAC_ERROR_COMPILER,
        "cannot run '%s'; clang 22 is needed, TOMBAC_CLANG can name it", unit->paths.clang);
}

static tombac_status fail(
    const rewriter *r, const tb_process *process, const diagnostic_list *list, tombac_error **error)
{
    tb_text report = {0};
    front_position first = {0};
    tombac_status status = front_show_diagnostics(r, list, &report, &first);
    if (report.bad)
        status = tb_fail_memory(error);
    else if (process->exit_status != 1)
        status = tb_fail(error, TOMBAC_ERROR_COMPILER, "clang crashed (status %d) while compiling %s\n%s",
            process->exit_status, r->unit->main_path, tb_text_string(&report));
    else if (!report.size)
        status = tb_fail(error, TOMBAC_ERROR_COMPILER, "clang failed:\n%s", tb_text_string(&process->errors));
    else
        status = tb_fail(error, status, "%s", report.data);
    if (first.file) tb_error_set_location(error, first.file, first.line, first.column);
    tb_text_free(&report);
    return status;
}

static tombac_status compile(
    const rewriter *r, bool syntax_only, uint32_t *offsets, front_result *result, tombac_error **error)
{
    tb_text text = {0};
    tb_process process = {0};
    diagnostic_list list = {0};
    front_edit_emit(&r->edits, offsets, &text);
    tombac_status status = text.bad ? tb_fail_memory(error) : run(r, syntax_only, &text, &process, error);
    if (status == TOMBAC_OK && !front_parse_diagnostics(r, &process.errors, &text, offsets, &list))
        status = tb_fail_memory(error);
    if (status == TOMBAC_OK && process.exit_status != 0) {
        status = fail(r, &process, &list, error);
    } else if (status == TOMBAC_OK) {
        front_show_diagnostics(r, &list, &result->diagnostics, NULL);
        result->bitcode = process.output;
        process.output = (tb_text){0};
    }
    free(list.items);
    tb_text_free(&text);
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
    return status;
}

tombac_status front_c_compile(front_unit *unit, const front_kernel *kernel, bool syntax_only,
    front_result *result, tombac_error **error)
{
    rewriter r;
    tombac_status status = front_c_rewrite(&r, unit, kernel, error);
    uint32_t *offsets = malloc(((size_t)unit->list.count + 1) * sizeof *offsets);
    if (status == TOMBAC_OK && !offsets) status = tb_fail_memory(error);
    if (status == TOMBAC_OK) status = compile(&r, syntax_only, offsets, result, error);
    if (status != TOMBAC_OK) {
        if (kernel) tb_error_set_kernel(error, kernel->name);
        front_result_free(result);
    }
    free(offsets);
    front_rewrite_free(&r);
    return status;
}
