/* Ready kernels on matrices, images, signals and bodies; see test_algorithms.c. */
#include "harness.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_transpose(size_t rows, size_t columns)
{
    size_t n = rows * columns;
    for (size_t size = 2; size <= 4; size += 2) { /* half, float: bits */
        unsigned char *x = allocate(n * size), *expected = allocate(n * size), *got = allocate(n * size);
        tombac_error *error = NULL;
        for (size_t i = 0; i < n * size; i++) x[i] = (unsigned char)next_random();
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < columns; c++)
                memcpy(expected + (c * rows + r) * size, x + (r * columns + c) * size, size);
        tombac_buffer *in = buffer_of(x, n * size), *out = buffer_of(NULL, n * size);
        succeeded(tombac_transpose(ready, size == 2 ? TOMBAC_TYPE_F16 : TOMBAC_TYPE_F32, in, out, rows,
                      columns, NULL, &error),
            &error, "transpose");
        take(in, NULL, 0);
        take(out, got, n * size);
        equal("transpose", rows, expected, got, n * size, size);
        free(x);
        free(expected);
        free(got);
    }
}

/* A small whole number as half: exact. */
static uint16_t half_of(int x)
{
    int magnitude = x < 0 ? -x : x, exponent = 0;
    if (!magnitude) return 0;
    while (magnitude >> (exponent + 1)) exponent++;
    return (uint16_t)((x < 0) << 15 | (exponent + 15) << 10 | (magnitude << (10 - exponent) & 0x3ff));
}

/* Whole numbers, so that every order of summation is exact. */
static void test_matmul(size_t m, size_t n, size_t k, bool half)
{
    int *a = allocate(m * k * sizeof *a), *b = allocate(k * n * sizeof *b);
    void *x = allocate(m * k * 4), *y = allocate(k * n * 4);
    float *expected = allocate(m * n * 4), *got = allocate(m * n * 4);
    tombac_error *error = NULL;
    size_t size = half ? 2 : 4;
    for (size_t i = 0; i < m * k; i++) a[i] = (int)(next_random() % 31) - 15;
    for (size_t i = 0; i < k * n; i++) b[i] = (int)(next_random() % 31) - 15;
    for (size_t i = 0; i < m * k; i++)
        if (half)
            ((uint16_t *)x)[i] = half_of(a[i]);
        else
            ((float *)x)[i] = (float)a[i];
    for (size_t i = 0; i < k * n; i++)
        if (half)
            ((uint16_t *)y)[i] = half_of(b[i]);
        else
            ((float *)y)[i] = (float)b[i];
    for (size_t r = 0; r < m; r++)
        for (size_t d = 0; d < k; d++)
            for (size_t c = 0; c < n; c++) expected[r * n + c] += (float)(a[r * k + d] * b[d * n + c]);
    tombac_buffer *left = buffer_of(x, m * k * size), *right = buffer_of(y, k * n * size),
                  *out = buffer_of(NULL, m * n * 4);
    succeeded(tombac_matmul(
                  ready, half ? TOMBAC_TYPE_F16 : TOMBAC_TYPE_F32, left, right, out, m, n, k, NULL, &error),
        &error, "matmul");
    take(left, NULL, 0);
    take(right, NULL, 0);
    take(out, got, m * n * 4);
    equal(half ? "matmul of halves" : "matmul", n, expected, got, m * n * 4, 4);
    free(a);
    free(b);
    free(x);
    free(y);
    free(expected);
    free(got);
}

static void test_convolve(tombac_convolution s)
{
    size_t n = (size_t)s.width * s.height, taps = (size_t)s.filter_width * s.filter_height;
    float *x = allocate(n * 4), *f = allocate(taps * 4), *got = allocate(n * 4);
    double *expected = allocate(n * 8);
    tombac_error *error = NULL;
    for (size_t i = 0; i < n; i++) x[i] = next_unit();
    for (size_t i = 0; i < taps; i++) f[i] = next_unit();
    /* By what each element of the input gives: out[p + q - center] += in[p] f[q]. */
    for (size_t y = 0; y < s.height; y++)
        for (size_t j = 0; j < s.filter_height; j++)
            for (size_t p = 0; p < s.width; p++)
                for (size_t i = 0; i < s.filter_width; i++) {
                    long to_x = (long)(p + i) - (long)(s.filter_width / 2),
                         to_y = (long)(y + j) - (long)(s.filter_height / 2);
                    if (to_x < 0 || to_y < 0 || to_x >= (long)s.width || to_y >= (long)s.height) continue;
                    expected[(size_t)to_y * s.width + (size_t)to_x] +=
                        (double)x[y * s.width + p] * (double)f[j * s.filter_width + i];
                }
    tombac_buffer *in = buffer_of(x, n * 4), *filter = buffer_of(f, taps * 4), *out = buffer_of(NULL, n * 4);
    succeeded(tombac_convolve(ready, in, filter, out, s, NULL, &error), &error, "convolve");
    take(in, NULL, 0);
    take(filter, NULL, 0);
    take(out, got, n * 4);
    close_to("convolve", n, expected, got, n, 1e-6 * (double)(taps + 1));
    free(x);
    free(f);
    free(got);
    free(expected);
}

/* ---- Fourier transforms ---- */

/* One value of the transform, from the definition. */
static double complex term(const float *x, size_t n, size_t k, int sign)
{
    double complex sum = 0;
    for (size_t j = 0; j < n; j++) {
        double angle = sign * 2 * acos(-1) * (double)((uint64_t)j * k % n) / (double)n;
        sum += ((double)x[2 * j] + (double)x[2 * j + 1] * I) * cexp(angle * I);
    }
    return sum;
}

/* All values for small n, some for large; and there and back. */
static void test_fft(size_t n)
{
    float *x = allocate(n * 8), *got = allocate(n * 8), *back = allocate(n * 8);
    tombac_error *error = NULL;
    for (size_t i = 0; i < 2 * n; i++) x[i] = next_unit();
    tombac_buffer *in = buffer_of(x, n * 8), *out = buffer_of(NULL, n * 8), *again = buffer_of(NULL, n * 8);
    succeeded(tombac_fft(ready, false, in, out, n, NULL, &error), &error, "fft");
    succeeded(tombac_fft(ready, true, out, again, n, NULL, &error), &error, "fft backward");
    take(in, NULL, 0);
    take(out, got, n * 8);
    take(again, back, n * 8);
    double root = sqrt((double)n), tolerance = 2e-6 * log2((double)n + 2);
    for (size_t i = 0; i < n; i += n > 5000 ? n / 7 : 1) {
        double complex e = term(x, n, i, -1);
        double off = cabs((double)got[2 * i] + (double)got[2 * i + 1] * I - e) / root;
        if (off <= tolerance) continue;
        fail("fft, n = %zu: value %zu is off by %g", n, i, off);
        break;
    }
    for (size_t i = 0; i < 2 * n; i++) {
        if (fabs((double)back[i] - (double)x[i]) <= 5 * tolerance) continue;
        fail("fft, n = %zu: there and back, value %zu is %g, not %g", n, i, (double)back[i], (double)x[i]);
        break;
    }
    free(x);
    free(got);
    free(back);
}

/* ---- Simulations ---- */

static void test_heat(size_t width, size_t height, size_t steps)
{
    size_t n = width * height;
    float *x = allocate(n * 4), *got = allocate(n * 4);
    double *now = allocate(n * 8), *next = allocate(n * 8), before = 0, after = 0;
    const double rate = 0.2;
    tombac_error *error = NULL;
    for (size_t i = 0; i < n; i++) before += now[i] = (double)(x[i] = next_unit());
    for (size_t s = 0; s < steps; s++) { /* by what flows between neighbours */
        memcpy(next, now, n * 8);
        for (size_t y = 0; y < height; y++)
            for (size_t c = 0; c < width; c++) {
                size_t i = y * width + c;
                double flow = c + 1 < width ? rate * (now[i + 1] - now[i]) : 0;
                next[i] += flow;
                if (c + 1 < width) next[i + 1] -= flow;
                flow = y + 1 < height ? rate * (now[i + width] - now[i]) : 0;
                next[i] += flow;
                if (y + 1 < height) next[i + width] -= flow;
            }
        memcpy(now, next, n * 8);
    }
    tombac_buffer *grid = buffer_of(x, n * 4);
    succeeded(
        tombac_stencil_heat(ready, grid, width, height, (float)rate, steps, NULL, &error), &error, "heat");
    take(grid, got, n * 4);
    close_to("heat", n, now, got, n, 1e-6 * (double)(steps + 1));
    for (size_t i = 0; i < n; i++) after += (double)got[i];
    if (fabs(after - before) > 1e-6 * (double)n + 1e-6) fail("heat, n = %zu: %g became %g", n, before, after);
    free(x);
    free(got);
    free(now);
    free(next);
}

static void test_nbody(size_t n, size_t steps)
{
    float *bodies = allocate(n * 16), *velocities = allocate(n * 16);
    double *p = allocate(n * 32), *v = allocate(n * 32), *a = allocate(n * 32);
    const double softening = 0.01, time = 0.01;
    tombac_error *error = NULL;
    for (size_t i = 0; i < 4 * n; i++) {
        p[i] = (double)(bodies[i] = i % 4 == 3 ? 1.0f / (float)n : next_unit());
        v[i] = (double)(velocities[i] = i % 4 == 3 ? 0 : next_unit());
    }
    tombac_buffer *b = buffer_of(bodies, n * 16), *w = buffer_of(velocities, n * 16);
    succeeded(
        tombac_nbody(ready, b, w, n, (float)softening, (float)time, steps, NULL, &error), &error, "n-body");
    take(b, bodies, n * 16);
    take(w, velocities, n * 16);
    for (size_t s = 0; s < steps; s++) {
        memset(a, 0, n * 32);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) { /* each pair once: the pulls are opposite */
                double d[3], square = softening;
                for (int k = 0; k < 3; k++)
                    square += (d[k] = p[4 * j + k] - p[4 * i + k]) * (p[4 * j + k] - p[4 * i + k]);
                double pull = pow(square, -1.5);
                for (int k = 0; k < 3; k++) {
                    a[4 * i + k] += d[k] * pull * p[4 * j + 3];
                    a[4 * j + k] -= d[k] * pull * p[4 * i + 3];
                }
            }
        for (size_t i = 0; i < 4 * n; i++)
            if (i % 4 != 3) p[i] += time * (v[i] += time * a[i]);
    }
    close_to("n-body: places", n, p, bodies, 4 * n, 1e-5);
    close_to("n-body: velocities", n, v, velocities, 4 * n, 1e-4);
    free(bodies);
    free(velocities);
    free(p);
    free(v);
    free(a);
}

void test_grids(void)
{
    static const size_t few[] = {0, 1, 31, 33, 64, 65}, many[] = {255, 256, 257};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        size_t n = few[i];
        test_transpose(n, n + 3);
        test_matmul(n, n, n, false);
        test_matmul(n, n + 3, 40, i % 2);
        test_convolve((tombac_convolution){(uint32_t)n, (uint32_t)n + 2, 3, 5});
        test_convolve((tombac_convolution){(uint32_t)n, 3, 4, 2});
        test_convolve((tombac_convolution){(uint32_t)n + 2, (uint32_t)n + 4, 3, 3});
        test_convolve((tombac_convolution){(uint32_t)n + 70, 8, 5, 5});
        test_heat(n, n + 1, i);
        test_nbody(n, i % 3);
    }
    static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 8, 12, 100, 128, 255, 256, 257, 1000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) test_fft(lengths[i]);
    test_convolve((tombac_convolution){257, 1, 9, 1});
    if (!large) return;
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        test_transpose(many[i], 257);
        test_matmul(many[i], 256, 255, false);
        test_matmul(256, many[i], 257, true);
        test_convolve((tombac_convolution){(uint32_t)many[i], 200, 7, 7});
        test_heat(many[i], 100, 9);
        test_nbody(many[i], 3);
    }
    test_transpose(1000003, 1);
    test_transpose(1, 1000003);
    test_matmul(1, 1000003, 3, false);
    test_convolve((tombac_convolution){1000003, 1, 15, 1});
    test_heat(1000003, 1, 2);
    test_nbody(2500, 1);
    test_fft(4096);
    test_fft(8192);
    test_fft(1000003);
    test_fft(1 << 20);
}
