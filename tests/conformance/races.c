/* Data races: the device "check" finds them where they are, and nowhere else: one of the two accesses is at the marked line.
 * The other devices run the kernels that have none. */
#include "conformance.h"

#include <string.h>

enum { N = 64, GROUPS = 2, LINE = 200 };

static const struct {
    const char *kernel;
    const char *text; /* in the error; NULL: there is no race */
} kernels[] = {
    {"exchange", NULL}, {"rounds", NULL}, {"in_simdgroup", NULL}, {"flag", NULL}, {"counters", NULL}, {"bytes", NULL},
    {"vectors", NULL}, {"matrices", NULL}, {"own", NULL}, {"device_exchange", NULL}, {"last", NULL}, {"fences", NULL}, {"sums", NULL},
    {"wrong_exchange", "of threadgroup memory, which thread"},
    {"wrong_rounds", "; no barrier is in between"},
    {"wrong_in_simdgroup", "threads of a SIMD-group need one too"},
    {"wrong_across_simdgroups", "; no barrier is in between"},
    {"wrong_flags_device", "does not have mem_flags::mem_threadgroup"},
    {"wrong_flags_none", "does not have mem_flags::mem_threadgroup"},
    {"wrong_flag", "writes 4 bytes"},
    {"wrong_counters", "changed by an atomic operation at"},
    {"wrong_bytes", "writes 2 bytes"},
    {"wrong_vectors", "of threadgroup memory, which thread"},
    {"wrong_device_exchange", "of 'work', which thread 1,0,0 wrote"},
    {"wrong_threadgroups", "; nothing orders these threadgroups"},
    {"wrong_same_element", "at offset 0 of 'work', which thread 0,0,0 wrote"},
    {"wrong_last", "nothing orders these threadgroups"},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* The line of `kernel` that says where its race is; 0: it says nothing. */
static unsigned line_of(cf_test *t, const char *path, const char *kernel)
{
    char line[LINE], head[80];
    bool inside = false;
    FILE *file = fopen(path, "r");
    if (!file) cf_fail(t, "cannot read %s", path);
    snprintf(head, sizeof head, "kernel void %s(", kernel);
    for (unsigned number = 1; file && fgets(line, sizeof line, file); number++) {
        if (!strncmp(line, "kernel void", 11)) inside = !strncmp(line, head, strlen(head));
        if (inside && strstr(line, "// here")) return fclose(file), number;
    }
    if (file) fclose(file);
    return 0;
}

static void run_race(cf_test *t, const int *p)
{
    const char *kernel = kernels[p[0]].kernel, *text = kernels[p[0]].text;
    uint32_t out[N * GROUPS] = {0}, work[N * GROUPS] = {0}, count[4] = {0};
    char message[1024] = "";
    cf_call call = {.file = "races.metal", .kernel = kernel, .grid = {N * GROUPS, 1, 1}, .group = {N, 1, 1}};
    cf_buffer(&call, 0, out, sizeof out);
    cf_buffer(&call, 1, work, sizeof work);
    cf_buffer(&call, 2, count, sizeof count);
    if (!text) {
        cf_run(t, &call);
        return;
    }
    if (strcmp(tombac_device_name(cf_device(t)), "check") != 0) return; /* nothing is promised */
    tombac_status status = cf_try(t, &call, message, sizeof message);
    if (status != TOMBAC_ERROR_KERNEL || !strstr(message, "data race: ") || !strstr(message, text))
        cf_fail(t, "%s: %s: %s", kernel, tombac_status_name(status), message);
    unsigned line = cf_failed(t) ? 0 : line_of(t, call.error_file, kernel);
    char other[40];
    snprintf(other, sizeof other, "races.metal:%u;", line);
    if (line && line != call.error_line && !strstr(message, other))
        cf_fail(t, "%s: found at line %u, not at %u: %s", kernel, call.error_line, line, message);
}

void cf_family_races(cf_suite *suite)
{
    for (int k = 0; k < KERNELS; k++) cf_add(suite, run_race, CF_P(k), "races.%s", kernels[k].kernel);
}
