/* emit --what times: compiles a kernel as `compile` does and tells, phase by phase, what it took and what it left.
 *
 * The phases are marked where they happen (base/times.h); this file begins the first and prints the table. */
#include "compiler/job.h"

#include <jansson.h>
#include <stdio.h>

static int append(const char *data, size_t size, void *text)
{
    tb_text_append(text, data, size);
    return 0;
}

static tb_instant total_of(const tb_times *times)
{
    tb_instant total = {0};
    for (size_t i = 0; i < times->count; i++) {
        total.wall += times->phases[i].spent.wall;
        total.own += times->phases[i].spent.own;
        total.children += times->phases[i].spent.children;
    }
    return total;
}

static void print_line(tb_text *output, const char *name, const tb_instant *spent, uint64_t size)
{
    tb_text_printf(output, "%-28s %9.1f %9.1f %9.1f", name, 1000 * spent->wall, 1000 * spent->own, 1000 * spent->children);
    if (size) tb_text_printf(output, " %9llu", (unsigned long long)size);
    tb_text_putc(output, '\n');
}

static void print_table(const tb_times *times, tb_text *output)
{
    tb_text_printf(output, "%-28s %9s %9s %9s %9s\n", "milliseconds", "clock", "own", "clang", "size");
    for (size_t i = 0; i < times->count; i++)
        print_line(output, times->phases[i].name, &times->phases[i].spent, times->phases[i].size);
    tb_instant total = total_of(times);
    print_line(output, "all", &total, 0);
}

static tombac_status print_json(const tb_times *times, tb_text *output, tombac_error **error)
{
    json_t *list = json_array();
    for (size_t i = 0; i < times->count; i++) {
        const tb_phase *p = &times->phases[i];
        json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:I}", "phase", p->name, "seconds", p->spent.wall,
                                        "own_processor_seconds", p->spent.own, "clang_processor_seconds",
                                        p->spent.children, "size", (json_int_t)p->size));
    }
    json_t *root = json_pack("{s:o}", "phases", list);
    bool good = root && json_dump_callback(root, append, output, JSON_INDENT(1)) == 0;
    json_decref(root);
    tb_text_putc(output, '\n');
    return good ? TOMBAC_OK : tb_fail_memory(error);
}

tombac_status cc_emit_times(const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    tb_times times = {0};
    cc_request own = *request;
    own.times = &times;
    if (!own.engine) own.engine = "cpu";
    tombac_status status = cc_require_engine(&own, error);
    cc_job job;
    if (status == TOMBAC_OK) status = cc_job_open(&own, &job, diagnostics, error);
    if (status != TOMBAC_OK) return status;
    tb_text object = {0}, rest = {0};
    size_t context_size;
    own.rest = own.defer ? &rest : NULL;
    status = cc_generate(&own, job.kernel, false, &object, &context_size, error);
    tb_times_begin(&times, NULL);
    tb_text_free(&object);
    tb_text_free(&rest);
    cc_job_close(&job);
    if (status != TOMBAC_OK) return status;
    if (request->json) return print_json(&times, output, error);
    print_table(&times, output);
    return TOMBAC_OK;
}
