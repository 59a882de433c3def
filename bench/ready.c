/* tombac-bench-ready [--threads N] [--rounds N] [--processor-time] [NAME]: the ready kernels
 * (tombac/algorithms.h) against plain loops of the host and qsort, on a million elements. Both take turns;
 * the fastest round counts. Results are compared by the tests, not here. */
#include "tombac/algorithms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 1 << 20, SIDE = 1 << 10, MATRIX = 512, BODIES = 4096 };

static tombac_algorithms *ready;
static tombac_buffer *x, *y, *words, *sorted, *values, *bytes, *bins, *small;
static float *a, *b;
static uint32_t *u, *v;
static unsigned char *c;
static tombac_error *error;

/* ---- The ready kernels ---- */

#define READY(NAME, CALL)                                                                                    \
    static tombac_status ready_##NAME(void)                                                                  \
    {                                                                                                        \
        return CALL;                                                                                         \
    }
READY(map, tombac_map_apply(ready, TOMBAC_MAP_EXP, TOMBAC_TYPE_F32, x, y, N, NULL, &error))
READY(reduce, tombac_reduce(ready, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_F32, x, small, N, NULL, &error))
READY(scan, tombac_scan(ready, TOMBAC_TYPE_F32, true, x, y, N, NULL, &error))
READY(histogram, tombac_histogram(ready, TOMBAC_TYPE_U8, bytes, bins, N, 256, NULL, &error))
READY(compact, tombac_compact(ready, TOMBAC_TYPE_F32, x, bytes, y, small, N, NULL, &error))
READY(transpose, tombac_transpose(ready, TOMBAC_TYPE_F32, x, y, SIDE, SIDE, NULL, &error))
READY(matmul, tombac_matmul(ready, TOMBAC_TYPE_F32, x, x, y, MATRIX, MATRIX, MATRIX, NULL, &error))
READY(
    matmul_half, tombac_matmul(ready, TOMBAC_TYPE_F16, bytes, bytes, y, MATRIX, MATRIX, MATRIX, NULL, &error))
READY(convolve, tombac_convolve(ready, x, small, y, (tombac_convolution){SIDE, SIDE, 5, 5}, NULL, &error))
READY(fft, tombac_fft(ready, false, x, y, N / 2, NULL, &error))
READY(stencil, tombac_stencil_heat(ready, x, SIDE, SIDE, 0.2f, 2, NULL, &error))
READY(nbody, tombac_nbody(ready, x, y, BODIES, 0.01f, 0.0f, 1, NULL, &error))

/* Sorts must begin with unsorted keys: a copy is part of both sides. */
static tombac_status sort(tombac_buffer *with)
{
    tombac_status status = tombac_scan(ready, TOMBAC_TYPE_U32, true, words, sorted, N, NULL, &error);
    return status == TOMBAC_OK ? tombac_sort(ready, TOMBAC_TYPE_U32, sorted, with, N, NULL, &error) : status;
}
READY(sort, sort(NULL))
READY(sort_pairs, sort(values))

/* ---- The same by the host ---- */

static void host_map(void)
{
    for (size_t i = 0; i < N; i++) b[i] = expf(a[i]);
}
static void host_reduce(void)
{
    float sum = 0;
    for (size_t i = 0; i < N; i++) sum += a[i];
    b[0] = sum;
}
static void host_scan(void)
{
    float sum = 0;
    for (size_t i = 0; i < N; i++) b[i] = sum += a[i];
}
static void host_histogram(void)
{
    memset(v, 0, 1024);
    for (size_t i = 0; i < N; i++) v[c[i]]++;
}
static void host_compact(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < N; i++)
        if (c[i]) b[kept++] = a[i];
}
static void host_transpose(void)
{
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++) b[j * SIDE + i] = a[i * SIDE + j];
}
static void host_matmul(void)
{
    memset(b, 0, MATRIX * MATRIX * sizeof *b);
    for (size_t i = 0; i < MATRIX; i++)
        for (size_t k = 0; k < MATRIX; k++)
            for (size_t j = 0; j < MATRIX; j++) b[i * MATRIX + j] += a[i * MATRIX + k] * a[k * MATRIX + j];
}
static void host_convolve(void)
{
    for (size_t p = 2; p < SIDE - 2; p++)
        for (size_t q = 2; q < SIDE - 2; q++) {
            float sum = 0;
            for (size_t j = 0; j < 5; j++)
                for (size_t i = 0; i < 5; i++) sum += a[j * 5 + i] * a[(p + 2 - j) * SIDE + q + 2 - i];
            b[p * SIDE + q] = sum;
        }
}
static void host_stencil(void)
{
    for (int step = 0; step < 2; step++) {
        const float *in = step ? b : a;
        float *out = step ? a : b;
        for (size_t p = 1; p < SIDE - 1; p++)
            for (size_t q = 1; q < SIDE - 1; q++) {
                size_t i = p * SIDE + q;
                out[i] = in[i] + 0.2f * (in[i - 1] + in[i + 1] + in[i - SIDE] + in[i + SIDE] - 4 * in[i]);
            }
    }
}
static void host_nbody(void)
{
    for (size_t i = 0; i < BODIES; i++) {
        float s[3] = {0, 0, 0};
        for (size_t j = 0; j < BODIES; j++) {
            float d[3], square = 0.01f;
            for (int k = 0; k < 3; k++)
                square += (d[k] = a[4 * j + k] - a[4 * i + k]) * (a[4 * j + k] - a[4 * i + k]);
            float inverse = 1 / sqrtf(square), pull = a[4 * j + 3] * inverse * inverse * inverse;
            for (int k = 0; k < 3; k++) s[k] += pull * d[k];
        }
        for (int k = 0; k < 3; k++) b[4 * i + k] = s[k];
    }
}
/* In place, of radix 2, with a table of factors in `b`'s second half. */
static void host_fft(void)
{
    enum { COUNT = N / 2 };
    float *z = b, *factors = b + N / 2 * 2 - COUNT;
    memcpy(z, a, COUNT * sizeof *z); /* COUNT / 2 numbers twice: the same work */
    for (int half = 0; half < 2; half++)
        for (size_t n = COUNT / 2, size = 2; size <= n; size *= 2)
            for (size_t first = 0; first < n; first += size)
                for (size_t k = 0; k < size / 2; k++) {
                    float *p = z + 2 * (first + k), *q = p + size,
                          *w = factors + (k * (n / size)) % (COUNT / 2) * 2;
                    float re = q[0] * w[0] - q[1] * w[1], im = q[0] * w[1] + q[1] * w[0];
                    q[0] = p[0] - re;
                    q[1] = p[1] - im;
                    p[0] += re;
                    p[1] += im;
                }
}
static int compare(const void *p, const void *q)
{
    uint32_t s = *(const uint32_t *)p, t = *(const uint32_t *)q;
    return (s > t) - (s < t);
}
static void host_sort(void)
{
    memcpy(v, u, N * sizeof *v);
    qsort(v, N, sizeof *v, compare);
}

static const struct {
    const char *name, *peer;
    tombac_status (*ready)(void);
    void (*host)(void);
} rows[] = {{"map exp", "expf in a loop", ready_map, host_map},
    {"reduce sum", "loop", ready_reduce, host_reduce}, {"scan", "loop", ready_scan, host_scan},
    {"histogram", "loop", ready_histogram, host_histogram}, {"sort", "qsort", ready_sort, host_sort},
    {"sort pairs", "qsort of keys", ready_sort_pairs, host_sort},
    {"compact", "loop", ready_compact, host_compact}, {"transpose", "loops", ready_transpose, host_transpose},
    {"matmul", "loops", ready_matmul, host_matmul},
    {"matmul half", "loops of floats", ready_matmul_half, host_matmul},
    {"convolve 5x5", "loops", ready_convolve, host_convolve}, {"fft", "radix 2", ready_fft, host_fft},
    {"stencil", "loops", ready_stencil, host_stencil}, {"nbody", "loops", ready_nbody, host_nbody}};

static clockid_t measured = CLOCK_MONOTONIC;

/* The processor time of threads that still run is not counted yet: let them come to rest first. */
static double now(void)
{
    struct timespec t = {.tv_nsec = 200000};
    if (measured == CLOCK_PROCESS_CPUTIME_ID) nanosleep(&t, NULL);
    clock_gettime(measured, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void check(tombac_status status)
{
    if (status == TOMBAC_OK) return;
    fprintf(stderr, "bench: %s\n", tombac_error_message(error));
    exit(1);
}

static void *memory(size_t size)
{
    void *made = aligned_alloc(64, size);
    if (!made) exit(1);
    return made;
}

static void prepare(void)
{
    tombac_device *device = NULL;
    a = memory(4 * N);
    b = memory(4 * N);
    u = memory(4 * N);
    v = memory(4 * N);
    c = memory(N);
    uint64_t state = 1;
    for (size_t i = 0; i < N; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        u[i] = v[i] = (uint32_t)(state >> 32);
        a[i] = b[i] = (float)(state >> 40) * 0x1p-24f;
        c[i] = (unsigned char)(state >> 56 & 0x3b); /* also as half: no NaN */
    }
    check(tombac_device_open("cpu", &device, &error));
    check(tombac_algorithms_create(device, &ready, &error));
    check(tombac_buffer_create(device, 4 * N, a, &x, &error));
    check(tombac_buffer_create(device, 4 * N, NULL, &y, &error));
    check(tombac_buffer_create(device, 4 * N, u, &words, &error));
    check(tombac_buffer_create(device, 4 * N, NULL, &sorted, &error));
    check(tombac_buffer_create(device, 4 * N, u, &values, &error));
    check(tombac_buffer_create(device, N, c, &bytes, &error));
    check(tombac_buffer_create(device, 1024, NULL, &bins, &error));
    check(tombac_buffer_create(device, 100, NULL, &small, &error));
}

int main(int count, char **arguments)
{
    const char *threads = "1", *only = NULL;
    int rounds = 15;
    for (int i = 1; i < count; i++) {
        if (!strcmp(arguments[i], "--threads") && i + 1 < count)
            threads = arguments[++i];
        else if (!strcmp(arguments[i], "--rounds") && i + 1 < count)
            rounds = atoi(arguments[++i]);
        else if (!strcmp(arguments[i], "--processor-time"))
            measured = CLOCK_PROCESS_CPUTIME_ID;
        else
            only = arguments[i];
    }
    setenv("TOMBAC_THREADS", threads, 1);
    prepare();
    printf("%-14s %10s %10s %8s   peer\n", "ready kernel", "ms", "peer ms", "x");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (only && !strstr(rows[r].name, only)) continue;
        double best[2] = {INFINITY, INFINITY};
        for (int i = 0; i < rounds; i++) {
            double start = now();
            check(rows[r].ready());
            double middle = now();
            rows[r].host();
            double end = now();
            best[0] = fmin(best[0], middle - start);
            best[1] = fmin(best[1], end - middle);
        }
        printf("%-14s %10.3f %10.3f %8.2f   %s\n", rows[r].name, best[0] * 1e3, best[1] * 1e3,
            best[1] / best[0], rows[r].peer);
        fflush(stdout);
    }
    return 0;
}
