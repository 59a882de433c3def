/* The discrete Fourier transform of n complex numbers (float2: real, imaginary part):
 *
 *     out[k] = sum over j of in[j] e^(sign 2 pi i j k / n),    sign -1 forward, +1 backward
 *
 * n a power of two: T. G. Stockham's form of the fast Fourier transform, which sorts itself. A launch per
 * stage of radix 4, and one of radix 2 where the exponent is odd; a stage reads one buffer and writes
 * another. With `done` the product of the radices so far, thread i combines n / 4 apart what the stages
 * before left in order (C. Van Loan, "Computational frameworks for the fast Fourier transform", 1992, 1.7).
 *
 * Any other n: L. I. Bluestein's method, 1970. As j k = (j^2 + k^2 - (k - j)^2) / 2, the transform is a
 * convolution with the chirp c[j] = e^(-sign i pi j^2 / n), which is a product of transforms of a power of
 * two m >= 2 n - 1. The square is taken modulo 2 n in whole numbers, so that large j lose no accuracy. */
#include <math.h>
#include <tombac/kernel.h>

static float2 multiply(float2 a, float2 b)
{
    return (float2){fmaf(a.x, b.x, -(a.y * b.y)), fmaf(a.x, b.y, a.y * b.x)};
}

/* e^(i pi x) */
static float2 on_circle(float x)
{
    return (float2){cospi(x), sinpi(x)};
}

kernel requires(len(in) >= n, len(out) >= n) void fft_radix2(
    const float2 *restrict in, float2 *restrict out, uint n, uint done, float sign)
{
    uint i = thread_position_in_grid().x;
    if (i >= n / 2) return;
    uint k = i & (done - 1);
    float2 a = in[i], b = multiply(in[i + n / 2], on_circle(sign * (float)k / (float)done));
    uint to = (i - k) * 2 + k;
    out[to] = a + b;
    out[to + done] = a - b;
}

kernel requires(len(in) >= n, len(out) >= n) void fft_radix4(
    const float2 *restrict in, float2 *restrict out, uint n, uint done, float sign)
{
    uint i = thread_position_in_grid().x, quarter = n / 4;
    if (i >= quarter) return;
    uint k = i & (done - 1);
    float2 w1 = on_circle(sign * (float)k / (float)(2 * done)), w2 = multiply(w1, w1), w3 = multiply(w1, w2);
    float2 a = in[i], b = multiply(in[i + quarter], w1);
    float2 c = multiply(in[i + 2 * quarter], w2), d = multiply(in[i + 3 * quarter], w3);
    float2 even = a + c, odd = a - c, sum = b + d, difference = b - d;
    float2 turned = (float2){-sign * difference.y, sign * difference.x}; /* sign i times the difference */
    uint to = (i - k) * 4 + k;
    out[to] = even + sum;
    out[to + done] = odd + turned;
    out[to + 2 * done] = even - sum;
    out[to + 3 * done] = odd - turned;
}

/* out = factor in, for the backward transform's 1 / n, and to copy. */
kernel requires(len(in) >= n, len(out) >= n) void fft_scale(
    const float2 *in, float2 *out, uint n, float factor)
{
    uint i = thread_position_in_grid().x;
    if (i < n) out[i] = in[i] * factor;
}

/* ---- Bluestein ---- */

/* e^(sign i pi j^2 / n) */
static float2 chirp(uint j, uint n, float sign)
{
    ulong square = (ulong)j * j % (2 * (ulong)n);
    /* the quotient in two steps: the first 24 bits of an angle near 2 would be lost to the whole turn */
    long rest = square > n ? (long)square - 2 * (long)n : (long)square;
    return on_circle(sign * (float)rest / (float)n);
}

/* The input times the chirp, and zeros up to m; and the chirp that it is to be convolved with, around 0. */
kernel requires(len(in) >= n, len(a) >= m, len(b) >= m) void fft_chirp(
    const float2 *in, float2 *a, float2 *b, uint n, uint m, float sign)
{
    uint j = thread_position_in_grid().x;
    if (j >= m) return;
    a[j] = j < n ? multiply(in[j], chirp(j, n, sign)) : (float2){0, 0};
    uint distance = min(j, m - j);
    b[j] = distance < n ? chirp(distance, n, -sign) : (float2){0, 0};
}

kernel requires(len(a) >= m, len(b) >= m) void fft_product(float2 *a, const float2 *b, uint m)
{
    uint j = thread_position_in_grid().x;
    if (j < m) a[j] = multiply(a[j], b[j]);
}

/* out = the convolution times the chirp. */
kernel requires(len(a) >= n, len(out) >= n) void fft_unchirp(
    const float2 *a, float2 *out, uint n, float factor, float sign)
{
    uint k = thread_position_in_grid().x;
    if (k < n) out[k] = multiply(a[k] * factor, chirp(k, n, sign));
}
