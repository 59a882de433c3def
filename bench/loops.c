/* The cases' algorithms as a C programmer would write them: plain loops, compiled by the system's compiler
 * with -O3 -march=native -fopenmp-simd, once with C's floating point (the reference for every result) and
 * once with -ffast-math, which is closer to what Metal's default mode allows. LOOPS is the name of the
 * look-up function of this build. */
#include "bench.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void saxpy(void *const *b, const bench_scalar *s)
{
    const float *restrict x = b[0];
    float *restrict y = b[1];
    float alpha = s[0].f;
    for (uint32_t i = 0; i < s[1].u; i++) y[i] = alpha * x[i] + y[i];
}

static void copy4(void *const *b, const bench_scalar *s)
{
    memcpy(b[1], b[0], (size_t)s[0].u * 16);
}

static void mandelbrot(void *const *b, const bench_scalar *s)
{
    int32_t *counts = b[0];
    uint32_t width = s[3].u;
    int32_t limit = s[4].i;
    for (uint32_t row = 0; row < 512; row++) {
        for (uint32_t column = 0; column < width; column++) {
            float cx = s[0].f + (float)column * s[2].f, cy = s[1].f + (float)row * s[2].f;
            float x = 0, y = 0;
            int32_t count = 0;
            while (count < limit && x * x + y * y < 4.0f) {
                float next = x * x - y * y + cx;
                y = 2.0f * x * y + cy;
                x = next;
                count++;
            }
            counts[row * width + column] = count;
        }
    }
}

/* The order of the loops that suits caches and vectors. */
static void matmul(void *const *b, const bench_scalar *s)
{
    const float *restrict left = b[0], *restrict right = b[1];
    float *restrict product = b[2];
    size_t n = s[0].u;
    for (size_t i = 0; i < n; i++) {
        float *restrict row = product + i * n;
        for (size_t j = 0; j < n; j++) row[j] = 0;
        for (size_t k = 0; k < n; k++) {
            float a = left[i * n + k];
            for (size_t j = 0; j < n; j++) row[j] += a * right[k * n + j];
        }
    }
}

/* The right matrix is converted once: a conversion in the inner loop costs more than the product. */
static void matmul_half(void *const *b, const bench_scalar *s)
{
    const _Float16 *restrict left = b[0], *restrict right = b[1];
    float *restrict product = b[2];
    size_t n = s[0].u;
    float *restrict wide = malloc(n * n * sizeof *wide);
    if (!wide) return; /* the result stays wrong, which is noticed */
    for (size_t i = 0; i < n * n; i++) wide[i] = (float)right[i];
    for (size_t i = 0; i < n; i++) {
        float *restrict row = product + i * n;
        for (size_t j = 0; j < n; j++) row[j] = 0;
        for (size_t k = 0; k < n; k++) {
            float a = (float)left[i * n + k];
            for (size_t j = 0; j < n; j++) row[j] += a * wide[k * n + j];
        }
    }
    free(wide);
}

static inline float distribution(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial =
        k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228f * expf(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

static void black_scholes(void *const *b, const bench_scalar *s)
{
    const float *restrict price = b[0], *restrict strike = b[1], *restrict years = b[2];
    float *restrict call = b[3], *restrict put = b[4];
    float rate = s[0].f, volatility = s[1].f;
    for (uint32_t i = 0; i < 65536; i++) {
        float p = price[i], x = strike[i], t = years[i];
        float deviation = volatility * sqrtf(t);
        float d1 = (logf(p / x) + (rate + 0.5f * volatility * volatility) * t) / deviation;
        float n1 = distribution(d1), n2 = distribution(d1 - deviation);
        float discounted = x * expf(-rate * t);
        call[i] = p * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - p * (1.0f - n1);
    }
}

static void nbody(void *const *b, const bench_scalar *s)
{
    const float *restrict body = b[0];
    float *restrict out = b[1];
    uint32_t n = s[0].u;
    float softening = s[1].f;
    for (uint32_t i = 0; i < n; i++) {
        float hx = body[4 * i], hy = body[4 * i + 1], hz = body[4 * i + 2], x = 0, y = 0, z = 0;
#pragma omp simd reduction(+ : x, y, z)
        for (uint32_t j = 0; j < n; j++) {
            float dx = body[4 * j] - hx, dy = body[4 * j + 1] - hy, dz = body[4 * j + 2] - hz;
            float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + softening);
            float scale = body[4 * j + 3] * inverse * inverse * inverse;
            x += dx * scale;
            y += dy * scale;
            z += dz * scale;
        }
        out[4 * i] = x;
        out[4 * i + 1] = y;
        out[4 * i + 2] = z;
        out[4 * i + 3] = 0;
    }
}

static void histogram(void *const *b, const bench_scalar *s)
{
    const uint8_t *image = b[0];
    uint32_t *bins = b[1];
    for (uint32_t i = 0; i < 2097152; i++) bins[image[i]]++;
}

static void sort16(void *const *b, const bench_scalar *s)
{
    const float *in = b[0];
    float *out = b[1];
    uint32_t n = s[0].u;
    for (uint32_t i = 0; i < n; i++) {
        float values[16];
        for (uint32_t k = 0; k < 16; k++) values[k] = in[i + k * n];
        for (int k = 1; k < 16; k++) {
            float value = values[k];
            int at = k;
            while (at > 0 && values[at - 1] > value) {
                values[at] = values[at - 1];
                at--;
            }
            values[at] = value;
        }
        out[i] = values[7] + 2.0f * values[8];
    }
}

static int32_t multi_exit_one(int32_t value, int32_t steps)
{
    int32_t sum = 0;
    if (value == 7777) return -1;
    for (int32_t k = 0; k < steps; k++) {
        if (value & 1) {
            value = value * 3 + 1;
            if (value > 100000) break;
        } else {
            value /= 2;
            if (value % 5 == 0) {
                sum += 2;
                continue;
            }
        }
        if (value == 1) {
            if (sum > 50) return sum * 1000;
            break;
        }
        for (int32_t q = 0; q < (value & 3); q++) {
            sum += q * value;
            if (sum > (1 << 20)) {
                sum -= 1 << 20;
                goto next;
            }
        }
        sum ^= k;
    next:;
    }
    return sum + value;
}

static void multi_exit(void *const *b, const bench_scalar *s)
{
    const int32_t *in = b[0];
    int32_t *out = b[1];
    for (uint32_t i = 0; i < 65536; i++) out[i] = multi_exit_one(in[i], s[0].i);
}

static void branchy(void *const *b, const bench_scalar *s)
{
    const float *restrict in = b[0];
    float *restrict out = b[1];
    for (uint32_t i = 0; i < 262144; i++) {
        float x = in[i], sum = 0;
        for (int k = 0; k < 32; k++) {
            if (x > 0.5f) {
                if (x > 0.75f)
                    sum += x * x;
                else
                    sum -= x;
                x = x * 1.75f - 0.5f;
            } else if (x > 0.25f) {
                for (int q = 0; q < 4; q++) sum += sqrtf(x + (float)q);
                x += 0.3125f;
            } else {
                x = x * 2.25f + 0.125f;
            }
            if (x > 2.0f) x -= 2.0f;
        }
        out[i] = sum;
    }
}

static void reduce(void *const *b, const bench_scalar *s)
{
    const float *restrict in = b[0];
    float *restrict sums = b[1];
    for (uint32_t group = 0; group < 4096; group++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (uint32_t i = 0; i < 256; i++) sum += in[group * 256 + i];
        sums[group] = sum;
    }
}

static void softmax(void *const *b, const bench_scalar *s)
{
    uint32_t columns = s[0].u;
    for (uint32_t row = 0; row < 128; row++) {
        const float *restrict x = (const float *)b[0] + (size_t)row * columns;
        float *restrict y = (float *)b[1] + (size_t)row * columns;
        float top = -FLT_MAX, sum = 0;
#pragma omp simd reduction(max : top)
        for (uint32_t i = 0; i < columns; i++) top = x[i] > top ? x[i] : top;
#pragma omp simd reduction(+ : sum)
        for (uint32_t i = 0; i < columns; i++) {
            y[i] = expf(x[i] - top);
            sum += y[i];
        }
        float scale = 1.0f / sum;
        for (uint32_t i = 0; i < columns; i++) y[i] *= scale;
    }
}

static void layer_norm(void *const *b, const bench_scalar *s)
{
    const float *restrict weights = b[1], *restrict biases = b[2];
    uint32_t columns = s[0].u;
    for (uint32_t row = 0; row < 256; row++) {
        const float *restrict x = (const float *)b[0] + (size_t)row * columns;
        float *restrict y = (float *)b[3] + (size_t)row * columns;
        float sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
        for (uint32_t i = 0; i < columns; i++) sum += x[i];
        float mean = sum / (float)columns;
#pragma omp simd reduction(+ : square)
        for (uint32_t i = 0; i < columns; i++) square += (x[i] - mean) * (x[i] - mean);
        float scale = 1.0f / sqrtf(square / (float)columns + s[1].f);
        for (uint32_t i = 0; i < columns; i++) y[i] = (x[i] - mean) * scale * weights[i] + biases[i];
    }
}

static void conv3x3(void *const *b, const bench_scalar *s)
{
    const float *restrict in = b[0], *restrict w = b[1];
    float *restrict out = b[2];
    size_t width = s[0].u;
    for (size_t row = 0; row < 1024; row++) {
        const float *r0 = in + row * (width + 2), *r1 = r0 + width + 2, *r2 = r1 + width + 2;
        for (size_t i = 0; i < width; i++) {
            out[row * width + i] = w[0] * r0[i] + w[1] * r0[i + 1] + w[2] * r0[i + 2] + w[3] * r1[i] +
                                   w[4] * r1[i + 1] + w[5] * r1[i + 2] + w[6] * r2[i] + w[7] * r2[i + 1] +
                                   w[8] * r2[i + 2];
        }
    }
}

/* The network, with its two directions as loops of their own. */
static void bitonic(void *const *b, const bench_scalar *s)
{
    memcpy(b[1], b[0], 1024 * 1024);
    for (uint32_t group = 0; group < 256; group++) {
        uint32_t *keys = (uint32_t *)b[1] + group * 1024;
        for (uint32_t size = 2; size <= 1024; size *= 2) {
            for (uint32_t distance = size / 2; distance > 0; distance /= 2) {
                for (uint32_t first = 0; first < 1024; first += 2 * distance) {
                    bool descending = (first & size) != 0;
                    uint32_t *restrict low = keys + first, *restrict high = low + distance;
                    for (uint32_t i = 0; i < distance; i++) {
                        uint32_t least = low[i] < high[i] ? low[i] : high[i];
                        uint32_t most = low[i] < high[i] ? high[i] : low[i];
                        low[i] = descending ? most : least;
                        high[i] = descending ? least : most;
                    }
                }
            }
        }
    }
}

static void scan(void *const *b, const bench_scalar *s)
{
    const float *in = b[0];
    float *out = b[1];
    uint32_t columns = s[0].u;
    for (uint32_t row = 0; row < 256; row++) {
        float sum = 0;
        for (uint32_t i = 0; i < columns; i++) {
            sum += in[row * columns + i];
            out[row * columns + i] = sum;
        }
    }
}

static void matvec_q4_0(void *const *b, const bench_scalar *s)
{
    const uint8_t *weights = b[0];
    const float *restrict x = b[1];
    float *restrict y = b[2];
    uint32_t blocks = s[0].u / 32;
    for (uint32_t row = 0; row < 2048; row++) {
        float total = 0;
        for (uint32_t i = 0; i < blocks; i++) {
            const uint8_t *w = weights + ((size_t)row * blocks + i) * 18;
            _Float16 scale;
            memcpy(&scale, w, 2);
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (uint32_t j = 0; j < 16; j++) {
                sum += (float)((w[2 + j] & 15) - 8) * x[i * 32 + j] +
                       (float)((w[2 + j] >> 4) - 8) * x[i * 32 + 16 + j];
            }
            total += (float)scale * sum;
        }
        y[row] = total;
    }
}

/* One query with the keys in blocks of 32. */
static void attend(const float *restrict q, const float *restrict k, const float *restrict v,
    float *restrict out, uint32_t keys)
{
    float top = -FLT_MAX, sum = 0, o[64] = {0};
    for (uint32_t first = 0; first < keys; first += 32) {
        float p[32], new_top = top;
        for (uint32_t j = 0; j < 32; j++) {
            float score = 0;
#pragma omp simd reduction(+ : score)
            for (uint32_t d = 0; d < 64; d++) score += q[d] * 0.125f * k[(first + j) * 64 + d];
            p[j] = score;
            new_top = score > new_top ? score : new_top;
        }
        float shrink = expf(top - new_top);
        sum *= shrink;
        for (uint32_t d = 0; d < 64; d++) o[d] *= shrink;
        for (uint32_t j = 0; j < 32; j++) p[j] = expf(p[j] - new_top);
        for (uint32_t j = 0; j < 32; j++) {
            sum += p[j];
            for (uint32_t d = 0; d < 64; d++) o[d] += p[j] * v[(first + j) * 64 + d];
        }
        top = new_top;
    }
    for (uint32_t d = 0; d < 64; d++) out[d] = o[d] / sum;
}

static void flash_attention(void *const *b, const bench_scalar *s)
{
    size_t keys = s[0].u, queries = s[1].u;
    for (size_t head = 0; head < 8; head++) {
        for (size_t query = 0; query < queries; query++) {
            size_t row = (head * queries + query) * 64;
            attend((const float *)b[0] + row, (const float *)b[1] + head * keys * 64,
                (const float *)b[2] + head * keys * 64, (float *)b[3] + row, s[0].u);
        }
    }
}

bench_loop *LOOPS(const char *name)
{
    static const struct {
        const char *name;
        bench_loop *loop;
    } loops[] = {{"saxpy", saxpy}, {"copy4", copy4}, {"mandelbrot", mandelbrot}, {"matmul_naive", matmul},
        {"matmul_tiled16", matmul}, {"matmul_tiled32", matmul}, {"matmul_simdgroup", matmul},
        {"matmul_simdgroup_half", matmul_half}, {"black_scholes", black_scholes}, {"nbody", nbody},
        {"histogram", histogram}, {"histogram_local", histogram}, {"sort16", sort16},
        {"multi_exit", multi_exit}, {"branchy", branchy}, {"reduce_tree", reduce}, {"reduce_simd", reduce},
        {"softmax", softmax}, {"layer_norm", layer_norm}, {"conv3x3", conv3x3}, {"bitonic", bitonic},
        {"scan", scan}, {"matvec_q4_0", matvec_q4_0}, {"flash_attention", flash_attention}};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (strcmp(loops[i].name, name) == 0) return loops[i].loop;
    return NULL;
}
