/* Kernels in C: mathematics against the host's library in double, integers and vectors against plain loops.
 */
#include "ckernel.h"

#include <math.h>
#include <string.h>

enum { N = 96, FUNCTIONS = 24 };

static double model_function(int f, double x, double y)
{
    int e;
    double w;
    switch (f) {
    case 0:
    case 15: return sin(x);
    case 1:
    case 17: return cos(x);
    case 2: return tan(x);
    case 3:
    case 16: return exp(x);
    case 4: return exp2(x);
    case 5: return log(y);
    case 6: return log2(y);
    case 7: return log10(y);
    case 8: return atan(x);
    case 9: return atan2(x, y);
    case 10: return pow(y, x);
    case 11: return tanh(x);
    case 12: return sinh(x);
    case 13: return cosh(x);
    case 14: return asinh(x);
    case 18: frexp(y, &e); return e;
    case 19: modf(x, &w); return w;
    case 20: return fmod(x, y);
    case 21: return ldexp(x, 3);
    case 22: return 1 / sqrt(y);
    default: return sqrt(y);
    }
}

static void fill(float *x, float *y)
{
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i - N / 2) * 0.0937f;
        y[i] = (float)(i + 1) * 0.121f;
    }
}

static void run_functions(cf_test *t, const int *p)
{
    float x[N], y[N], *got = cf_alloc(t, N * FUNCTIONS * 4);
    double *expected = cf_alloc(t, N * FUNCTIONS * 8);
    fill(x, y);
    for (int f = 0; f < FUNCTIONS; f++)
        for (int i = 0; i < N; i++) expected[f * N + i] = model_function(f, (double)x[i], (double)y[i]);
    cf_call call = ck_call(t, (ck_form)p[0], "numbers", "functions", N, 32);
    cf_buffer(&call, 0, x, sizeof x);
    cf_buffer(&call, 1, y, sizeof y);
    cf_buffer(&call, 2, got, N * FUNCTIONS * 4);
    if (ck_run(t, (ck_form)p[0], &call)) cf_close(t, expected, got, N * FUNCTIONS, 16, 0, "function * 96 + thread");
}

static void run_extra(cf_test *t, const int *p)
{
    float x[N], y[N], *got = cf_alloc(t, N * 24);
    double *expected = cf_alloc(t, N * 48);
    fill(x, y);
    for (int i = 0; i < N; i++) {
        double u = (double)x[i], v = (double)y[i];
        double values[6] = {cbrt(u), expm1(u), log1p(v), erf(u), hypot(u, v), tgamma(v)};
        for (int f = 0; f < 6; f++) expected[f * N + i] = values[f];
    }
    cf_call call = ck_call(t, CK_C, "extra", "functions_of_c", N, 32);
    cf_buffer(&call, 0, x, sizeof x);
    cf_buffer(&call, 1, y, sizeof y);
    cf_buffer(&call, 2, got, N * 24);
    if (ck_run(t, (ck_form)p[0], &call)) cf_close(t, expected, got, N * 6, 16, 0, "function * 96 + thread");
}

/* ---- Vectors: values are multiples of 1/4, squares of sums are chosen to have exact roots where it matters
 * ---- */

static void model_vectors(
    int i, const float *v, const float *add, float *packed, float out[5][4], double half[4])
{
    float w[4] = {1, 2, 0, 0};
    for (int k = 0; k < 4; k++) out[0][k] = v[3 - k] * 2 + w[k];
    float u[4] = {v[1], v[1] + add[1], v[3], (float)i};
    memcpy(out[1], u, sizeof u);
    packed[0] += v[1] * 2 - v[2] * 0;
    packed[1] += v[2] * 1 - v[0] * 2;
    packed[2] += v[0] * 0 - v[1] * 1;
    float dot = 0;
    for (int k = 0; k < 4; k++) dot += v[k] * add[k];
    out[2][0] = dot;
    out[2][1] = sqrtf(v[0] * v[0] + v[1] * v[1]);
    out[2][2] = fmaxf(v[1], add[1]);
    out[2][3] = fminf(v[2], add[2]);
    for (int k = 0; k < 4; k++) out[3][k] = sqrtf(fabsf(v[k])) + floorf(v[k]);
    out[3][0] += v[0] < -1 ? -1 : v[0] > 1 ? 1 : v[0];
    out[3][3] += v[0] < v[1] ? 1 : 2;
    double halves[4] = {v[0] * 2, v[1] * 2, 4, v[3] * 2};
    memcpy(half, halves, sizeof halves);
    int first = i / 32 * 32, sum = 0;
    for (int k = first; k < first + 32; k++) sum += k;
    float last[4] = {(float)(i + i + 1), (float)(2 + i), 12, (float)sum};
    memcpy(out[4], last, sizeof last);
}

static void run_vectors(cf_test *t, const int *p)
{
    enum { COUNT = 64 };
    float in[COUNT][4], *expected = cf_alloc(t, COUNT * 80), *got = cf_alloc(t, COUNT * 80);
    float packed[COUNT][3], got_packed[COUNT][3], add[4] = {0.5f, -1.25f, 3, 2};
    uint16_t halves[COUNT][4], got_halves[COUNT][4];
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < 4; k++) in[i][k] = (float)((i * 7 + k * 5) % 41 - 20) * 0.25f;
        for (int k = 0; k < 3; k++) got_packed[i][k] = packed[i][k] = (float)(i + k);
        float out[5][4];
        double half[4];
        model_vectors(i, in[i], add, packed[i], out, half);
        for (int f = 0; f < 5; f++) memcpy(expected + (f * COUNT + i) * 4, out[f], 16);
        for (int k = 0; k < 4; k++) halves[i][k] = cf_half_from_double(half[k]);
    }
    cf_call call = ck_call(t, (ck_form)p[0], "vectors", "vectors", COUNT, 32);
    cf_buffer(&call, 0, in, sizeof in);
    cf_buffer(&call, 1, got, COUNT * 80);
    cf_buffer(&call, 2, got_packed, sizeof got_packed);
    cf_buffer(&call, 3, got_halves, sizeof got_halves);
    cf_bytes(&call, 4, add, sizeof add);
    if (!ck_run(t, (ck_form)p[0], &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected, got, COUNT * 20, "component");
    cf_equal(t, TOMBAC_TYPE_F32, packed, got_packed, COUNT * 3, "packed component");
    cf_equal(t, TOMBAC_TYPE_F16, halves, got_halves, COUNT * 4, "half component");
}

/* ---- Integers, in 128 bits ---- */

typedef __int128 wide;

static wide saturate(wide x, unsigned bits, bool is_signed)
{
    wide low = is_signed ? -((wide)1 << (bits - 1)) : 0;
    wide high = is_signed ? ((wide)1 << (bits - 1)) - 1 : ((wide)1 << bits) - 1;
    return x < low ? low : x > high ? high : x;
}

/* x as the type reads its low bits. */
static wide wrap(wide x, unsigned bits, bool is_signed)
{
    wide low = x & (((wide)1 << bits) - 1);
    return is_signed && low >> (bits - 1) ? low - ((wide)1 << bits) : low;
}

static wide model_integer(int f, wide x, wide y, unsigned bits, bool is_signed)
{
    wide ones = ((wide)1 << bits) - 1, u = x & ones, result = 0;
    switch (f) {
    case 0: return saturate(x + y, bits, is_signed);
    case 1: return saturate(x - y, bits, is_signed);
    case 2:
        return is_signed || bits < 64 ? (x * y) >> bits
                                      : (wide)(((unsigned __int128)x * (unsigned __int128)y) >> 64);
    case 3: return x < y ? y - x : x - y;
    case 4: return (x + y) >> 1;
    case 5: return (u << 5 | u >> (bits - 5)) & ones;
    case 6:
        for (unsigned i = 0; i < bits; i++) result |= (u >> i & 1) << (bits - 1 - i);
        return result;
    case 7: return wrap(u >> 3 & 15, 4, is_signed);
    case 8: return (u & ~(wide)28) | ((y & 7) << 2);
    default:
        for (unsigned i = 0; i < bits; i++) result += u >> i & 1;
        for (unsigned i = bits; i-- > 0 && !(u >> i & 1);) result++;
        for (unsigned i = 0; i < bits && !(u >> i & 1); i++) result++;
        return result;
    }
}

static void run_integer(cf_test *t, const int *p)
{
    const ck_type *type = &ck_types[p[1]];
    size_t size = tombac_type_size(type->type);
    unsigned bits = (unsigned)size * 8;
    bool is_signed = p[1] % 2 == 0;
    char *x = cf_alloc(t, N * size), *y = cf_alloc(t, N * size), *expected = cf_alloc(t, N * 10 * size),
         *got = cf_alloc(t, N * 10 * size);
    uint64_t seed = 21;
    for (size_t i = 0; i < N; i++) {
        uint64_t a = i == 0 ? 0 : cf_random(&seed) >> (i % 3 ? 0 : 64 - bits / 2), b = cf_random(&seed);
        memcpy(x + i * size, &a, size);
        memcpy(y + i * size, &b, size);
        for (int f = 0; f < 10; f++) {
            wide value =
                model_integer(f, wrap(a, bits, is_signed), wrap(b, bits, is_signed), bits, is_signed);
            uint64_t low = (uint64_t)value;
            memcpy(expected + ((size_t)f * N + i) * size, &low, size);
        }
    }
    char kernel[32];
    snprintf(kernel, sizeof kernel, "integer_%s", type->name);
    cf_call call = ck_call(t, (ck_form)p[0], "numbers", kernel, N, 32);
    cf_buffer(&call, 0, x, N * size);
    cf_buffer(&call, 1, y, N * size);
    cf_buffer(&call, 2, got, N * 10 * size);
    if (ck_run(t, (ck_form)p[0], &call)) cf_equal(t, type->type, expected, got, N * 10, "function * 96 + thread");
}

void ck_numbers(cf_suite *suite)
{
    char name[64];
    ck_add_everywhere(suite, run_functions, 0, 0, "functions");
    cf_add(suite, run_extra, CF_P(CK_C), "ckernel.extra.c");
    ck_add(suite, run_vectors, 0, 0, "vectors");
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "integer.%s", ck_types[i].name);
        ck_add_everywhere(suite, run_integer, i, 0, name);
    }
}
