/* Running tombac-cc; see compiler_client.h. Finding it is in compiler_find.c. */
#include "runtime/compiler_client.h"

#include "base/file.h"
#include "base/process.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "tombac-cc"
#define DEFAULT_TIME_LIMIT 60.0                /* seconds */
/* Bytes of address space. A compiler that was built with a sanitizer, as this library then is, needs terabytes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEFAULT_MEMORY_LIMIT ((size_t)0)
#else
#define DEFAULT_MEMORY_LIMIT ((size_t)8 << 30)
#endif
enum { EXIT_USAGE = 2, EXIT_SOURCE = 3, EXIT_UNSUPPORTED = 4, EXIT_INTERNAL = 5 };

/* ---- Command lines ---- */

/* Arguments are collected in one text, separated by zeros, and pointed into when complete. */
typedef struct command {
    tb_text text;
    size_t count;
} command;

static void add(command *c, const char *prefix, const char *argument)
{
    tb_text_puts(&c->text, prefix);
    tb_text_append(&c->text, argument, strlen(argument) + 1);
    c->count++;
}

static void add_value(command *c, const rt_value *value)
{
    add(c, "", "--constant");
    tb_text_printf(&c->text, "%u=0x", value->index);
    for (size_t i = 0; i < value->size; i++) tb_text_printf(&c->text, "%02x", value->bytes[i]);
    tb_text_append(&c->text, "", 1);
    c->count++;
}

static void add_argument(command *c, const rt_fixed_argument *argument)
{
    add(c, "", "--argument");
    tb_text_printf(&c->text, "%u=0x", argument->index);
    for (size_t i = 0; i < argument->size; i++) tb_text_printf(&c->text, "%02x", argument->bytes[i]);
    tb_text_append(&c->text, "", 1);
    c->count++;
}

static void add_threadgroup(command *c, const uint32_t *size)
{
    if (!size || !size[0]) return;
    char text[40];
    snprintf(text, sizeof text, "%" PRIu32 ",%" PRIu32 ",%" PRIu32, size[0], size[1], size[2]);
    add(c, "", "--threadgroup");
    add(c, "", text);
}

static void add_defer(command *c, uint32_t from)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, from);
    add(c, "", "--defer");
    add(c, "", text);
}

static void add_all(command *c, const rt_compiler *compiler, const rt_request *request, const char *output)
{
    static const char *const math[] = {"fast", "relaxed", "safe"};
    const rt_source *source = request->source;
    add(c, "", compiler->program);
    add(c, "", request->kernel ? "compile" : "list");
    if (source->standard) add(c, "-std=", source->standard);
    add(c, "", "--math");
    add(c, "", math[source->math]);
    for (size_t i = 0; i < source->define_count; i++) add(c, "-D", source->defines[i]);
    for (size_t i = 0; i < source->include_folder_count; i++) add(c, "-I", source->include_folders[i]);
    if (request->kernel) {
        if (source->debug) add(c, "", "-g");
        add(c, "", "--kernel");
        add(c, "", request->kernel);
        add(c, "", "--engine");
        add(c, "", request->engine);
        if (request->driver_target) {
            add(c, "", "--target");
            add(c, "", request->target);
        }
        for (size_t i = 0; i < request->value_count; i++) add_value(c, &request->values[i]);
        for (size_t i = 0; i < request->argument_count; i++) add_argument(c, &request->arguments[i]);
        add_threadgroup(c, request->threadgroup);
        if (request->defer) add_defer(c, request->defer_from);
        add(c, "", "-o");
        add(c, "", output);
    }
    if (source->is_file) {
        add(c, source->name[0] == '-' ? "./" : "", source->name);
    } else {
        add(c, "", "--name");
        add(c, "", source->name);
        add(c, "", "-");
    }
}

static const char **pointers(const command *c)
{
    const char **arguments = c->text.bad ? NULL : calloc(c->count + 1, sizeof *arguments);
    const char *next = c->text.data;
    for (size_t i = 0; arguments && i < c->count; i++, next += strlen(next) + 1) arguments[i] = next;
    return arguments;
}

/* ---- Running it ---- */

static double number_from_environment(const char *name, double otherwise)
{
    const char *text = getenv(name);
    char *end;
    double value = text && *text ? strtod(text, &end) : otherwise;
    return value >= 0 && value < 1e18 ? value : otherwise;
}

/* A process error as one about the compiler; a lack of memory stays what it is. */
static tombac_status wrap(tombac_status status, tombac_error *inner, const char *help, tombac_error **error)
{
    if (status != TOMBAC_ERROR_MEMORY)
        status = tb_fail(error, TOMBAC_ERROR_COMPILER, "%s%s", tombac_error_message(inner), help);
    else
        status = tb_fail_memory(error);
    tombac_error_release(inner);
    return status;
}

/* What the process reads, and what stops it. */
typedef struct feed {
    const void *input;
    size_t size;
    const atomic_bool *cancelled;
} feed;

static tombac_status run_command(const command *c, const feed *in, rt_response *response, tombac_error **error)
{
    const char **arguments = pointers(c);
    tombac_status status = TOMBAC_OK;
    if (!arguments)
        status = tb_fail_memory(error);
    else {
        tb_process process = {.arguments = arguments,
            .input = in->input,
            .input_size = in->size,
            .cancelled = in->cancelled,
            .time_limit = number_from_environment("TOMBAC_CC_TIME", DEFAULT_TIME_LIMIT),
            .memory_limit =
                (size_t)number_from_environment("TOMBAC_CC_MEMORY", (double)DEFAULT_MEMORY_LIMIT)};
        tombac_error *inner = NULL;
        status = tb_process_run(&process, &inner);
        response->output = process.output;
        response->diagnostics = process.errors;
        response->exit_status = process.exit_status;
        if (status != TOMBAC_OK)
            status = wrap(status, inner,
                status == TOMBAC_ERROR_NOT_FOUND ? "; it compiles Metal sources; set TOMBAC_CC to its path"
                                                 : "",
                error);
    }
    free(arguments);
    return status;
}

/* A compilation, or what is left of one. */
typedef struct task {
    const rt_compiler *compiler;
    const rt_request *request; /* NULL: finish `artifact` */
    const void *artifact;
    size_t artifact_size;
} task;

static tombac_status run(const task *t, const char *output, rt_response *response, tombac_error **error)
{
    command c = {0};
    feed in = {.input = t->artifact, .size = t->artifact_size};
    const rt_request *request = t->request;
    if (request) {
        add_all(&c, t->compiler, request, output);
        in = (feed){.cancelled = request->cancelled};
        if (!request->source->is_file) {
            in.input = tb_text_string(&request->source->content);
            in.size = request->source->content.size;
        }
    } else {
        const char *const words[] = {t->compiler->program, "finish", "-o", output, "-"};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) add(&c, "", words[i]);
    }
    tombac_status status = run_command(&c, &in, response, error);
    tb_text_free(&c.text);
    return status;
}

static char *join(const char *folder, const char *rest)
{
    tb_text text = {0};
    tb_text_printf(&text, "%s/%s", folder, rest);
    return tb_text_take(&text);
}

/* Compiles into a file in a temporary folder of its own, and takes that file's content as the output. */
static tombac_status run_with_file(const task *t, rt_response *response, tombac_error **error)
{
    const char *temporary = getenv("TMPDIR");
    char *folder = join(temporary && *temporary ? temporary : "/tmp", "tombac-XXXXXX"), *file = NULL;
    tombac_status status = folder ? TOMBAC_OK : tb_fail_memory(error);
    bool made = status == TOMBAC_OK && mkdtemp(folder) != NULL;
    if (status == TOMBAC_OK && !made) status = tb_fail_errno(error, "cannot create the folder '%s'", folder);
    if (status == TOMBAC_OK && !(file = join(folder, "kernel.tombac"))) status = tb_fail_memory(error);
    if (status == TOMBAC_OK) status = run(t, file, response, error);
    if (status == TOMBAC_OK && response->exit_status == 0) {
        tb_text_free(&response->output);
        tombac_error *inner = NULL;
        status = tb_file_read(file, 0, &response->output, &inner);
        if (status != TOMBAC_OK) status = wrap(status, inner, " (tombac-cc reported success)", error);
    }
    if (file) unlink(file);
    if (made) rmdir(folder);
    free(file);
    free(folder);
    return status;
}

static tombac_status start(const task *t, rt_response *response, tombac_error **error)
{
    *response = (rt_response){0};
    if (!t->compiler->program)
        return tb_fail(error, TOMBAC_ERROR_COMPILER,
            "the compiler '" PROGRAM
            "' is not installed: it is neither beside the library, nor beside the program, nor in "
            "PATH; set TOMBAC_CC to its path");
    bool makes_file = !t->request || t->request->kernel;
    tombac_status status = makes_file ? run_with_file(t, response, error) : run(t, NULL, response, error);
    if (status != TOMBAC_OK) rt_response_free(response);
    return status;
}

tombac_status rt_compiler_run(
    const rt_compiler *compiler, const rt_request *request, rt_response *response, tombac_error **error)
{
    return start(&(task){.compiler = compiler, .request = request}, response, error);
}

tombac_status rt_compiler_finish(
    const rt_compiler *compiler, const void *artifact, size_t size, rt_response *response, tombac_error **error)
{
    return start(&(task){.compiler = compiler, .artifact = artifact, .artifact_size = size}, response, error);
}

void rt_response_free(rt_response *response)
{
    tb_text_free(&response->output);
    tb_text_free(&response->diagnostics);
    *response = (rt_response){0};
}

/* ---- What its end means ---- */

bool rt_exit_is_about_source(int exit_status)
{
    return exit_status == EXIT_SOURCE || exit_status == EXIT_UNSUPPORTED;
}

/* Finds the first "FILE:LINE:COLUMN: error:" (or "fatal error:") of clang's form. */
static bool first_location(const char *text, char **file, unsigned *line, unsigned *column)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        const char *marker = memmem(text, length, ": error:", 8);
        if (!marker) marker = memmem(text, length, ": fatal error:", 14);
        const char *p = marker;
        unsigned numbers[2] = {0, 0}; /* column, line */
        int found = 0;
        for (; p && found < 2; found++) {
            const char *digits = p;
            while (digits > text && digits[-1] >= '0' && digits[-1] <= '9') digits--;
            if (digits == p || digits == text || digits[-1] != ':') break;
            numbers[found] = (unsigned)strtoul(digits, NULL, 10);
            p = digits - 1;
        }
        if (found > 0 && p > text) {
            *line = found == 2 ? numbers[1] : numbers[0];
            *column = found == 2 ? numbers[0] : 0;
            *file = strndup(text, (size_t)(p - text));
            return *file != NULL;
        }
        text += length + (text[length] == '\n');
    }
    return false;
}

tombac_status rt_compiler_fail(
    const rt_request *request, int exit_status, const char *diagnostics, tombac_error **error)
{
    static const char own[] = PROGRAM ": error: "; /* how it begins where it speaks for itself */
    if (strncmp(diagnostics, own, sizeof own - 1) == 0) diagnostics += sizeof own - 1;
    tombac_status status = TOMBAC_ERROR_COMPILER;
    size_t length = strlen(diagnostics);
    while (length && diagnostics[length - 1] == '\n') length--;
    int shown = length > INT_MAX ? INT_MAX : (int)length;
    switch (exit_status) {
    case EXIT_SOURCE: status = TOMBAC_ERROR_SOURCE; break;
    case EXIT_UNSUPPORTED: status = TOMBAC_ERROR_UNSUPPORTED; break;
    case EXIT_USAGE: status = TOMBAC_ERROR_ARGUMENT; break;
    default: break;
    }
    if (exit_status > 128)
        status = tb_fail(error, status, "the compiler crashed on '%s' (signal %d, %s)%s%.*s",
            request->source->name, exit_status - 128, strsignal(exit_status - 128), length ? ":\n" : "",
            shown, diagnostics);
    else if (length == 0)
        status = tb_fail(error, status, "the compiler failed on '%s' (exit status %d) and did not say why",
            request->source->name, exit_status);
    else
        status = tb_fail(error, status, "%.*s", shown, diagnostics);
    if (request->kernel) tb_error_set_kernel(error, request->kernel);
    char *file = NULL;
    unsigned line, column;
    if (error && first_location(diagnostics, &file, &line, &column))
        tb_error_set_location(error, file, line, column);
    free(file);
    return status;
}
