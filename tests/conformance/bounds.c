/* What lies outside of an array is refused by the device "check", with the kernel's line and the array's size, whatever memory it
 * is in and however the pointer got there; the last element is there on every device. */
#include "conformance.h"

#include <string.h>

typedef struct place {
    const char *kernel;
    int first, last; /* indices that are there */
    int value;       /* out[0] at the last one */
    const char *object;
} place;

static const place places[] = {
    {"private_read", 0, 3, 23, "of a variable of the thread, which has 16 bytes"},
    {"private_write", 0, 3, 7, "of a variable of the thread, which has 16 bytes"},
    {"private_member", 0, 3, 23, "of an array of 16 bytes in a variable of the thread"},
    {"private_row", 0, 3, 23, "of an array of 16 bytes in a variable of the thread"},
    {"private_callee", -1, 3, 23, "of a variable of the thread, which has 16 bytes"},
    {"private_element", 2, 3, 23, "of a variable of the thread, which has 96 bytes"},
    {"threadgroup_read", 0, 3, 23, "of 'p', which has 16 bytes"},
    {"threadgroup_write", 0, 3, 7, "of 'p', which has 16 bytes"},
    {"threadgroup_member", 0, 3, 23, "of an array of 16 bytes in 'p'"},
    {"threadgroup_row", 0, 3, 23, "of an array of 16 bytes in 'p'"},
    {"threadgroup_argument", 0, 3, 23, "of 'scratch', which has 16 bytes"},
    {"threadgroup_atomic", 0, 3, 23, "of 'p', which has 16 bytes"},
    {"generic_read", 0, 3, 23, "of a variable of the thread, which has 16 bytes"},
    {"generic_write", 0, 3, 7, "of a variable of the thread, which has 16 bytes"},
    {"table_read", 0, 3, 23, "of 'table', which has 16 bytes"},
    {"device_read", 0, 3, 23, "of 'in', which has 16 bytes"},
};

/* One run at index `at`; message and line: what became of it. */
static tombac_status run(
    cf_test *t, const char *kernel, int at, int32_t out[2], char message[512], unsigned *line)
{
    int32_t in[4] = {1, 0, 0, 23};
    cf_call call = {.file = "bounds.metal", .kernel = kernel, .grid = {1, 1, 1}, .group = {1, 1, 1}};
    call.standard = "metal4.1";
    cf_buffer(&call, 0, out, 2 * sizeof *out);
    cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, 2, &at, sizeof at);
    cf_threadgroup(&call, 0, 16);
    tombac_status status = cf_try(t, &call, message, 512);
    *line = call.error_line;
    return status;
}

static void run_last(cf_test *t, const int *p)
{
    const place *which = &places[p[0]];
    int32_t out[2] = {0, 0};
    char message[512];
    unsigned line;
    if (run(t, which->kernel, which->last, out, message, &line) != TOMBAC_OK) cf_fail(t, "%s", message);
    /* the neighbours' elements 1 */
    cf_equal(t, TOMBAC_TYPE_I32, (const int32_t[]){which->value, 63}, out, 2, "out");
}

static void run_outside(cf_test *t, const int *p)
{
    const place *which = &places[p[0]];
    int32_t out[2];
    char message[512] = "";
    int at = p[1] < 0 ? which->first + p[1] : which->last + p[1];
    if (strcmp(tombac_device_name(cf_device(t)), "check") != 0) return;
    unsigned line = 0;
    tombac_status status = run(t, which->kernel, at, out, message, &line);
    if (status != TOMBAC_ERROR_KERNEL || !strstr(message, which->object))
        cf_fail(t, "%s, not '%s': %s", tombac_status_name(status), which->object, message);
    if (status == TOMBAC_ERROR_KERNEL && line == 0) cf_fail(t, "no place: %s", message);
}

static void run_right(cf_test *t, const int *p)
{
    int32_t out[2] = {0, 0};
    char message[512];
    unsigned line;
    if (run(t, "right", 3, out, message, &line) != TOMBAC_OK) cf_fail(t, "%s", message);
    cf_equal(t, TOMBAC_TYPE_I32, (const int32_t[]){23, 63}, out, 2, "out");
}

/* p[0]: beyond, not before. The access stands behind a condition. */
static void run_constant(cf_test *t, const int *p)
{
    static const char *const texts[] = {"writes 4 bytes at offset -4 of a variable of the thread, which has 16 bytes",
        "reads 4 bytes at offset 56 of a variable of the thread, which has 48 bytes"};
    const char *kernel = p[0] ? "constant_beyond" : "constant_before";
    int32_t out[2] = {0, 0};
    char message[512] = "";
    unsigned line = 0;
    if (run(t, kernel, 0, out, message, &line) != TOMBAC_OK) cf_fail(t, "%s", message);
    cf_equal(t, TOMBAC_TYPE_I32, (const int32_t[]){23, 63}, out, 2, "out");
    if (strcmp(tombac_device_name(cf_device(t)), "check") != 0) return;
    if (run(t, kernel, 3, out, message, &line) != TOMBAC_ERROR_KERNEL || !strstr(message, texts[p[0]]) || !line)
        cf_fail(t, "line %u: %s", line, message);
}

void cf_family_bounds(cf_suite *suite)
{
    for (int beyond = 0; beyond < 2; beyond++)
        cf_add(suite, run_constant, CF_P(beyond), "bounds.constant.%s", beyond ? "beyond" : "before");
    for (int i = 0; i < (int)(sizeof places / sizeof *places); i++) {
        cf_add(suite, run_last, CF_P(i), "bounds.last.%s", places[i].kernel);
        cf_add(suite, run_outside, CF_P(i, 1), "bounds.beyond.%s", places[i].kernel);
        cf_add(suite, run_outside, CF_P(i, 1000), "bounds.far.%s", places[i].kernel);
        if (places[i].first >= 0) cf_add(suite, run_outside, CF_P(i, -1), "bounds.before.%s", places[i].kernel);
    }
    cf_add(suite, run_right, CF_P(0), "bounds.pointers-past-the-end");
}
