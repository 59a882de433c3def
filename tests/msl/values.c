/* Runs the library's functions, compiled for this machine (values.cpp), on edge cases and seeded random
 * arguments, and compares with independent computations: integers in 128-bit arithmetic, floats through
 * double or libm, halves through gcc's _Float16. The operations that engines provide are stand-ins from libm;
 * their accuracy is not the subject here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef _Float16 half;
typedef __int128 wide;

/* ---- Stand-ins for operations ---- */
#define OPERATION(TYPE, NAME, LABEL, ...) TYPE NAME(__VA_ARGS__) __asm__(LABEL)
OPERATION(float, op_exp, "__tombac_exp.f32", float);
OPERATION(float, op_sin, "__tombac_sin.f32", float);
OPERATION(float, op_log2, "__tombac_log2.f32", float);
OPERATION(float, op_rsqrt, "__tombac_rsqrt.f32", float);
OPERATION(float, op_pow, "__tombac_pow.f32", float, float);
OPERATION(float, op_fmod, "__tombac_fmod.f32", float, float);
OPERATION(float, op_nextafter, "__tombac_nextafter.f32", float, float);
OPERATION(float, op_powr, "__tombac_precise_powr.f32", float, float);
OPERATION(float, op_sincos, "__tombac_sincos.f32", float, float *);
OPERATION(float, op_frexp, "__tombac_frexp.f32", float, int *);
OPERATION(float, op_ldexp, "__tombac_ldexp.f32", float, int);
OPERATION(uint32_t, op_row, "__tombac_matrix_row", void);
OPERATION(uint32_t, op_column, "__tombac_matrix_column", void);
float op_exp(float x) { return expf(x); }
float op_sin(float x) { return sinf(x); }
float op_log2(float x) { return log2f(x); }
float op_rsqrt(float x) { return (float)(1.0 / sqrt((double)x)); }
float op_pow(float x, float y) { return powf(x, y); }
float op_fmod(float x, float y) { return fmodf(x, y); }
float op_nextafter(float x, float y) { return nextafterf(x, y); }
float op_powr(float x, float y) { return powf(x, y); }
float op_sincos(float x, float *c)
{
    *c = cosf(x);
    return sinf(x);
}
float op_frexp(float x, int *e) { return frexpf(x, e); }
float op_ldexp(float x, int k) { return ldexpf(x, k); }
static unsigned lane;
uint32_t op_row(void) { return ((lane / 4) & 4) + (lane / 2) % 4; }
uint32_t op_column(void) { return ((lane / 4) & 2) * 2 + (lane % 2) * 2; }

/* ---- Arguments ---- */
static uint64_t state = 0x9e3779b97f4a7c15u;
static uint64_t next_random(void) /* xorshift64* */
{
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du;
}
enum { COUNT = 4096 };
static const float edges[] = {0.0f,       -0.0f,       0.5f,        -0.5f,        1.5f,     -1.5f,
                              2.5f,       -2.5f,       0.49999997f, -0.49999997f, 1.0f,     -1.0f,
                              8388607.5f, -8388607.5f, 8388609.0f,  3.4e38f,      -3.4e38f, 1e-45f,
                              -1e-45f,    1e-39f,      INFINITY,    -INFINITY,    NAN,      65504.0f,
                              65520.0f,   6e-8f,       0.99999994f, -1e-10f,      1024.5f,  2048.5f};
enum { EDGES = sizeof edges / sizeof *edges };
/* Edges, then random bit patterns, then random numbers of moderate size. */
static void fill_floats(float *x, int shift)
{
    for (int i = 0; i < COUNT; i++) {
        uint32_t bits = (uint32_t)next_random();
        if (i < EDGES * EDGES)
            x[i] = edges[shift ? i / EDGES : i % EDGES];
        else if (i % 2)
            memcpy(&x[i], &bits, 4);
        else
            x[i] = (float)(int32_t)bits / 1048576.0f;
    }
}
static bool same_float(float a, float b) { return (isnan(a) && isnan(b)) || memcmp(&a, &b, 4) == 0; }
static bool same_half(half a, half b) { return (a != a && b != b) || memcmp(&a, &b, 2) == 0; }

/* ---- Floating point ---- */
static double expect_round(double x)
{
    return copysign(fabs(x) >= 4503599627370496.0 ? fabs(x) : floor(fabs(x) + 0.5), x);
}
static double expect_rint(double x)
{
    double below = floor(x), rest = x - below;
    if (!isfinite(x)) return x;
    double r = rest < 0.5 ? below : rest > 0.5 ? below + 1 : fmod(below, 2) == 0 ? below : below + 1;
    return copysign(r, x);
}
static double expect_sign(double x) { return isnan(x) ? 0.0 : x > 0 ? 1.0 : x < 0 ? -1.0 : x; }

#define DECLARE1(NAME)                                                                                       \
    void f_##NAME(const float *x, float *y, int n);                                                          \
    void h_##NAME(const half *x, half *y, int n);
#define DECLARE2(NAME)                                                                                       \
    void f_##NAME(const float *x, const float *y, float *z, int n);                                          \
    void h_##NAME(const half *x, const half *y, half *z, int n);
DECLARE1(floor)
DECLARE1(ceil)
DECLARE1(trunc) DECLARE1(round) DECLARE1(rint) DECLARE1(fract) DECLARE1(sqrt) DECLARE1(fabs) DECLARE1(sign)
    DECLARE1(exp) DECLARE1(sin) DECLARE1(log2) DECLARE2(fmin) DECLARE2(fmax) DECLARE2(copysign)
        DECLARE2(nextafter) DECLARE2(fdim) DECLARE2(fmod) DECLARE2(pow)

            static float x[COUNT],
    y[COUNT], z[COUNT];
static half hx[COUNT], hy[COUNT], hz[COUNT];
static void fill(void)
{
    fill_floats(x, 0);
    fill_floats(y, 1);
    for (int i = 0; i < COUNT; i++) {
        uint16_t bits[2] = {(uint16_t)next_random(), (uint16_t)next_random()};
        if (i < EDGES * EDGES)
            hx[i] = (half)x[i], hy[i] = (half)y[i];
        else
            memcpy(&hx[i], &bits[0], 2), memcpy(&hy[i], &bits[1], 2);
    }
}
static void check1(const char *name, void (*f)(const float *, float *, int),
                   void (*h)(const half *, half *, int), double (*expect)(double))
{
    fill();
    f(x, z, COUNT);
    h(hx, hz, COUNT);
    for (int i = 0; i < COUNT; i++) {
        if (!same_float(z[i], (float)expect((double)x[i]))) fail_msg("%s(%a) = %a", name, x[i], z[i]);
        if (!same_half(hz[i], (half)expect((double)hx[i])))
            fail_msg("half %s(%a) = %a", name, (double)hx[i], (double)hz[i]);
    }
}
static void test_rounding(void **unused)
{
    check1("floor", f_floor, h_floor, floor);
    check1("ceil", f_ceil, h_ceil, ceil);
    check1("trunc", f_trunc, h_trunc, trunc);
    check1("round", f_round, h_round, expect_round);
    check1("rint", f_rint, h_rint, expect_rint);
    check1("sqrt", f_sqrt, h_sqrt, sqrt);
    check1("fabs", f_fabs, h_fabs, fabs);
    check1("sign", f_sign, h_sign, expect_sign);
}
static void test_fract(void **unused)
{
    fill();
    f_fract(x, z, COUNT);
    h_fract(hx, hz, COUNT);
    for (int i = 0; i < COUNT; i++) {
        float ef = (float)((double)x[i] - floor((double)x[i]));
        half eh = (half)((double)hx[i] - floor((double)hx[i]));
        if (ef >= 1.0f) ef = nextafterf(1.0f, 0.0f);
        if (eh >= (half)1) eh = (half)0x1.ffcp-1;
        if (!same_float(z[i], ef)) fail_msg("fract(%a) = %a", x[i], z[i]);
        if (!same_half(hz[i], eh)) fail_msg("half fract(%a) = %a", (double)hx[i], (double)hz[i]);
    }
}
/* min and max: NaN loses; equal zeros may come in either sign. */
static void test_two_arguments(void **unused)
{
    fill();
#define BOTH(NAME, EXPECT, ZERO_FREE)                                                                        \
    f_##NAME(x, y, z, COUNT);                                                                                \
    h_##NAME(hx, hy, hz, COUNT);                                                                             \
    for (int i = 0; i < COUNT; i++) {                                                                        \
        double a = (double)x[i], b = (double)y[i], e = EXPECT;                                               \
        if (!same_float(z[i], (float)e) && !(ZERO_FREE && z[i] == 0 && e == 0))                              \
            fail_msg(#NAME "(%a, %a) = %a", a, b, z[i]);                                                     \
        a = (double)hx[i], b = (double)hy[i], e = EXPECT;                                                    \
        if (!same_half(hz[i], (half)e) && !(ZERO_FREE && hz[i] == 0 && e == 0))                              \
            fail_msg("half " #NAME "(%a, %a) = %a", a, b, (double)hz[i]);                                    \
    }
    BOTH(fmin, isnan(a) ? b : isnan(b) ? a : a < b ? a : b, true)
    BOTH(fmax, isnan(a) ? b : isnan(b) ? a : a > b ? a : b, true)
    BOTH(copysign, copysign(a, b), false)
    BOTH(fmod, fmod(a, b), false)
    BOTH(fdim, isnan(a) || isnan(b) ? (double)NAN : a > b ? a - b : 0.0, false)
}
/* The next half, found by counting through all of them in order. */
static int order_of(half v)
{
    uint16_t bits;
    memcpy(&bits, &v, 2);
    return bits & 0x8000 ? -(bits & 0x7fff) : bits;
}
static void test_nextafter(void **unused)
{
    fill();
    f_nextafter(x, y, z, COUNT);
    h_nextafter(hx, hy, hz, COUNT);
    for (int i = 0; i < COUNT; i++) {
        if (!same_float(z[i], nextafterf(x[i], y[i]))) fail_msg("nextafter(%a, %a) = %a", x[i], y[i], z[i]);
        half a = hx[i], b = hy[i];
        if (a != a || b != b)
            assert_true(hz[i] != hz[i]);
        else
            assert_int_equal(order_of(hz[i]),
                             order_of(a) + (order_of(b) > order_of(a)) - (order_of(b) < order_of(a)));
    }
}
/* One rounding: in long double the sum is exact or so far from the halves' midpoints that it does not matter.
 */
void h_fma(const half *a, const half *b, const half *c, half *r, int n);
void f_fma(const float *a, const float *b, const float *c, float *r, int n);
static void test_fma(void **unused)
{
    static half r[COUNT];
    static float fr[COUNT];
    fill();
    f_fma(x, y, x, fr, COUNT);
    for (int i = 0; i < COUNT; i++) assert_true(same_float(fr[i], fmaf(x[i], y[i], x[i])));
    for (int round = 0; round < 500; round++) {
        for (int i = 0; i < COUNT;
             i++) { /* near each other, so that all digits matter; midpoints are frequent */
            uint16_t bits[3] = {(uint16_t)next_random(), (uint16_t)next_random(), (uint16_t)next_random()};
            if (round % 2) bits[0] = 0x3000 | (bits[0] & 0x8fff), bits[1] = 0x3000 | (bits[1] & 0x8fff);
            if (round % 4 == 1) bits[2] = (bits[2] & 0x83ff) | (uint16_t)(i % 8 << 10);
            memcpy(&hx[i], &bits[0], 2), memcpy(&hy[i], &bits[1], 2), memcpy(&hz[i], &bits[2], 2);
        }
        h_fma(hx, hy, hz, r, COUNT);
        for (int i = 0; i < COUNT; i++) {
            half e = (half)((long double)hx[i] * (long double)hy[i] + (long double)hz[i]);
            if (!same_half(r[i], e))
                fail_msg("fma(%a, %a, %a) = %a", (double)hx[i], (double)hy[i], (double)hz[i], (double)r[i]);
        }
    }
}
/* Half functions are float ones, rounded once. */
static void test_half_through_float(void **unused)
{
    fill();
    h_exp(hx, hz, COUNT);
    for (int i = 0; i < COUNT; i++) assert_true(same_half(hz[i], (half)expf((float)hx[i])));
    h_sin(hx, hz, COUNT);
    for (int i = 0; i < COUNT; i++) assert_true(same_half(hz[i], (half)sinf((float)hx[i])));
    h_log2(hx, hz, COUNT);
    for (int i = 0; i < COUNT; i++) assert_true(same_half(hz[i], (half)log2f((float)hx[i])));
    h_pow(hx, hy, hz, COUNT);
    for (int i = 0; i < COUNT; i++) assert_true(same_half(hz[i], (half)powf((float)hx[i], (float)hy[i])));
}
void vector_forms(const float *in, float *out);
static void test_vector_forms(void **unused)
{
    static const float in[4] = {0.5f, -1.25f, 3.0f, 0.0f};
    float out[24];
    vector_forms(in, out);
    for (int i = 0; i < 4; i++) {
        int e;
        float m = frexpf(in[i], &e);
        const float expected[6] = {expf(in[i]), powf(in[i], 2),  sinf(in[i]), cosf(in[i]),
                                   m,           ldexpf(in[i], e)};
        for (int k = 0; k < 6; k++) assert_true(same_float(out[4 * k + i], expected[k]));
    }
}

/* ---- Integers ---- */
typedef struct integer_type {
    int bits;
    bool is_signed;
    wide low, high;
} integer_type;
static wide wrap(const integer_type *t, wide v)
{
    unsigned __int128 mask = ((unsigned __int128)1 << t->bits) - 1, u = (unsigned __int128)v & mask;
    return t->is_signed && (u >> (t->bits - 1)) ? (wide)u - ((wide)1 << t->bits) : (wide)u;
}
static wide saturate(const integer_type *t, wide v)
{
    return v < t->low ? t->low : v > t->high ? t->high : v;
}
static wide floor_half(wide v) { return v >= 0 ? v / 2 : -((-v + 1) / 2); }
static int bit_of(wide v, int i) { return (int)((unsigned __int128)v >> i & 1); }
enum { RESULTS = 18 };
static void expect_integers(const integer_type *t, wide a, wide b, wide c, uint32_t o, uint32_t n, wide *r)
{
    wide product_high = 0, reversed = 0, extracted = 0, inserted = a;
    int ones = 0, leading = t->bits, trailing = t->bits;
    if (t->bits < 64)
        product_high = (a * b) >> t->bits; /* gcc shifts arithmetically */
    else if (t->is_signed)
        product_high = (a * b) >> 64;
    else
        product_high = (wide)(((unsigned __int128)a * (unsigned __int128)b) >> 64);
    for (int i = 0; i < t->bits; i++) {
        if (bit_of(a, i)) ones++, leading = t->bits - 1 - i, reversed |= (wide)1 << (t->bits - 1 - i);
        if (bit_of(a, i) && trailing == t->bits) trailing = i;
    }
    for (uint32_t i = 0; i < n && o + i < (uint32_t)t->bits; i++) {
        extracted |= (wide)bit_of(a, (int)(o + i)) << i;
        inserted = (inserted & ~((wide)1 << (o + i))) | ((wide)bit_of(b, (int)i) << (o + i));
    }
    uint32_t count = o >= (uint32_t)t->bits ? 0 : n > t->bits - o ? t->bits - o : n;
    if (t->is_signed && count && bit_of(extracted, (int)count - 1)) extracted -= (wide)1 << count;
    int turn = (int)((unsigned __int128)b & (unsigned)(t->bits - 1));
    unsigned __int128 ua = (unsigned __int128)a & (((unsigned __int128)1 << t->bits) - 1);
    wide small = b < c ? b : c, large = b < c ? c : b;
    /* a * b + c does not fit 128 bits for one unsigned case alone, which then saturates anyway */
    bool huge = !t->is_signed && t->bits == 64 && product_high != 0;
    const wide expected[RESULTS] = {saturate(t, a + b),
                                    saturate(t, a - b),
                                    floor_half(a + b),
                                    floor_half(a + b + 1),
                                    product_high,
                                    product_high + c,
                                    huge ? t->high : saturate(t, a * b + c),
                                    a < b ? b - a : a - b,
                                    (wide)(turn ? ua << turn | ua >> (t->bits - turn) : ua),
                                    ones,
                                    leading,
                                    trailing,
                                    reversed,
                                    a < 0 ? -a : a,
                                    extracted,
                                    inserted,
                                    a < small   ? small
                                    : a > large ? large
                                                : a,
                                    a < small   ? small
                                    : a > large ? large
                                                : a};
    for (int i = 0; i < RESULTS; i++) r[i] = wrap(t, expected[i]);
}
static wide random_integer(const integer_type *t)
{
    static const int64_t corner[] = {0, 1, 2, -1, -2, 3, 7};
    uint64_t r = next_random(), kind = r % 4;
    r >>= 2;
    if (kind == 0) return wrap(t, corner[r % 7]);
    if (kind == 1) return r & 1 ? t->low : t->high;
    if (kind == 2) return wrap(t, (wide)(int64_t)next_random() >> (t->bits < 64 ? 0 : 32));
    return wrap(t, (wide)next_random());
}
#define TEST_INTEGER(NAME, T, SIGNED)                                                                        \
    void integer_##NAME(const T *unused, T a, T b, T c, uint32_t o, uint32_t n, T *r);                       \
    static void test_##NAME(void **unused)                                                                   \
    {                                                                                                        \
        integer_type t = {8 * sizeof(T), SIGNED, SIGNED ? -((wide)1 << (8 * sizeof(T) - 1)) : 0, 0};         \
        t.high = SIGNED ? -t.low - 1 : ((wide)1 << t.bits) - 1;                                              \
        for (int i = 0; i < 20000; i++) {                                                                    \
            wide a = random_integer(&t), b = random_integer(&t), c = random_integer(&t), e[RESULTS];         \
            uint32_t o = (uint32_t)(next_random() % 70), n = (uint32_t)(next_random() % 70);                 \
            T r[RESULTS];                                                                                    \
            integer_##NAME(NULL, (T)a, (T)b, (T)c, o, n, r);                                                 \
            expect_integers(&t, a, b, c, o, n, e);                                                           \
            for (int k = 0; k < RESULTS; k++)                                                                \
                if (r[k] != (T)e[k])                                                                         \
                    fail_msg(#NAME " result %d of (%lld, %lld, %lld, %u, %u) is %lld, not %lld", k,          \
                             (long long)a, (long long)b, (long long)c, o, n, (long long)r[k],                \
                             (long long)e[k]);                                                               \
        }                                                                                                    \
    }
TEST_INTEGER(char, int8_t, true)
TEST_INTEGER(uchar, uint8_t, false)
TEST_INTEGER(short, int16_t, true)
TEST_INTEGER(ushort, uint16_t, false)
TEST_INTEGER(int, int32_t, true)
TEST_INTEGER(uint, uint32_t, false)
TEST_INTEGER(long, int64_t, true)
TEST_INTEGER(ulong, uint64_t, false)

/* ---- bfloat: the nearest of all 65536, ties to the even one ---- */
static float widen(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static uint16_t nearest_bfloat(double v)
{
    if (isnan(v)) return 0x7fc0;
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    double m = fabs(v);
    uint16_t low = 0, high = 0x7f80; /* binary search for the last one not above m */
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        if ((double)widen(middle) <= m)
            low = middle;
        else
            high = middle;
    }
    if (isinf(m)) return sign | 0x7f80;
    double next = high == 0x7f80 ? 0x1p128 : (double)widen(high), down = m - (double)widen(low),
           up = next - m;
    return sign | (down < up ? low : up < down ? high : low & 1 ? high : low);
}
static bool same_bfloat(uint16_t a, uint16_t b) { return a == b || (isnan(widen(a)) && isnan(widen(b))); }
void bfloat_from_float(const float *in, uint16_t *out, int n);
void bfloat_arithmetic(const uint16_t *a, const uint16_t *b, uint16_t *out, int n);
static void test_bfloat(void **unused)
{
    static uint16_t a[COUNT], b[COUNT], out[4 * COUNT];
    fill();
    bfloat_from_float(x, out, COUNT);
    for (int i = 0; i < COUNT; i++)
        if (!same_bfloat(out[i], nearest_bfloat((double)x[i]))) fail_msg("bfloat(%a) = %04x", x[i], out[i]);
    for (int i = 0; i < COUNT; i++) a[i] = (uint16_t)next_random(), b[i] = (uint16_t)next_random();
    for (int i = 0; i < 256; i++) a[i] = (uint16_t)(0x3f00 + i), b[i] = (uint16_t)(0x3f80 + i * 3);
    bfloat_arithmetic(a, b, out, COUNT);
    for (int i = 0; i < COUNT; i++) {
        float p = widen(a[i]), q = widen(b[i]);
        const float f[4] = {p + q, p - q, p * q, p / q};
        for (int k = 0; k < 4; k++) assert_true(same_bfloat(out[4 * i + k], nearest_bfloat((double)f[k])));
    }
}

/* ---- Packing ---- */
static uint32_t unorm(float v, double scale)
{
    double c = isnan(v) ? 0 : v < 0 ? 0 : v > 1 ? 1 : (double)v;
    return (uint32_t)expect_rint((double)(float)(c * scale));
}
static uint32_t snorm(float v, double scale, uint32_t mask)
{
    double c = isnan(v) ? 0 : v < -1 ? -1 : v > 1 ? 1 : (double)v;
    return (uint32_t)(int32_t)expect_rint((double)(float)(c * scale)) & mask;
}
static uint32_t srgb(float v)
{
    double c = isnan(v) ? 0 : v < 0 ? 0 : v > 1 ? 1 : (double)v;
    return (uint32_t)expect_rint(255 * (c < 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055));
}
void pack_one(const float *in, uint32_t *out);
void unpack_one(uint32_t in, float *out);
static void test_pack(void **unused)
{
    static const float special[] = {0,         1,    -1,    2,        -2,     NAN,        INFINITY,
                                    -INFINITY, 0.5f, -0.5f, 0.00196f, 1e-30f, 0.0031307f, 0.0031308f};
    for (int i = 0; i < 20000; i++) {
        float v[4];
        uint32_t r[7];
        for (int k = 0; k < 4; k++) {
            uint64_t q = next_random();
            v[k] = q % 3 == 0 ? special[q / 3 % 14] : (float)(int32_t)q / 1.8e9f;
        }
        pack_one(v, r);
        assert_int_equal(r[0], unorm(v[0], 255) | unorm(v[1], 255) << 8 | unorm(v[2], 255) << 16 |
                                   unorm(v[3], 255) << 24);
        assert_int_equal(r[1], snorm(v[0], 127, 255) | snorm(v[1], 127, 255) << 8 |
                                   snorm(v[2], 127, 255) << 16 | snorm(v[3], 127, 255) << 24);
        assert_int_equal(r[2], unorm(v[0], 65535) | unorm(v[1], 65535) << 16);
        assert_int_equal(r[3], snorm(v[0], 32767, 65535) | snorm(v[1], 32767, 65535) << 16);
        assert_int_equal(r[4], unorm(v[0], 1023) | unorm(v[1], 1023) << 10 | unorm(v[2], 1023) << 20 |
                                   unorm(v[3], 3) << 30);
        assert_int_equal(r[5], unorm(v[0], 31) << 11 | unorm(v[1], 63) << 5 | unorm(v[2], 31));
        for (int k = 0; k < 3; k++)
            assert_true(abs((int)(r[6] >> 8 * k & 255) - (int)srgb(v[k])) <=
                        (fabs((double)v[k]) < 1 ? 1 : 0));
        assert_int_equal(r[6] >> 24, unorm(v[3], 255));
    }
}
static float over(double a, double b) { return (float)(a / b); }
static float least(float v) { return v < -1 ? -1 : v; }
static void test_unpack(void **unused)
{
    for (int i = 0; i < 20000; i++) {
        uint32_t u = i == 0 ? 0x80808080u : i == 1 ? 0x80008000u : i == 2 ? ~0u : (uint32_t)next_random();
        float r[24];
        unpack_one(u, r);
        for (int k = 0; k < 4; k++) {
            uint32_t byte = u >> 8 * k & 255;
            assert_true(r[k] == over(byte, 255));
            assert_true(r[4 + k] == least(over((int8_t)byte, 127)));
            assert_true(r[8 + k] == (k < 3 ? over(u >> 10 * k & 1023, 1023) : over(u >> 30, 3)));
            double c = byte / 255.0, linear = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
            assert_true(k == 3 ? r[12 + k] == over(byte, 255) : fabs((double)r[12 + k] - linear) <= 1e-6);
        }
        for (int k = 0; k < 2; k++) {
            assert_true(r[16 + k] == over(u >> 16 * k & 65535, 65535));
            assert_true(r[18 + k] == least(over((int16_t)(u >> 16 * k), 32767)));
        }
        assert_true(r[20] == over(u >> 11 & 31, 31) && r[21] == over(u >> 5 & 63, 63) &&
                    r[22] == over(u & 31, 31));
    }
}

/* ---- Atomics, matrices, geometry ---- */
void atomics_uint(uint32_t *cell, uint32_t v, uint32_t *r);
void atomics_int(int32_t *cell, int32_t *r);
void atomics_float(float *cell, float *r);
static void test_atomics(void **unused)
{
    uint32_t u = 10, ur[11];
    atomics_uint(&u, 5, ur);
    static const uint32_t expected[11] = {10, 15, 12, 7, 12, 8, 13, 14, 99, 0, 99};
    assert_memory_equal(ur, expected, sizeof expected);
    assert_int_equal(u, 1);
    int32_t s = 3, sr[3];
    atomics_int(&s, sr);
    assert_true(sr[0] == 3 && sr[1] == -5 && sr[2] == 4);
    float f = 2.0f, fr[5];
    atomics_float(&f, fr);
    assert_true(fr[0] == 2.0f && fr[1] == 3.5f && fr[2] == 3.25f && fr[3] == 1.0f && fr[4] == 7.0f);
}
void matrix_lane(const float *source, float *destination, uint64_t stride, uint64_t ox, uint64_t oy,
                 int transpose);
static void test_matrix_lanes(void **unused)
{
    enum { STRIDE = 20, SIZE = 400, OX = 3, OY = 5 };
    static float source[SIZE], destination[SIZE];
    for (int i = 0; i < SIZE; i++) source[i] = (float)(i + 1);
    for (int transpose = 0; transpose < 2; transpose++) {
        memset(destination, 0, sizeof destination);
        for (lane = 0; lane < 32; lane++) {
            matrix_lane(source, destination, STRIDE, OX, OY, transpose);
            unsigned row = ((lane / 4) & 4) + (lane / 2) % 4, column = ((lane / 4) & 2) * 2 + (lane % 2) * 2;
            assert_true(destination[0] == (row == column ? 3.0f : 0.0f) &&
                        destination[1] == (row == column + 1 ? 3.0f : 0.0f));
            for (unsigned k = 0; k < 2; k++) { /* this lane's own elements have arrived */
                unsigned r = transpose ? column + k : row, c = transpose ? row : column + k;
                unsigned at = (OY + r) * STRIDE + OX + c;
                assert_true(destination[at] == 2.0f * source[at]);
            }
        }
        for (int i = 2; i < SIZE; i++) { /* together: the whole tile and nothing else */
            int r = i / STRIDE - OY, c = i % STRIDE - OX;
            assert_true(destination[i] == (r >= 0 && r < 8 && c >= 0 && c < 8 ? 2.0f * source[i] : 0.0f));
        }
    }
}
void geometric(const float *in, float *out);
static void test_geometry(void **unused)
{
    static const float in[6] = {0.5f, -0.75f, 0.25f, 1.0f, 2.0f, -2.0f};
    float out[13];
    geometric(in, out);
    double a[3], n[3], d = 0, t = 0, eta = 0.75;
    for (int i = 0; i < 3; i++) a[i] = (double)in[i], n[i] = (double)in[3 + i] / 3.0;
    for (int i = 0; i < 3; i++)
        d += n[i] * a[i], t += (a[i] - (double)in[3 + i]) * (a[i] - (double)in[3 + i]);
    double k = 1 - eta * eta * (1 - d * d),
           expected[13] = {sqrt(0.25 + 0.5625 + 0.0625), sqrt(t), n[0], n[1], n[2]};
    for (int i = 0; i < 3; i++) {
        expected[5 + i] = eta * a[i] - (eta * d + sqrt(k)) * n[i];
        expected[8 + i] = a[i] - 2 * d * n[i];
    }
    expected[11] = (double)(half)sqrt(0.875);
    expected[12] = 0; /* total reflection */
    for (int i = 0; i < 13; i++) assert_true(fabs((double)out[i] - expected[i]) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),      cmocka_unit_test(test_fract),
        cmocka_unit_test(test_two_arguments), cmocka_unit_test(test_nextafter),
        cmocka_unit_test(test_fma),           cmocka_unit_test(test_half_through_float),
        cmocka_unit_test(test_vector_forms),  cmocka_unit_test(test_char),
        cmocka_unit_test(test_uchar),         cmocka_unit_test(test_short),
        cmocka_unit_test(test_ushort),        cmocka_unit_test(test_int),
        cmocka_unit_test(test_uint),          cmocka_unit_test(test_long),
        cmocka_unit_test(test_ulong),         cmocka_unit_test(test_bfloat),
        cmocka_unit_test(test_pack),          cmocka_unit_test(test_unpack),
        cmocka_unit_test(test_atomics),       cmocka_unit_test(test_matrix_lanes),
        cmocka_unit_test(test_geometry)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
