/* <tombac/random.h>: random numbers by counting, for kernels in C, kernels in Metal and host programs alike.
 *
 *     random_stream r = random_start(seed, thread_index_in_grid());
 *     float a = random_float(&r), b = random_normal(&r);
 *
 * A stream is a seed, a number (2^64 streams for each seed; take the thread's index) and a position in it.
 * All three places compute the same bits, also of normal and exponential values, which are made of integer
 * steps, fused multiply-adds and square roots alone. In a kernel with fast floating-point rules a device may
 * take another square root, then normal values may differ in their last bits.
 *
 * Method: Philox4x32-10, a bijection of 128 bits under a key, applied to a counter. J. K. Salmon, M. A.
 * Moraes, R. O. Dror, D. E. Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC11. Each block of 4 words
 * is philox(counter = {block's number: 64 bits, stream: 64 bits}, key = seed). It passes TestU01's BigCrush
 * (there) and SmallCrush (tests/random here).
 *
 * A constant `ulong random_seed` of a kernel need not be bound: every run of the kernel then gets a fresh
 * one. */
#ifndef TOMBAC_RANDOM_H
#define TOMBAC_RANDOM_H

#if defined(__METAL_VERSION__)
#define TOMBAC_RANDOM_FN inline
#define TOMBAC_RANDOM_THREAD thread
#define TOMBAC_RANDOM_FMA(x, y, z) metal::fma((float)(x), (float)(y), (float)(z))
#define TOMBAC_RANDOM_ROOT(x) metal::precise::sqrt(x)
#define TOMBAC_RANDOM_BITS(x) as_type<uint>(x)
#define TOMBAC_RANDOM_FLOAT(x) as_type<float>(x)
#define TOMBAC_RANDOM_HALF half
#elif defined(__TOMBAC_MACROS_ONLY__)
#define TOMBAC_RANDOM_FN static inline
#define TOMBAC_RANDOM_THREAD
#define TOMBAC_RANDOM_FMA(x, y, z) fmaf(x, y, z)
#define TOMBAC_RANDOM_ROOT(x) sqrtf(x)
#define TOMBAC_RANDOM_BITS(x) as_type(uint, x)
#define TOMBAC_RANDOM_FLOAT(x) as_type(float, x)
#define TOMBAC_RANDOM_HALF half
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#define TOMBAC_RANDOM_FN static inline __attribute__((unused))
#define TOMBAC_RANDOM_THREAD
#define TOMBAC_RANDOM_FMA(x, y, z) fmaf(x, y, z)
#define TOMBAC_RANDOM_ROOT(x) sqrtf(x)
#define TOMBAC_RANDOM_BITS(x) tombac_random_bits(x)
#define TOMBAC_RANDOM_FLOAT(x) tombac_random_from_bits(x)
#ifdef __FLT16_MANT_DIG__
#define TOMBAC_RANDOM_HALF _Float16
#endif
TOMBAC_RANDOM_FN uint32_t tombac_random_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
TOMBAC_RANDOM_FN float tombac_random_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
#endif
typedef struct random_block {
    uint32_t x, y, z, w;
} random_block;

typedef struct random_stream {
    uint64_t seed;
    uint64_t number;    /* of the stream */
    uint64_t position;  /* of the next word */
    random_block block; /* the one that the position is in, once a word of it was taken */
} random_stream;

/* Philox4x32-10 itself. */
TOMBAC_RANDOM_FN random_block philox4x32(random_block counter, uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * counter.x, b = (uint64_t)0xCD9E8D57u * counter.z;
        random_block next;
        next.x = (uint32_t)(b >> 32) ^ counter.y ^ key0;
        next.y = (uint32_t)b;
        next.z = (uint32_t)(a >> 32) ^ counter.w ^ key1;
        next.w = (uint32_t)a;
        counter = next;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

TOMBAC_RANDOM_FN random_block tombac_random_block(uint64_t seed, uint64_t number, uint64_t block)
{
    random_block counter;
    counter.x = (uint32_t)block;
    counter.y = (uint32_t)(block >> 32);
    counter.z = (uint32_t)number;
    counter.w = (uint32_t)(number >> 32);
    return philox4x32(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
}

/* The stream `number` of a seed, at its beginning. */
TOMBAC_RANDOM_FN random_stream random_start(uint64_t seed, uint64_t number)
{
    random_stream r;
    r.seed = seed;
    r.number = number;
    r.position = 0;
    r.block.x = r.block.y = r.block.z = r.block.w = 0;
    return r;
}

/* Leaves out `words` words; takes no longer for many. */
TOMBAC_RANDOM_FN void random_skip(TOMBAC_RANDOM_THREAD random_stream *r, uint64_t words)
{
    r->position += words;
    if (r->position & 3) r->block = tombac_random_block(r->seed, r->number, r->position >> 2);
}

/* ---- Integers: every value is as likely as every other ---- */

/* One word. */
TOMBAC_RANDOM_FN uint32_t random_uint(TOMBAC_RANDOM_THREAD random_stream *r)
{
    uint32_t place = (uint32_t)r->position & 3;
    if (place == 0) r->block = tombac_random_block(r->seed, r->number, r->position >> 2);
    r->position++;
    uint32_t low = place & 1 ? r->block.y : r->block.x, high = place & 1 ? r->block.w : r->block.z;
    return place & 2 ? high : low;
}
/* Two words, the low one first. */
TOMBAC_RANDOM_FN uint64_t random_ulong(TOMBAC_RANDOM_THREAD random_stream *r)
{
    uint64_t low = random_uint(r);
    return (uint64_t)random_uint(r) << 32 | low;
}
TOMBAC_RANDOM_FN int32_t random_int(TOMBAC_RANDOM_THREAD random_stream *r)
{
    return (int32_t)random_uint(r);
}
TOMBAC_RANDOM_FN int64_t random_long(TOMBAC_RANDOM_THREAD random_stream *r)
{
    return (int64_t)random_ulong(r);
}
/* From 0 to n - 1; 0 if n is 0. Takes one word, seldom more. D. Lemire: "Fast random integer generation in an
 * interval", 2019. */
TOMBAC_RANDOM_FN uint32_t random_below(TOMBAC_RANDOM_THREAD random_stream *r, uint32_t n)
{
    uint64_t product = (uint64_t)random_uint(r) * n;
    uint32_t least = n ? (0u - n) % n : 0;
    while ((uint32_t)product < least) product = (uint64_t)random_uint(r) * n;
    return (uint32_t)(product >> 32);
}

/* ---- Reals ---- */

/* From 0 up to, not including, 1: a multiple of 2^-24. One word. */
TOMBAC_RANDOM_FN float random_float(TOMBAC_RANDOM_THREAD random_stream *r)
{
    return (float)(random_uint(r) >> 8) * 0x1p-24f;
}
#ifdef TOMBAC_RANDOM_HALF
/* From 0 up to, not including, 1: a multiple of 2^-11. One word. */
TOMBAC_RANDOM_FN TOMBAC_RANDOM_HALF random_half(TOMBAC_RANDOM_THREAD random_stream *r)
{
    return (TOMBAC_RANDOM_HALF)((float)(random_uint(r) >> 21) * 0x1p-11f);
}
#endif

/* -ln((word + 1/2) / 2^32), at least 0. The polynomial is that of logf in S. L. Moshier's Cephes library, for
 * the logarithm of 1 + f, 1 + f from sqrt(1/2) to sqrt(2). */
TOMBAC_RANDOM_FN float tombac_random_minus_log(uint32_t word)
{
    float u = TOMBAC_RANDOM_FMA((float)word, 0x1p-32f, 0x1p-33f);
    uint32_t bits = TOMBAC_RANDOM_BITS(u) - 0x3f3504f3u; /* of sqrt(1/2) */
    int32_t exponent = (int32_t)bits >> 23;
    float f = TOMBAC_RANDOM_FLOAT((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float p = TOMBAC_RANDOM_FMA(f, 7.0376836292e-2f, -1.1514610310e-1f);
    p = TOMBAC_RANDOM_FMA(f, p, 1.1676998740e-1f);
    p = TOMBAC_RANDOM_FMA(f, p, -1.2420140846e-1f);
    p = TOMBAC_RANDOM_FMA(f, p, 1.4249322787e-1f);
    p = TOMBAC_RANDOM_FMA(f, p, -1.6668057665e-1f);
    p = TOMBAC_RANDOM_FMA(f, p, 2.0000714765e-1f);
    p = TOMBAC_RANDOM_FMA(f, p, -2.4999993993e-1f);
    p = TOMBAC_RANDOM_FMA(f, p, 3.3333331174e-1f);
    p = TOMBAC_RANDOM_FMA(f, p, -0.5f);
    p = TOMBAC_RANDOM_FMA(f * f, p, f);
    p = TOMBAC_RANDOM_FMA((float)exponent, -0.693147180559945f, -p);
    return p > 0.0f ? p : 0.0f;
}

/* cos(2 pi word / 2^32): the quadrant is cut off exactly; what is left, from -pi/4 to pi/4, goes into Cephes'
 * polynomials of sinf and cosf. */
TOMBAC_RANDOM_FN float tombac_random_cosine(uint32_t word)
{
    uint32_t quadrant = (word + 0x20000000u) >> 30;
    float x = (float)(int32_t)(word - (quadrant << 30)) * 0x1.921fb6p-30f, z = x * x; /* 2 pi / 2^32 */
    float s = TOMBAC_RANDOM_FMA(z, -1.9515295891e-4f, 8.3321608736e-3f);
    s = TOMBAC_RANDOM_FMA(z, s, -1.6666654611e-1f);
    s = TOMBAC_RANDOM_FMA(z * x, s, x);
    float c = TOMBAC_RANDOM_FMA(z, 2.443315711809948e-5f, -1.388731625493765e-3f);
    c = TOMBAC_RANDOM_FMA(z, c, 4.166664568298827e-2f);
    c = TOMBAC_RANDOM_FMA(z, c, -0.5f);
    c = TOMBAC_RANDOM_FMA(z, c, 1.0f);
    float value = quadrant & 1 ? s : c;
    return (quadrant + 1) & 2 ? -value : value; /* cos, -sin, -cos, sin */
}

/* Exponential with mean 1: at most 33 ln 2 = 22.9. One word. */
TOMBAC_RANDOM_FN float random_exponential(TOMBAC_RANDOM_THREAD random_stream *r)
{
    return tombac_random_minus_log(random_uint(r));
}
/* Normal with mean 0 and deviation 1, at most 6.8 from 0. Two words. G. E. P. Box, M. E. Muller: "A note on
 * the generation of random normal deviates", 1958. */
TOMBAC_RANDOM_FN float random_normal(TOMBAC_RANDOM_THREAD random_stream *r)
{
    float radius = TOMBAC_RANDOM_ROOT(2.0f * tombac_random_minus_log(random_uint(r)));
    return radius * tombac_random_cosine(random_uint(r));
}
#endif
