/* C itself: the host compiler runs these kernels too (ckernel_host.c), and both must give the same bits. No vectors
 * and nothing that threads do together, so that it can. */
#include <tombac/kernel.h>

enum shape { CIRCLE = 1, SQUARE = 4, STAR = 9 };
typedef struct item {
    int kind;
    union {
        uint bits;
        float value;
        uchar bytes[4];
    } u;
    short history[3];
} item;
struct node {
    item inner;
    bool flag;
    long weight;
};

static const int table[8] = {3, -1, 4, 1, -5, 9, 2, -6};
static const struct node nodes[2] = {{.flag = true, .weight = 7}, {.inner = {.kind = STAR}, .weight = -3}};
static_assert(sizeof(item) == 16, "the host and the device lay structures out alike");
static_assert(sizeof(struct node) == 32);
enum { limit = 100 };

#define kind_of(x)                                                                                           \
    _Generic((x), int: 1, uint: 2, float: 3, long: 4, ulong: 5, uchar: 6, default: 9)

static inline uint mix_bits(uint x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static int collatz(uint n)
{
    int steps = 0;
    while (n != 1 && steps < limit) {
        n = n % 2 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

static void swap(int *a, int *b)
{
    int c = *a;
    *a = *b;
    *b = c;
}

/* Insertion sort in private memory. */
static void sort(int *x, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && x[k - 1] > x[k]; k--) swap(&x[k - 1], &x[k]);
}

static int classify(enum shape s, int x)
{
    switch (s) {
    case CIRCLE: x += 1; __attribute__((fallthrough));
    case SQUARE: return x * 2;
    case STAR: return -x;
    default: break;
    }
    return 0;
}

kernel void integers(const uint *in, int *out, uint n)
{
    uint i = thread_position_in_grid().x;
    if (i >= n) return;
    uint x = mix_bits(in[i]);
    int local[6];
    for (int k = 0; k < 6; k++) local[k] = (int)(mix_bits(x + (uint)k) % 1000u) - 500;
    sort(local, 6);
    int *o = out + i * 24;
    for (int k = 0; k < 6; k++) *o++ = local[k];
    *o++ = collatz(x % 27 + 1);
    *o++ = classify((enum shape)(x % 3 == 0 ? CIRCLE : x % 3 == 1 ? SQUARE : STAR), local[0]);
    *o++ = table[x & 7] << (x & 3);
    *o++ = (int)nodes[x & 1].weight + nodes[x & 1].inner.kind + nodes[x & 1].flag;
    *o++ = kind_of(x) * 100 + kind_of(1.0f) * 10 + kind_of(local);
    *o++ = kind_of(in[i]) * 10 + kind_of((uchar)1);
    *o++ = (int)(uchar)x + (int8_t)(x >> 8) + (int16_t)(x >> 9) - (ushort)(x >> 3);
    *o++ = (int)((int)x >> 3) ^ (int)(x >> 5);
    *o++ = (int)((long)x * (long)(int)in[i] >> 17);
    *o++ = (int)((ulong)x * 0x9e3779b97f4a7c15ul >> 40);
    *o++ = (int)(x / 7u) + (int)x / 11 + (int)x % 13 + (int)(x % 17u);
    *o++ = popcount(x) + clz(x) + ctz(x | 0x80000000u);
    *o++ = max(min((int)x, 77), -77) + clamp((int)(x & 255), 10, 100);
    *o++ = (x > 5) + (x && i) + (!x | (i != 3));
    *o++ = (int)sizeof(item) + (int)offsetof(item, history) + (int)_Alignof(struct node);
    *o++ = x % 2 ? ({ int t = local[1]; t * 3; }) : -1;
    *o++ = local[5];
    *o++ = (int)i;
}

kernel void structures(item scale, const item *in, struct node *out, uint n, bool negate)
{
    uint i = thread_position_in_grid().x;
    if (i >= n) return;
    item copy = in[i];
    copy.history[i % 3] += scale.history[2];
    copy.u.value = copy.u.value * scale.u.value;
    if (negate) copy.u.bits ^= 0x80000000u;
    struct node made = {.inner = copy, .flag = copy.u.bytes[3] > 127, .weight = (long)copy.kind << 33};
    scale.kind += copy.kind;
    made.inner.kind = scale.kind;
    out[i] = made;
}

kernel void rows(const int (*in)[4], int out[][4], uint n)
{
    uint i = thread_position_in_grid().x;
    if (i >= n) return;
    const int *row = in[i];
    for (int k = 0; k < 4; k++) out[i][3 - k] = row[k] + (int)(row - in[0]);
}

kernel void floats(const float *in, float *out, half *halves, uint n)
{
    uint i = thread_position_in_grid().x;
    if (i >= n) return;
    float x = in[i];
    float *o = out + i * 8;
    o[0] = fabsf(x);
    o[1] = floorf(x) + ceilf(x) * 3 + truncf(x) * 5;
    o[2] = rintf(x) + roundf(x) * 3;
    o[3] = sqrtf(fabsf(x));
    o[4] = fmaf(x, 1.5f, -2.25f);
    o[5] = fminf(x, 2.0f) + copysignf(3.0f, x) + fmaxf(x, -1.0f);
    o[6] = (float)(int)x + (float)(uint)fabsf(x);
    o[7] = as_type(float, as_type(uint, x) ^ 1u);
    half h = (half)x;
    halves[i] = (half)(h * (half)0.5f) + (half)1.0f;
}

#define SCALE(T)                                                                                             \
    kernel void scale_##T(T factor, const T *in, T *out, uint n)                                            \
    {                                                                                                        \
        uint i = thread_position_in_grid().x;                                                                \
        if (i < n) out[i] = (T)(in[i] * factor);                                                             \
    }
for_each_type(SCALE, char, uchar, short, ushort, int, uint, long, ulong, float)

kernel requires(in_count == out_count) void squares(slice_const(float) in, slice(float) out)
{
    float *own = own_element(out);
    if (own) *own = at(in, thread_index_in_grid()) * at(in, thread_index_in_grid());
}
