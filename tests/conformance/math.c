/* Math functions against glibc's in double (long double where that is not enough), with the bounds of the
 * Metal specification: table 8.2 (precise) and table 8.3 (fast); edge cases by C's Annex F, to which Metal
 * refers. */
#include "conformance.h"

#include <math.h>
#include <string.h>

enum { N = 1024, EDGES = 28 };

typedef enum space { DEFAULT_FAST, DEFAULT_RELAXED, DEFAULT_SAFE, FAST, PRECISE, PRECISE_SAFE, SPACES } space;
static const char *const space_names[SPACES] = {
    "default-fast", "default-relaxed", "default-safe", "fast", "precise", "precise-safe"};

static const float edges[EDGES] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -0.5f, 2.0f, -2.0f, 0.99999994f,
    -0.99999994f, 1.0000001f, 3.1415927f, -1.5707964f, 0x1p-126f, -0x1p-126f, 0x1.fffffep127f,
    -0x1.fffffep127f, (float)INFINITY, -(float)INFINITY, (float)NAN, 0.25f, 88.5f, -87.0f, 16777216.0f,
    8388609.0f, 2.5f, -3.5f, 1e-30f};

/* ---- References ---- */

/* sin(pi x) for any double: the reduction is exact. */
static double sine_pi(double x)
{
    if (!isfinite(x)) return (double)NAN;
    double r = fmod(x, 2);
    if (r > 1) r -= 2;
    if (r < -1) r += 2;
    if (r > 0.5) r = 1 - r;
    if (r < -0.5) r = -1 - r;
    return (double)sinl(3.14159265358979323846264338327950288L * r);
}

static double cosine_pi(double x)
{
    double r = fmod(fabs(x), 2);
    return isfinite(x) ? sine_pi(r <= 0.5 ? 0.5 - r : r - 0.5) * (r <= 0.5 ? 1 : -1) : (double)NAN;
}

static double tangent_pi(double x)
{
    double c = cosine_pi(x);
    return c == 0 ? copysign(HUGE_VAL, sine_pi(x)) : sine_pi(x) / c;
}

static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}
static double fraction(double x)
{
    double r = x - floor(x);
    return r > 0x1.fffffep-1 ? 0x1.fffffep-1 : r;
}

typedef struct function {
    const char *name;
    double (*reference)(double);
    double low, high;     /* random arguments */
    double precise, fast; /* ulp; fast < 0: an absolute error of -fast */
    double fast_high;     /* fast mode: arguments up to here in magnitude, 0: as above */
} function;

#define SINE_ERROR (-0x1p-13)
#define LOG_ERROR 3
static const function functions[30] = {
    {"acos", acos, -1, 1, 4, 5, 0},
    {"acosh", acosh, 1, 1e6, 4, 5, 0},
    {"asin", asin, -1, 1, 4, 5, 0},
    {"asinh", asinh, -1e4, 1e4, 4, 5, 0},
    {"atan", atan, -50, 50, 5, 5, 0},
    {"atanh", atanh, -1, 1, 5, 5, 0},
    {"ceil", ceil, -1e6, 1e6, 0, 0, 0},
    {"cos", cos, -1e5, 1e5, 4, SINE_ERROR, 3.14},
    {"cosh", cosh, -88, 88, 4, 5, 0},
    {"cospi", cosine_pi, -1000, 1000, 4, SINE_ERROR, 1},
    {"exp", exp, -87, 88, 4, 0, 0},
    {"exp10", exp10, -37, 38, 4, 0, 0},
    {"exp2", exp2, -125, 127, 4, 0, 0},
    {"fabs", fabs, -1e9, 1e9, 0, 0, 0},
    {"floor", floor, -1e6, 1e6, 0, 0, 0},
    {"fract", fraction, -1e4, 1e4, 0.5, 0.5, 0},
    {"log", log, 0, 1e5, 4, LOG_ERROR, 0},
    {"log10", log10, 0, 1e5, 4, LOG_ERROR, 0},
    {"log2", log2, 0, 1e5, 4, LOG_ERROR, 0},
    {"rint", rint, -1e4, 1e4, 0, 0, 0},
    {"round", round, -1e4, 1e4, 0, 0, 0},
    {"rsqrt", reciprocal_root, 0, 1e6, 0.5, 2, 0},
    {"sin", sin, -1e5, 1e5, 4, SINE_ERROR, 3.14},
    {"sinh", sinh, -88, 88, 4, 5, 0},
    {"sinpi", sine_pi, -1000, 1000, 4, SINE_ERROR, 1},
    {"sqrt", sqrt, 0, 1e10, 0.5, 2, 0},
    {"tan", tan, -1e4, 1e4, 6, 0, 1.4},
    {"tanh", tanh, -20, 20, 5, 5, 0},
    {"tanpi", tangent_pi, -100, 100, 6, 0, 0.4},
    {"trunc", trunc, -1e6, 1e6, 0, 0, 0},
};
enum { COS = 7, EXP = 10, EXP10 = 11, EXP2 = 12, FRACT = 15, LOG = 16, LOG2 = 18, TAN = 26, TANPI = 28 };

static bool is_fast(space s)
{
    return s == DEFAULT_FAST || s == DEFAULT_RELAXED || s == FAST;
}

/* Random arguments: half of them spread evenly over the domain, half with evenly spread exponents. */
static float draw(uint64_t *seed, double low, double high)
{
    uint64_t r = cf_random(seed);
    double u = (double)(r >> 11) * 0x1p-53;
    if (r & 1) return (float)(low + (high - low) * u);
    double x = ldexp(1 + u, (int)(r >> 1 & 31) - 24);
    if ((r >> 7 & 1) && low < 0) x = -x;
    return (float)(x < low ? low + u : x > high ? high - u * fmin(1, high - low) : x);
}

/* The allowed errors for function `f` at x: ulps, and an absolute error. */
static double allowed(size_t f, space s, double x, double *absolute)
{
    *absolute = 0;
    if (!is_fast(s)) return functions[f].precise;
    double fast = functions[f].fast;
    if (fast < 0) *absolute = -fast;
    if (f == EXP || f == EXP2) return 3 + floor(fabs(2 * x));
    if (f == EXP10) return 4 + floor(fabs(2 * x * 3.33));
    if (f >= LOG && f <= LOG2 && x >= 0.5 && x <= 2) *absolute = 0x1p-21;
    if (f == TAN || f == TANPI)
        *absolute =
            0x1p-12 * (1 + pow(functions[f].reference(x), 2)) * 1.5; /* sin / cos, each with its error */
    return fast < 0 ? 0 : fast;
}

static tombac_math mode_of(space s)
{
    if (s == DEFAULT_SAFE || s == PRECISE_SAFE) return TOMBAC_MATH_SAFE;
    return s == DEFAULT_RELAXED ? TOMBAC_MATH_RELAXED : TOMBAC_MATH_FAST;
}

static cf_call call_of(const char *kernel, space s, uint32_t n)
{
    return (cf_call){
        .file = "math.metal", .kernel = kernel, .grid = {n, 1, 1}, .group = {128, 1, 1}, .math = mode_of(s)};
}

static const char *kernel_of(space s, bool two)
{
    if (s == FAST) return two ? "two_fast" : "one_fast";
    if (s == PRECISE || s == PRECISE_SAFE) return two ? "two_precise" : "one_precise";
    return two ? "two_default" : "one_default";
}

/* p: function, space, kernel (0 scalar, 1 vector) */
static void run_one(cf_test *t, const int *p)
{
    size_t f = (size_t)p[0];
    space s = (space)p[1];
    const function *d = &functions[f];
    bool narrow = is_fast(s) && d->fast_high != 0;
    double low = narrow ? -d->fast_high : d->low, high = narrow ? d->fast_high : d->high;
    float in[N], got[N] = {0};
    uint64_t seed = 1000 + f;
    for (int i = 0; i < N; i++) in[i] = draw(&seed, low, high);
    uint32_t which = (uint32_t)f;
    cf_call call = call_of(p[2] ? "one_vector" : kernel_of(s, false), s, N);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, 2, &which, 4);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < N; i++) {
        double absolute, ulps = allowed(f, s, (double)in[i], &absolute),
                         expected = d->reference((double)in[i]);
        if (!cf_close(t, &expected, &got[i], 1, ulps < 0.5 ? 0.5 : ulps, absolute, "%s(%.9g)", d->name,
                (double)in[i]))
            return;
    }
}

/* Edge cases in precise functions and in safe mode: values, infinities, NaN, and signs of zeros. */
static void run_one_edges(cf_test *t, const int *p)
{
    size_t f = (size_t)p[0];
    space s = (space)p[1];
    const function *d = &functions[f];
    float got[EDGES] = {0};
    uint32_t which = (uint32_t)f;
    cf_call call = call_of(kernel_of(s, false), s, EDGES);
    cf_buffer(&call, 0, got, sizeof got);
    float in[EDGES];
    memcpy(in, edges, sizeof in);
    cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, 2, &which, 4);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < EDGES; i++) {
        double x = (double)edges[i], expected = d->reference(x);
        if (f == FRACT && isinf(x)) continue;                /* Metal does not say */
        if ((f == TANPI) && fabs(expected) > 1e30) continue; /* poles: sign and kind are open */
        if (!cf_close(
                t, &expected, &got[i], 1, d->precise < 0.5 ? 0.5 : d->precise, 0, "%s(%.9g)", d->name, x))
            return;
        bool open_sign = f == COS + 2 || f == 24 || f == TANPI || f == FRACT; /* cospi, sinpi, tanpi, fract */
        if (expected == 0 && !open_sign && !signbit(expected) != !signbit(got[i])) {
            cf_fail(t, "%s(%g): expected %g, got %g", d->name, x, expected, (double)got[i]);
            return;
        }
    }
}

/* half functions are computed in float and rounded: one unit in half's last place covers that. */
static void run_half(cf_test *t, const int *p)
{
    size_t f = (size_t)p[0];
    const function *d = &functions[f];
    float in[N], got[N] = {0};
    uint64_t seed = 2000 + f;
    uint32_t which = (uint32_t)f;
    for (int i = 0; i < N; i++) {
        double high = fmin(d->high, f == COS || f == 22 || f == TAN ? 1 : 60000),
               low = fmax(d->low, d->low < 0 ? -high : 0);
        double x = cf_half_to_double(cf_half_from_double((double)draw(&seed, low, high)));
        in[i] = (float)(fabs(x) < 0x1p-14 ? 0.5 : x);
    }
    cf_call call = call_of("one_half", DEFAULT_SAFE, N);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, 2, &which, 4);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < N; i++) {
        double x = (double)in[i], exact = d->reference(x),
               nearest = cf_half_to_double(cf_half_from_double(exact));
        if (isinf(nearest) ? (double)got[i] == nearest : isnan(nearest) ? isnan(got[i]) : false) continue;
        int exponent = -13;
        if (exact != 0) frexp(exact, &exponent);
        double unit = ldexp(1, (exponent < -13 ? -13 : exponent) - 11),
               error = fabs((double)got[i] - exact) / unit;
        if (error <= 1) continue;
        cf_fail(t, "%s(half %.6g): expected %.8g, got %.8g (%.3g units of half)", d->name, x, exact,
            (double)got[i], error);
        return;
    }
}

/* ---- Two arguments ---- */

static double largest(double x, double y)
{
    return fmax(x, y);
}
static double smallest(double x, double y)
{
    return fmin(x, y);
}
static double next_float(double x, double y)
{
    return (double)nextafterf((float)x, (float)y);
}
static const struct {
    const char *name;
    double (*reference)(double, double);
    double precise, low, high, y_low, y_high;
    bool fast;
} pairs[9] = {{"atan2", atan2, 6, -100, 100, -100, 100, true},
    {"copysign", copysign, 0, -1e5, 1e5, -1, 1, true}, {"fdim", fdim, 0, -1e4, 1e4, -1e4, 1e4, true},
    {"fmax", largest, 0, -1e9, 1e9, -1e9, 1e9, true}, {"fmin", smallest, 0, -1e9, 1e9, -1e9, 1e9, true},
    {"fmod", fmod, 0, -1e5, 1e5, -100, 100, false}, {"pow", pow, 16, 0, 30, -20, 20, true},
    {"powr", pow, 16, 0, 30, -20, 20, true}, {"nextafter", next_float, 0, -1e5, 1e5, -1e5, 1e5, true}};
enum { ATAN2 = 0, FMAX = 3, FMIN = 4, POW = 6, POWR = 7 };

/* p: function, space */
static void run_two(cf_test *t, const int *p)
{
    size_t f = (size_t)p[0];
    space s = (space)p[1];
    float in[2 * N], got[N] = {0};
    uint64_t seed = 3000 + f;
    uint32_t which = (uint32_t)f;
    for (int i = 0; i < N; i++) {
        in[2 * i] = draw(&seed, pairs[f].low, pairs[f].high);
        in[2 * i + 1] = draw(&seed, pairs[f].y_low, pairs[f].y_high);
    }
    cf_call call = call_of(kernel_of(s, true), s, N);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, 2, &which, 4);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < N; i++) {
        double x = (double)in[2 * i], y = (double)in[2 * i + 1], expected = pairs[f].reference(x, y);
        double ulps = pairs[f].precise < 0.5 ? 0.5 : pairs[f].precise;
        /* fast pow is exp2(y * log2(x)): the error of the logarithm counts y times over */
        if (is_fast(s) && (f == POW || f == POWR)) ulps = 16 + 4 * fabs(y * log2(x)) + 4 * fabs(y) * 2;
        if (is_fast(s) && f == ATAN2) ulps = 8;
        if (is_fast(s) && fabs(expected) > 0x1p127) continue;
        if (!cf_close(t, &expected, &got[i], 1, ulps, 0, "%s(%.9g, %.9g)", pairs[f].name, x, y)) return;
    }
}

static void run_two_edges(cf_test *t, const int *p)
{
    enum { PAIRS = EDGES * EDGES };
    size_t f = (size_t)p[0];
    space s = (space)p[1];
    float in[2 * PAIRS], got[PAIRS] = {0};
    uint32_t which = (uint32_t)f;
    for (int i = 0; i < PAIRS; i++) {
        in[2 * i] = edges[i / EDGES];
        in[2 * i + 1] = edges[i % EDGES];
    }
    cf_call call = call_of(kernel_of(s, true), s, PAIRS);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, 2, &which, 4);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < PAIRS; i++) {
        double x = (double)in[2 * i], y = (double)in[2 * i + 1], expected = pairs[f].reference(x, y);
        if (f == POWR && !(x >= 0 && !signbit(x) && (x > 0 || y != 0) && !isnan(y) && !(isinf(x) && y == 0) &&
                             !(x == 1 && isinf(y))))
            continue;
        if (!cf_close(t, &expected, &got[i], 1, pairs[f].precise < 0.5 ? 0.5 : pairs[f].precise, 0,
                "%s(%.9g, %.9g)", pairs[f].name, x, y))
            return;
        bool open_sign = f == FMAX || f == FMIN || f == POWR; /* fmax(-0, 0) may be either zero */
        if (expected == 0 && got[i] == 0 && !open_sign && !signbit(expected) != !signbit(got[i])) {
            cf_fail(t, "%s(%g, %g): expected %g, got %g", pairs[f].name, x, y, expected, (double)got[i]);
            return;
        }
    }
}

/* ---- The others ---- */

static double between(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}
static double median(double x, double y, double z)
{
    return fmax(fmin(x, y), fmin(fmax(x, y), z));
}

static void expect_others(double *o, double x, double y, double z)
{
    int exponent;
    double whole, s = between(x / 8, 0, 1), m = frexp(x, &exponent), rest = modf(x, &whole);
    const double r[24] = {cf_fma_odd(x, y, z), fmax(x, fmax(y, z)), fmin(x, fmin(y, z)), median(x, y, z),
        between(x, fmin(y, z), fmax(y, z)), between(x, 0, 1),
        x > 0   ? 1
        : x < 0 ? -1
                : 0,
        y < x ? 0 : 1, x + (y - x) * 0.25, fmax(x, y), fmin(x, y), fabs(x), m, exponent, rest, whole,
        ldexp(x, (int)y), x == 0 ? 0 : ilogb(x), z > 0 ? y : x, s * s * (3 - 2 * s), x / y, x * y + z,
        fmax(x, fmax(y, z)), median(trunc(x), trunc(y), trunc(z))};
    memcpy(o, r, sizeof r);
}

/* p: math mode */
static void run_others(cf_test *t, const int *p)
{
    float in[4 * N], *got = cf_alloc(t, sizeof(float[32]) * N);
    uint64_t seed = 4000;
    for (int i = 0; i < 4 * N; i++) in[i] = draw(&seed, -40, 40);
    for (int i = 0; i < N; i += 7) in[4 * i] = (float)(i % 5) - 2;
    cf_call call = call_of("others", p[0] ? DEFAULT_SAFE : DEFAULT_FAST, N);
    cf_buffer(&call, 0, got, sizeof(float[32]) * N);
    cf_buffer(&call, 1, in, sizeof in);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < N; i++) {
        double e[24], x = (double)in[4 * i], y = (double)in[4 * i + 1], z = (double)in[4 * i + 2];
        expect_others(e, x, y, z);
        for (int k = 0; k < 24; k++) {
            double absolute = k == 8    ? 4e-6
                              : k == 19 ? 3e-7
                              : k == 21 ? (fabs(x * y) + fabs(z)) * 0x1p-23
                                        : 0,
                   ulps = k == 20 && !p[0] ? 2.5 : 0.5;
            if (!cf_close(t, &e[k], &got[32 * i + k], 1, ulps, absolute, "result %d of (%.9g, %.9g, %.9g)", k,
                    x, y, z))
                return;
        }
    }
}

static void run_sincos(cf_test *t, const int *p)
{
    float in[N], got[4 * N] = {0};
    uint64_t seed = 5000;
    for (int i = 0; i < N; i++) in[i] = draw(&seed, -3.1, 3.1);
    cf_call call = call_of("sine_and_cosine", DEFAULT_FAST, N);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < N; i++) {
        const double e[4] = {sin((double)in[i]), cos((double)in[i]), sin((double)in[i]), cos((double)in[i])};
        if (!cf_close(t, e, got + 4 * i, 2, 4, 0, "precise sincos(%.9g)", (double)in[i])) return;
        if (!cf_close(t, e + 2, got + 4 * i + 2, 2, 0, 0x1p-13, "sincos(%.9g)", (double)in[i])) return;
    }
}

static uint32_t relations_of(float x, float y)
{
    bool nan = isnan(x) || isnan(y);
    const bool r[19] = {isnan(x), isinf(x), isfinite(x), isnormal(x), signbit(x) != 0, !nan, nan,
        x<y, x <= y, x == y, x != y, x> y, x >= y, isnan(x), isfinite(x) && isfinite(y),
        !isinf(x) && !isinf(y), x != 0, x == 0, isnan(x)};
    uint32_t bits = 0;
    for (int i = 0; i < 19; i++) bits |= (uint32_t)r[i] << i;
    return bits;
}

static void run_relations(cf_test *t, const int *p)
{
    enum { PAIRS = EDGES * EDGES };
    float in[2 * PAIRS];
    uint32_t expected[PAIRS], got[PAIRS] = {0};
    for (int i = 0; i < PAIRS; i++) {
        in[2 * i] = edges[i / EDGES];
        in[2 * i + 1] = edges[i % EDGES];
        expected[i] = relations_of(in[2 * i], in[2 * i + 1]);
    }
    cf_call call = call_of("relations", (space)p[0], PAIRS);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call))
        cf_equal(t, TOMBAC_TYPE_U32, expected, got, PAIRS, "bits for pair (%d edges)", EDGES);
}

static double dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void expect_geometry(double *o, const double *a, const double *b)
{
    double d[3], na[3], nb[3], la = sqrt(dot3(a, a)), lb = sqrt(dot3(b, b));
    for (int k = 0; k < 3; k++) {
        d[k] = a[k] - b[k];
        na[k] = a[k] / la;
        nb[k] = b[k] / lb;
    }
    double ab = dot3(a, b), cosine = dot3(na, nb), rest = 1 - 0.25 * (1 - cosine * cosine);
    const double head[6] = {ab, la, dot3(a, a), sqrt(dot3(d, d)), dot3(d, d), a[0] * b[1] + a[1] * b[2]};
    memcpy(o, head, sizeof head);
    for (int k = 0; k < 3; k++) {
        int u = (k + 1) % 3, v = (k + 2) % 3;
        o[6 + k] = a[u] * b[v] - a[v] * b[u];
        o[9 + k] = na[k];
        o[12 + k] = a[k] - 2 * dot3(nb, a) * nb[k];
        o[15 + k] = ab < 0 ? a[k] : -a[k]; /* faceforward(n, i, nref) with i = b, nref = a */
        o[18 + k] = rest < 0 ? 0 : 0.5 * na[k] - (0.5 * cosine + sqrt(rest)) * nb[k];
        o[21 + k] = a[k] * b[k] + a[k];
    }
}

static void run_geometry(cf_test *t, const int *p)
{
    enum { M = 300 };
    float in[6 * M], got[24 * M] = {0};
    uint64_t seed = 6000;
    for (int i = 0; i < 6 * M; i++) in[i] = (float)((double)(int32_t)cf_random(&seed) * 1e-8);
    cf_call call = call_of("geometry", DEFAULT_SAFE, M);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < M; i++) {
        double a[3], b[3], e[24], scale = 0;
        for (int k = 0; k < 3; k++) {
            a[k] = (double)in[6 * i + k];
            b[k] = (double)in[6 * i + 3 + k];
            scale += a[k] * a[k] + b[k] * b[k];
        }
        expect_geometry(e, a, b);
        if (!cf_close(t, e, got + 24 * i, 24, 4, 2e-6 * (1 + scale), "results for pair %d", i)) return;
    }
}

/* ---- Packing: scaled, clamped, rounded to the nearest even integer ---- */

static uint32_t normalised(double v, int bits, bool is_signed)
{
    double top = is_signed ? ldexp(1, bits - 1) - 1 : ldexp(1, bits) - 1;
    double clamped = isnan(v) ? 0 : between(v, is_signed ? -1 : 0, 1);
    return (uint32_t)(int32_t)rint(clamped * top) & (uint32_t)(ldexp(1, bits) - 1);
}

static double expanded(uint32_t word, int shift, int bits, bool is_signed)
{
    int64_t v = word >> shift & (uint32_t)(ldexp(1, bits) - 1);
    if (is_signed && v >> (bits - 1)) v -= (int64_t)1 << bits;
    return fmax((double)v / (ldexp(1, is_signed ? bits - 1 : bits) - 1), -1);
}

static void expect_packing(uint32_t *o, double *u, const float *in, uint32_t word)
{
    memset(o, 0, 6 * sizeof *o);
    for (int k = 0; k < 4; k++) {
        double v = (double)in[k], h = cf_half_to_double(cf_half_from_double(v));
        o[0] |= normalised(v, 8, false) << 8 * k;
        o[1] |= normalised(v, 8, true) << 8 * k;
        o[k < 2 ? 2 : 3] |= normalised(v, 16, k > 1) << 16 * (k % 2);
        o[4] |= normalised((double)(float)h, 8, false) << 8 * k;
        o[5] |= normalised(v, k < 3 ? 10 : 2, false) << 10 * k;
        u[k] = u[12 + k] = expanded(word, 8 * k, 8, false);
        u[4 + k] = expanded(word, 8 * k, 8, true);
        u[8 + k] = expanded(word, 16 * (k % 2), 16, k > 1);
        u[16 + k] = expanded(word, 10 * k, k < 3 ? 10 : 2, false);
        double c = u[k];
        u[20 + k] = k == 3 ? c : c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
}

static void run_packing(cf_test *t, const int *p)
{
    enum { M = 400 };
    float in[4 * M], unpacked[24 * M] = {0};
    uint32_t words[M], expected[6 * M], got[6 * M] = {0};
    double exact[24 * M];
    uint64_t seed = 7000;
    for (int i = 0; i < M; i++) {
        words[i] = (uint32_t)cf_random(&seed);
        for (int k = 0; k < 4; k++) /* multiples of 1/1024: no value is near a rounding tie of 255, 127,
                                       65535, 1023 or 3 by accident */
            in[4 * i + k] = (float)((int)(cf_random(&seed) % 3072) - 1024) / 1024.0f;
        expect_packing(expected + 6 * i, exact + 24 * i, in + 4 * i, words[i]);
    }
    cf_call call = call_of("packing", DEFAULT_SAFE, M);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    cf_buffer(&call, 2, unpacked, sizeof unpacked);
    cf_buffer(&call, 3, words, sizeof words);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_U32, expected, got, 6 * M, "packed (6 per thread)");
    for (int i = 0; i < 24 * M; i++)
        if (!cf_close(t, &exact[i], &unpacked[i], 1, 4,
                i % 24 / 4 == 3   ? 0x1p-11
                : i % 24 / 4 == 5 ? 1e-6
                                  : 0,
                "unpacked %d: component", i % 24))
            return;
}

/* Every float on GPUs, where rsqrt has code of its own (src/compiler/cuda/root.c); a million elsewhere. */
static void run_inverse_roots(cf_test *t, const int *p)
{
    (void)p;
    bool all = !strncmp(tombac_device_name(cf_device(t)), "cuda", 4);
    uint32_t threads = all ? 1 << 20 : 1 << 10, count = all ? 1 << 12 : 1 << 10, step = all ? 1 : 1 << 12;
    uint32_t zero = 0, wrong = 0, none = 0;
    cf_call call = {.file = "math.metal",
        .kernel = "inverse_roots",
        .math = TOMBAC_MATH_FAST,
        .grid = {threads, 1, 1},
        .group = {256, 1, 1}};
    cf_buffer(&call, 0, &wrong, sizeof wrong);
    cf_buffer(&call, 1, &zero, sizeof zero);
    cf_bytes(&call, 2, &count, sizeof count);
    cf_bytes(&call, 3, &step, sizeof step);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, &none, &wrong, 1, "wrong inverses of roots");
}

void cf_family_math(cf_suite *suite)
{
    for (int s = 0; s < SPACES; s++) {
        for (int f = 0; f < 30; f++)
            cf_add(suite, run_one, CF_P(f, s, 0), "math.%s.%s", space_names[s], functions[f].name);
        for (int f = 0; f < 9; f++)
            if (pairs[f].fast || !is_fast((space)s))
                cf_add(suite, run_two, CF_P(f, s), "math.%s.%s", space_names[s], pairs[f].name);
    }
    static const space exact[2] = {DEFAULT_SAFE, PRECISE_SAFE};
    for (int e = 0; e < 2; e++) {
        const char *space_name = space_names[exact[e]];
        for (int f = 0; f < 30; f++)
            cf_add(suite, run_one_edges, CF_P(f, (int)exact[e]), "math.edges.%s.%s", space_name,
                functions[f].name);
        for (int f = 0; f < 9; f++)
            cf_add(
                suite, run_two_edges, CF_P(f, (int)exact[e]), "math.edges.%s.%s", space_name, pairs[f].name);
    }
    for (int f = 0; f < 30; f++) {
        cf_add(suite, run_one, CF_P(f, DEFAULT_SAFE, 1), "math.vector.%s", functions[f].name);
        cf_add(suite, run_half, CF_P(f), "math.half.%s", functions[f].name);
    }
    cf_add(suite, run_others, CF_P(1), "math.others.safe");
    cf_add(suite, run_others, CF_P(0), "math.others.fast");
    cf_add(suite, run_sincos, CF_P(0), "math.sincos");
    cf_add(suite, run_relations, CF_P(DEFAULT_SAFE), "math.relations.safe");
    cf_add(suite, run_relations, CF_P(DEFAULT_RELAXED), "math.relations.relaxed");
    cf_add(suite, run_geometry, CF_P(0), "math.geometry");
    cf_add(suite, run_packing, CF_P(0), "math.packing");
    cf_add(suite, run_inverse_roots, CF_P(0), "math.inverse-roots");
}
