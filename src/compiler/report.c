/* The verb `emit --what report`: what an engine made of a kernel, and why. An engine that has a report gets a line in
 * the table below. */
#include "base/file.h"
#include "compiler/cpu/cpu.h"
#include "compiler/cpu/report.h"
#include "compiler/job.h"

#include <stdlib.h>
#include <string.h>

/* ---- Lines of the source ---- */

typedef struct source_file {
    struct source_file *next;
    char *path;
    tb_text text; /* empty where it cannot be read */
} source_file;

typedef struct sources {
    const cc_request *request;
    const ir_kernel *kernel;
    source_file *files;
} sources;

static const tb_text *open_source(sources *s, const char *path)
{
    for (source_file *f = s->files; f; f = f->next)
        if (!strcmp(f->path, path)) return &f->text;
    source_file *f = calloc(1, sizeof *f);
    if (!f || !(f->path = strdup(path))) {
        free(f);
        return NULL;
    }
    if (s->request->source && !strcmp(path, s->request->path))
        tb_text_append(&f->text, s->request->source, s->request->source_size);
    else
        (void)tb_file_read(path, 64 << 20, &f->text, NULL); /* a missing file has no lines */
    f->next = s->files;
    s->files = f;
    return &f->text;
}

static bool find_line(void *data, const char *file, unsigned line, tb_text *out)
{
    const tb_text *text = open_source(data, file);
    if (!text || !text->size || text->bad) return false;
    const char *at = text->data, *end = text->data + text->size;
    for (; line > 1; line--) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at++) return false;
    }
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((stop ? stop : end) - at);
    while (length && (at[length - 1] == '\r' || at[length - 1] == ' ')) length--;
    tb_text_append(out, at, length);
    return !out->bad;
}

static const char *name_argument(void *data, int index)
{
    const ir_kernel *kernel = ((sources *)data)->kernel;
    return index >= 0 && (size_t)index < kernel->argument_count ? kernel->arguments[index].parameter->name : NULL;
}

static void close_sources(sources *s)
{
    while (s->files) {
        source_file *next = s->files->next;
        tb_text_free(&s->files->text);
        free(s->files->path);
        free(s->files);
        s->files = next;
    }
}

/* ---- Engines ---- */

static tombac_status report_cpu(const cc_request *request, ir_kernel *kernel, tb_text *output, tombac_error **error)
{
    cpu_report report = {0};
    cpu_options options = {.target = kernel->target, .report = &report};
    sources s = {.request = request, .kernel = kernel};
    cpu_report_context context = {.kernel = kernel->kernel->name,
        .file = kernel->kernel->file,
        .target = kernel->target,
        .argument = name_argument,
        .line = find_line,
        .data = &s};
    size_t context_size;
    memcpy(options.threads, kernel->kernel->required_threads, sizeof options.threads);
    cpu_set_llvm_options();
    tombac_status status = ir_optimise(kernel, error);
    if (status == TOMBAC_OK) status = cpu_vectorise(kernel->module, &options, &context_size, error);
    if (status == TOMBAC_OK) status = cpu_report_print(&report, &context, request->json, output, error);
    cpu_report_free(&report);
    close_sources(&s);
    return status;
}

static const struct {
    const char *engine;
    tombac_status (*report)(const cc_request *, ir_kernel *, tb_text *output, tombac_error **);
} reporters[] = {{"cpu", report_cpu}};

tombac_status cc_emit_report(const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    cc_request own = *request;
    if (!own.engine) own.engine = "cpu";
    for (size_t i = 0; i < sizeof reporters / sizeof *reporters; i++) {
        if (strcmp(reporters[i].engine, own.engine)) continue;
        cc_job job;
        tombac_status status = cc_job_open(&own, &job, diagnostics, error);
        if (status != TOMBAC_OK) return status;
        status = reporters[i].report(&own, job.kernel, output, error);
        if (status != TOMBAC_OK) tb_error_set_kernel(error, job.kernel->kernel->name);
        cc_job_close(&job);
        return status;
    }
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "there is no report of what the engine '%s' decides", own.engine);
}
