/* Uses of values from variables that nothing set: the device "check" finds the first where it is, and finds
 * none where there is none (the harness sees to that in every test). The other devices run the kernels that
 * are right. */
#include "conformance.h"

#include <string.h>

enum { N = 64, GROUPS = 2, LINE = 200, WORDS = 16 };

static const struct {
    const char *kernel;
    unsigned uses; /* how many are found; 0: some */
} kernels[] = {
    {"all_set", 0},
    {"same_condition", 0},
    {"copies", 0},
    {"bits", 0},
    {"shuffles", 0},
    {"cleared", 0},
    {"unions", 0},
    {"loops", 0},
    {"wrong_sum", N * GROUPS},
    {"wrong_vector", 4 * N * GROUPS},
    {"wrong_component", N * GROUPS},
    {"wrong_array", 0},
    {"wrong_member", N * GROUPS},
    {"wrong_object", N * GROUPS},
    {"wrong_branch", N * GROUPS},
    {"wrong_switch", N * GROUPS / 2},
    {"wrong_trips", N * GROUPS},
    {"wrong_index", N * GROUPS},
    {"wrong_through_threadgroup", N * GROUPS / 2},
    {"wrong_reduction", N * GROUPS / 2},
    {"wrong_vote", N * GROUPS / 2},
    {"wrong_atomic", N * GROUPS / 2},
    {"wrong_pointer", 0},
    {"wrong_half", N * GROUPS},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* The line that is marked in `kernel` as here, or anywhere with its name. */
static unsigned line_of(cf_test *t, const char *path, const char *kernel)
{
    char line[LINE], head[80], mark[80];
    bool inside = false;
    unsigned here = 0;
    FILE *file = fopen(path, "r");
    if (!file) cf_fail(t, "cannot read %s", path);
    snprintf(head, sizeof head, "kernel void %s(", kernel);
    snprintf(mark, sizeof mark, "// %s\n", kernel);
    for (unsigned number = 1; file && fgets(line, sizeof line, file); number++) {
        if (!strncmp(line, "kernel void", 11)) inside = !strncmp(line, head, strlen(head));
        if ((inside && strstr(line, "// here")) || strstr(line, mark)) here = number;
    }
    if (file) fclose(file);
    return here;
}

static void run_unset(cf_test *t, const int *p)
{
    const char *kernel = kernels[p[0]].kernel;
    uint32_t out[N * GROUPS * WORDS] = {0}, n = 4;
    float x[N * GROUPS];
    char message[1024] = "", place[300], path[512];
    bool wrong = !strncmp(kernel, "wrong_", 6);
    for (int i = 0; i < N * GROUPS; i++) x[i] = (float)(i % 7);
    cf_call call = {.file = "unset.metal",
        .kernel = kernel,
        .grid = {N * GROUPS, 1, 1},
        .group = {N, 1, 1},
        .uses_unset = wrong};
    cf_buffer(&call, 0, out, sizeof out);
    cf_buffer(&call, 1, x, sizeof x);
    cf_bytes(&call, 2, &n, sizeof n);
    if (!wrong) {
        cf_run(t, &call);
        return;
    }
    if (strcmp(tombac_device_name(cf_device(t)), "check") != 0) return; /* nothing is promised */
    tombac_status status = cf_try(t, &call, message, sizeof message);
    if (status != TOMBAC_OK) cf_fail(t, "%s: %s: %s", kernel, tombac_status_name(status), message);
    if (cf_failed(t)) return;
    snprintf(path, sizeof path, "%s/unset.metal", CF_KERNEL_FOLDER);
    snprintf(place, sizeof place, "unset.metal:%u\n", line_of(t, path, kernel));
    if (!strstr(call.log, place)) cf_fail(t, "%s: not at %s but: %s", kernel, place, call.log);
    snprintf(place, sizeof place, "tombac: %u uses of", kernels[p[0]].uses);
    if (kernels[p[0]].uses && !strstr(call.log, place))
        cf_fail(t, "%s: not %s but: %s", kernel, place, call.log);
}

void cf_family_unset(cf_suite *suite)
{
    for (int k = 0; k < KERNELS; k++) cf_add(suite, run_unset, CF_P(k), "unset.%s", kernels[k].kernel);
}
