/* Generic pointers: members written once give what members written per address space give; questions about
 * the address space; casts. */
#include "conformance.h"

#include <string.h>

/* ---- One type, two versions of the language ---- */

typedef struct rows {
    float row[3][4]; /* float3 is 16 bytes */
} rows;

static void multiply(rows *a, const rows *b)
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) a->row[r][c] *= b->row[r][c];
}

static void shear(rows *a, float by)
{
    for (int c = 0; c < 3; c++) {
        a->row[0][c] += by * a->row[1][c];
        a->row[2][c] -= a->row[0][c];
    }
}

static float trace(const rows *a)
{
    return a->row[0][0] + a->row[1][1] + a->row[2][2];
}

/* All values are integers below 2^24: exact whether products are fused or not. */
static void run_combine(cf_test *t, const int *p)
{
    enum { N = 6, GROUP = 4 };
    rows result[N], factor[N], got[N];
    float traces[N], got_traces[N] = {0};
    memset(result, 0, sizeof result);
    memset(factor, 0, sizeof factor);
    for (int i = 0; i < N; i++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                result[i].row[r][c] = (float)((i + r * 2 + c) % 3 - 1);
                factor[i].row[r][c] = (float)((i * 5 + r + c * 2) % 4 - 1);
            }
    memcpy(got, result, sizeof got);
    for (int i = 0; i < N; i++) {
        rows scratch = {{{1, 2, 3}, {(float)i, (float)i, (float)i}, {2, 2, 2}}}, shared = scratch;
        multiply(&shared, &factor[i]);
        shear(&scratch, 2);
        multiply(&result[i], &scratch);
        shear(&shared, 1);
        multiply(&scratch, &shared);
        multiply(&shared, &scratch);
        multiply(&result[i], &shared);
        shear(&result[i], -1);
        traces[i] = trace(&result[i]) + trace(&scratch) + trace(&shared);
    }
    cf_call call = {.file = "generic.metal", .kernel = "combine", .grid = {N, 1, 1}, .group = {GROUP, 1, 1}};
    call.standard = p[0] ? "metal4.1" : "metal4.0";
    call.math = TOMBAC_MATH_SAFE; /* the sign of zeros counts */
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, factor, sizeof factor);
    cf_buffer(&call, 2, got_traces, sizeof got_traces);
    cf_threadgroup(&call, 0, GROUP * sizeof(rows));
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, traces, got_traces, N, "traces");
    for (int i = 0; i < N; i++)
        for (int r = 0; r < 3; r++)
            cf_equal(t, TOMBAC_TYPE_F32, result[i].row[r], got[i].row[r], 3, "row %d of matrix %d", r, i);
}

/* Rotations are known by what they do: each row has length one, stands upright on the others, and is the start's row but for
 * what lies along the rows before it. Here start = triangle x rotation with a rotation that is known. */
static void run_rotations(cf_test *t, const int *p)
{
    enum { N = 7, GROUP = 4 };
    rows start[N], got[3 * N];
    double expected[3 * 3 * N];
    memset(start, 0, sizeof start);
    memset(got, 0, sizeof got);
    for (int i = 0; i < N; i++) { /* columns of a half turn about an axis with integer components */
        const double axis[3] = {1 + i, 2, 3 - i}, square = axis[0] * axis[0] + 4 + axis[2] * axis[2];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) expected[9 * i + 3 * r + c] = 2 * axis[r] * axis[c] / square - (r == c);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                for (int k = 0; k <= r; k++)
                    start[i].row[r][c] += (float)((k == r ? 3 + r : k - i) * expected[9 * i + 3 * k + c]);
    }
    cf_call call = {.file = "generic.metal", .kernel = "rotations", .grid = {N, 1, 1}, .group = {GROUP, 1, 1}};
    call.standard = p[0] ? "metal4.1" : "metal4.0";
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, start, sizeof start);
    cf_threadgroup(&call, 0, GROUP * sizeof(rows));
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < 3 * N; i++)
        for (int r = 0; r < 3; r++)
            cf_close(t, expected + 9 * (i / 3) + 3 * r, got[i].row[r], 3, 0, 2e-5, "row %d of matrix %d", r, i);
}

/* ---- Questions and casts ---- */

enum { DEVICE = 1, THREADGROUP = 2, THREAD = 4 };

static void run_spaces(cf_test *t, const int *p)
{
    enum { N = 37, GROUP = 16 };
    uint32_t out[16 * N], got[16 * N];
    for (uint32_t i = 0; i < 16 * N; i++) got[i] = out[i] = i % 16 < 12 ? 0 : i;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t *row = out + 16 * i, first = i, second = 10 + i;
        row[0] = THREAD;
        row[1] = THREADGROUP;
        row[2] = DEVICE;
        row[3] = 6 + i;
        row[4] = 60 + 4 * i;
        row[5] = row[12] + row[13] + row[14] + row[15];
        row[6] = 2;
        row[7] = 2 + first;
        row[8] = second + row[7];
    }
    cf_call call = {.file = "generic.metal", .kernel = "spaces", .grid = {N, 1, 1}, .group = {GROUP, 1, 1}};
    call.standard = "metal4.1";
    cf_buffer(&call, 0, got, sizeof got);
    cf_threadgroup(&call, 0, GROUP * 16);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, out, got, 16 * N, "out (16 per thread)");
}

static void run_choice(cf_test *t, const int *p)
{
    enum { N = 61, GROUP = 32 };
    uint32_t out[8 * N], got[8 * N];
    for (uint32_t i = 0; i < 8 * N; i++) got[i] = out[i] = i % 8 == 7 ? 1000 + i : 0;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t *row = out + 8 * i, local = 5 + i, shared = 100 + i;
        uint32_t which = i % 3 == 0 ? DEVICE : i % 3 == 1 ? THREADGROUP : THREAD;
        if (which == THREAD && i % 5 > 0) which = THREADGROUP;
        uint32_t *memory = which == DEVICE ? &row[7] : which == THREADGROUP ? &shared : &local;
        row[0] = row[1] = which;
        row[2] = *memory;
        *memory += 1;
        row[3] = local;
        row[4] = shared;
        row[5] = *memory;
    }
    cf_call call = {.file = "generic.metal", .kernel = "choice", .grid = {N, 1, 1}, .group = {GROUP, 1, 1}};
    call.standard = "metal4.1";
    cf_buffer(&call, 0, got, sizeof got);
    cf_threadgroup(&call, 0, GROUP * 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, out, got, 8 * N, "out (8 per thread)");
}

/* Thread 5 casts a pointer to its own memory to one to device memory. */
/* p[0]: 0 device, 1 threadgroup, 2 thread memory; + 4: writes. The last element is there, the next is not: the device "check" says
 * so. */
static void run_overrun(cf_test *t, const int *p)
{
    enum { GROUP = 4 };
    static const char *const wanted[] = {"of 'in', which has 16 bytes", "of 'shared', which has 16 bytes",
        "of a variable of the thread, which has 16 bytes"};
    for (uint32_t beyond = 0; beyond < 2; beyond++) {
        uint32_t out[1 + GROUP] = {0}, in[4] = {5, 6, 7, 8}, what[2] = {(uint32_t)p[0], 3};
        if (beyond) what[1] = 4;
        char message[1024] = "";
        cf_call call = {.file = "generic.metal", .kernel = "overrun", .grid = {GROUP, 1, 1}, .group = {GROUP, 1, 1}};
        call.standard = "metal4.1";
        cf_buffer(&call, 0, out, sizeof out);
        cf_buffer(&call, 1, in, sizeof in);
        cf_bytes(&call, 2, what, sizeof what);
        cf_threadgroup(&call, 0, GROUP * 4);
        if (beyond && strcmp(tombac_device_name(cf_device(t)), "check") != 0) continue;
        tombac_status status = cf_try(t, &call, message, sizeof message);
        if (status != (beyond ? TOMBAC_ERROR_KERNEL : TOMBAC_OK) || (beyond && !strstr(message, wanted[p[0] & 3])))
            cf_fail(t, "element %u: %s: %s", what[1], tombac_status_name(status), message);
        if (!beyond && p[0] == 4) cf_equal(t, TOMBAC_TYPE_U32, &(uint32_t){7}, &in[3], 1, "what was written");
    }
}

static void run_wrong_cast(cf_test *t, const int *p)
{
    uint32_t out[8] = {0};
    char message[512];
    uint32_t threads = p[0] ? 8 : 5;
    cf_call call = {
        .file = "generic.metal", .kernel = "wrong_cast", .grid = {threads, 1, 1}, .group = {8, 1, 1}};
    call.standard = "metal4.1";
    cf_buffer(&call, 0, out, sizeof out);
    tombac_status status = cf_try(t, &call, message, sizeof message);
    if (!p[0] && status != TOMBAC_OK) cf_fail(t, "a right cast fails: %s", message);
    if (p[0] && status == TOMBAC_OK) cf_fail(t, "a wrong cast is not reported");
    if (p[0] && status != TOMBAC_OK &&
        !strstr(message, "static_cast<device uint*> of a pointer to other memory"))
        cf_fail(t, "the message is: %s", message);
}

void cf_family_generic(cf_suite *suite)
{
    cf_add(suite, run_combine, CF_P(0), "generic.members.metal4_0");
    cf_add(suite, run_combine, CF_P(1), "generic.members.metal4_1");
    cf_add(suite, run_rotations, CF_P(0), "generic.rotations.metal4_0");
    cf_add(suite, run_rotations, CF_P(1), "generic.rotations.metal4_1");
    cf_add(suite, run_spaces, CF_P(0), "generic.spaces");
    cf_add(suite, run_choice, CF_P(0), "generic.choice");
    for (int how = 0; how < 6; how++)
        if (how != 3)
            cf_add(suite, run_overrun, CF_P(how), "generic.overrun.%s.%s", how & 4 ? "write" : "read",
                how % 4 == 0 ? "device" : how % 4 == 1 ? "threadgroup" : "thread");
    cf_add(suite, run_wrong_cast, CF_P(0), "generic.cast.right");
    cf_add(suite, run_wrong_cast, CF_P(1), "generic.cast.wrong");
}
