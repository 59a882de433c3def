/* What os_log writes (compared with C's printf) and what a failed assertion reports. */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>

static cf_call call_of(const char *kernel, uint32_t n, uint32_t group)
{
    return (cf_call){.file = "logging.metal", .kernel = kernel, .grid = {n, 1, 1}, .group = {group, 1, 1}};
}

static void run_formats(cf_test *t, const int *p)
{
    int32_t v[4] = {-42, 4000, 0xbeef, 'q'};
    float f[4] = {1.5f, -2.0625f, 12345.678f, 1e-7f};
    char lines[7][128];
    snprintf(lines[0], 128, "plain text\n");
    snprintf(lines[1], 128, "int %d unsigned %u hexadecimal %x\n", v[0], (uint32_t)v[1], (uint32_t)v[2]);
    snprintf(lines[2], 128, "padded [%5d] [%-5d] [%05d]\n", v[0], v[0], v[0]);
    snprintf(lines[3], 128, "float %f %.3f %e %g\n", (double)f[0], (double)f[1], (double)f[2], (double)f[3]);
    snprintf(lines[4], 128, "percent %% char %c long %ld unsigned long %lu\n", v[3], (long)v[0] * (1l << 33),
        (unsigned long)v[1] << 33);
    snprintf(lines[5], 128, "text %s end\n", "inside");
    snprintf(lines[6], 128, "half %f short %d bool %d\n", 1.5, -42, 1);
    cf_call call = call_of("formats", 1, 1);
    cf_bytes(&call, 0, v, sizeof v);
    cf_bytes(&call, 1, f, sizeof f);
    if (!cf_run(t, &call)) return;
    const char *at = call.log;
    for (int i = 0; i < 7; i++) {
        const char *found = strstr(at, lines[i]);
        if (!found) {
            cf_fail(t, "line %d is missing or out of order: %sin the log:\n%s", i, lines[i], call.log);
            return;
        }
        at = found + strlen(lines[i]);
    }
}

/* p: threads, threads per threadgroup. Each line once; a thread's own lines in their order. */
static void run_every_thread(cf_test *t, const int *p)
{
    uint32_t n = (uint32_t)p[0], modulus = 4, lines = 0, expected = 0;
    uint32_t *next = cf_alloc(t, n * 4);
    for (uint32_t i = 0; i < n; i++) expected += i % modulus;
    cf_call call = call_of("every_thread", n, (uint32_t)p[1]);
    cf_bytes(&call, 0, &modulus, 4);
    if (!cf_run(t, &call)) return;
    for (char *line = call.log; *line;) {
        char *end = strchr(line, '\n');
        if (!end) {
            cf_fail(t, "the log does not end with a new line");
            return;
        }
        *end = '\0';
        const char *text = strstr(line, "thread ");
        unsigned thread = 0, round = 0;
        if (!text || sscanf(text, "thread %u round %u", &thread, &round) != 2 || thread >= n ||
            round != next[thread]) {
            cf_fail(t, "unexpected line '%s'", line);
            return;
        }
        next[thread]++;
        lines++;
        line = end + 1;
    }
    cf_equal(t, TOMBAC_TYPE_U32, &expected, &lines, 1, "lines");
}

static void run_silent(cf_test *t, const int *p)
{
    uint32_t got[64] = {0}, expected[64];
    for (uint32_t i = 0; i < 64; i++) expected[i] = i;
    cf_call call = call_of("silent", 64, 32);
    cf_buffer(&call, 0, got, sizeof got);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_U32, expected, got, 64, "out");
    if (*call.log) cf_fail(t, "the log should be empty, it is:\n%s", call.log);
}

/* p: limit (100 threads) */
static void run_assertion(cf_test *t, const int *p)
{
    uint32_t out[100] = {0}, limit = (uint32_t)p[0];
    char message[512];
    cf_call call = call_of("assertion", 100, 50);
    cf_buffer(&call, 0, out, sizeof out);
    cf_bytes(&call, 1, &limit, 4);
    tombac_status status = cf_try(t, &call, message, sizeof message);
    tombac_status expected = limit < 100 ? TOMBAC_ERROR_KERNEL : TOMBAC_OK;
    if (status != expected)
        cf_fail(t, "expected '%s', got '%s': %s", tombac_status_name(expected), tombac_status_name(status),
            message);
    else if (status != TOMBAC_OK &&
             (!strstr(message, "i < limit") || !strstr(call.error_file, "logging.metal") || !call.error_line))
        cf_fail(t, "the error does not name condition, file and line: %s, file '%s', line %u", message,
            call.error_file, call.error_line);
}

void cf_family_logging(cf_suite *suite)
{
    cf_add(suite, run_formats, CF_P(0), "logging.formats");
    cf_add(suite, run_every_thread, CF_P(10, 10), "logging.every-thread.10");
    cf_add(suite, run_every_thread, CF_P(200, 33), "logging.every-thread.200");
    cf_add(suite, run_silent, CF_P(0), "logging.silent");
    cf_add(suite, run_assertion, CF_P(100), "logging.assertion.holds");
    cf_add(suite, run_assertion, CF_P(99), "logging.assertion.fails-in-one-thread");
    cf_add(suite, run_assertion, CF_P(0), "logging.assertion.fails-in-all");
}
