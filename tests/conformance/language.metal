// The language: what Metal adds to C++ and what its kernels use of C++. Each kernel writes words that language.c computes
// from the same inputs; floats are small integers or binary fractions, so that everything is exact.
#include <metal_stdlib>
using namespace metal;

// ---- Vectors and swizzles ----

kernel void swizzles(device float *out [[buffer(0)]], const device float4 *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    float4 v = in[i];
    device float *o = out + 40 * i;
    float2 a = v.zx;
    float3 b = v.wwy;
    float4 c = v.abgr;
    o[0] = a.x; o[1] = a.y; o[2] = b.x; o[3] = b.y; o[4] = b.z;
    o[5] = c.x; o[6] = c.y; o[7] = c.z; o[8] = c.w;
    float4 d = v;
    d.xz = v.yw;
    d.w += 10;
    o[9] = d.x; o[10] = d.y; o[11] = d.z; o[12] = d.w;
    d.yx = d.xy;
    d.rgb *= 2.0f;
    o[13] = d.x; o[14] = d.y; o[15] = d.z; o[16] = d.w;
    float4 e = float4(a, v.xy);
    float4 f = float4(1, b);
    float4 g = float4(7.0f);
    float4 h = { v.x, 2, v.z, 4 };
    o[17] = e.w; o[18] = f.y; o[19] = g.z; o[20] = h.y + h.z;
    h[i % 4] = -1;
    o[21] = h[0]; o[22] = h[1]; o[23] = h[2]; o[24] = h[3];
    auto three = v.xyz;
    o[25] = sizeof(three) + three.y;
    v.xy = v.yx;
    o[26] = v.x - v.y;
    device float4 *target = (device float4 *)(out + 40 * i + 36);
    target->xy = v.zw;
    o[27] = o[36] + (*target).y;
    uint4 u = uint4(int4(v) * -1);
    o[28] = float(u.x >> 28);
    bool4 less = v < float4(2, 4, 6, 8);
    o[29] = less.x + 2 * less.y + 4 * less.z + 8 * less.w;
    float4 s = select(v, -v, less);
    o[30] = s.x; o[31] = s.y; o[32] = s.z; o[33] = s.w;
    float4 m = v * 2 + 1 - float4(v.w) / 2;
    o[34] = m.x; o[35] = m.w;
    float4 n = -v;
    n += 1.0f;
    n /= float4(2, 4, 8, 16);
    o[36] = n.x; o[37] = n.y; o[38] = n.z;
    o[39] = dot(v, float4(1, 2, 3, 4));
}

kernel void matrices(device float *out [[buffer(0)]], const device float *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    const device float *p = in + 16 * i;
    device float *o = out + 48 * i;
    float4x4 m;
    for (uint c = 0; c < 4; c++)
        for (uint r = 0; r < 4; r++) m[c][r] = p[4 * c + r];
    float4x4 t = transpose(m), square = m * m;
    float3x2 narrow = float3x2(float2(p[0], p[1]), float2(p[2], p[3]), float2(p[4], p[5]));
    float2x3 wide = transpose(narrow);
    float4 mv = m * float4(1, 2, 3, 4), vm = float4(1, 2, 3, 4) * m;
    float2 nv = narrow * float3(1, -1, 2);
    float2x2 product = narrow * wide;
    for (uint k = 0; k < 4; k++) {
        o[k] = t[1][k];
        o[4 + k] = square[k][3 - k];
        o[8 + k] = mv[k];
        o[12 + k] = vm[k];
    }
    o[16] = nv.x; o[17] = nv.y;
    o[18] = product[0][0]; o[19] = product[0][1]; o[20] = product[1][0]; o[21] = product[1][1];
    float2x2 d = float2x2(3);
    o[22] = d[0][0] + 10 * d[0][1] + 100 * d[1][1];
    float3x3 three = float3x3(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]);
    o[23] = determinant(three);
    float2x2 two = float2x2(p[0], p[1], p[2], p[3]);
    o[24] = determinant(two);
    two = two * 2.0f + d - float2x2(1, 1, 1, 1);
    o[25] = two[0].x; o[26] = two[0].y; o[27] = two[1].x; o[28] = two[1].y;
    half2x2 small = half2x2(half2(p[0], 1), half2(2, p[1]));
    o[29] = float((small * half2(1, 2)).x);
    m[2] = float4(9);
    m[3].yz = m[0].xw;
    o[30] = m[2].z + m[3].y + m[3].z;
    o[31] = determinant(float4x4(1, 0, 0, 5, 0, 2, 0, 0, 0, 6, 3, 0, 0, 0, 0, p[15]));
    o[32] = dot(three[1], three[2]);
    float3 x = cross(three[0], three[1]);
    o[33] = x.x; o[34] = x.y; o[35] = x.z;
}

// ---- Types, casts, unions, structs ----

union bits_t {
    float f;
    uint u;
    uchar4 bytes;
};
struct point_t {
    float x, y;
    float sum() const { return x + y; }
    void scale(float by) { x *= by; y *= by; }
    static point_t make(float x, float y) { point_t p = {x, y}; return p; }
    point_t operator+(point_t b) const { return make(x + b.x, y + b.y); }
};
struct nested_t {
    point_t points[3];
    int tag : 5;
    int rest : 27;
    ushort2 pair;
};
enum class color : ushort { red = 3, green, blue = 40000 };
enum { FIRST = 5, SECOND };

kernel void types(device uint *out [[buffer(0)]], const device float *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    device uint *o = out + 24 * i;
    bits_t b;
    b.f = in[i];
    o[0] = b.u;
    o[1] = b.bytes.w;
    b.bytes[3] ^= 0x80;
    o[2] = as_type<uint>(b.f);
    o[3] = as_type<uint>(half2(half(in[i]), 1.0h));
    o[4] = as_type<uint2>(as_type<ulong>(float2(in[i], 2))).y;
    o[5] = as_type<uint>(as_type<short2>(in[i]).yx);
    point_t p = point_t::make(in[i], 4) + point_t{1, 2};
    p.scale(2);
    o[6] = uint(p.sum());
    nested_t n = {};
    n.points[i % 3] = p;
    n.tag = int(i) - 3;
    n.rest = -int(i);
    n.pair = ushort2(i, 7);
    nested_t copy = n;
    o[7] = uint(copy.points[0].x + 2 * copy.points[1].x + 4 * copy.points[2].x);
    o[8] = uint(copy.tag);
    o[9] = uint(copy.rest);
    o[10] = copy.pair.x * copy.pair.y;
    color c = color(i % 2 ? 4 : 40000);
    o[11] = uint(c) + (c == color::green) + FIRST * SECOND;
    packed_float3 q = float3(in[i], 2, 3);
    q[1] += 1;
    q.z = q.x * 2;
    float3 r = q + packed_float3(1, 1, 1);
    o[12] = uint(r.x + 10 * r.y + 100 * r.z);
    o[13] = uint(float3(q).zyx.x);
    packed_half2 h = half2(1, 2);
    o[14] = uint(h.x + h.y * 10);
    bool2 flags = bool2(i & 1, i & 2);
    o[15] = any(flags) + 2 * all(flags) + 4 * !flags.x;
    uchar small = uchar(300 + i);
    o[16] = small;
    o[17] = uint(char(200 + i));
    o[18] = sizeof(point_t) + 100 * sizeof(nested_t) + 10000 * sizeof(color);
    long big = long(i) * 0x123456789l - 5;
    o[19] = uint(big >> 30);
    o[20] = uint(ulong(big) / 1000003ul);
    o[21] = uint(big % 97);
    float f = float(big);
    o[22] = as_type<uint>(f);
    int2 pair = int2(in[i], -in[i]);
    o[23] = uint(pair.x * pair.y);
}

// ---- Constant tables, references, pointers and address spaces ----

constant float table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
constant uchar2 pairs[3] = {uchar2(1, 2), uchar2(3, 4), uchar2(5, 6)};
constant constexpr int squares[] = {0, 1, 4, 9, 16, 25};
struct entry_t { short a; float b[2]; };
constant entry_t entries[2] = {{1, {0.5f, 0.25f}}, {-2, {4, 8}}};
static constexpr constant int LIMIT = sizeof(squares) / sizeof(squares[0]);

static float pick(constant float *t, uint i) { return t[i]; }
static float pick(const device float *t, uint i) { return 1000 + t[i]; }
static float pick(const thread float *t, uint i) { return 2000 + t[i]; }
static float pick(threadgroup const float *t, uint i) { return 3000 + t[i]; }
static void bump(device float &x) { x += 1; }
static void bump(thread float &x) { x += 100; }
static float total(thread const float (&a)[4]) { return a[0] + a[1] + a[2] + a[3]; }
template <int N>
static void fill(thread float (&a)[N], float v) { for (int k = 0; k < N; k++) a[k] = v * k; }

kernel void spaces(device float *out, const device float *in, constant float *k, threadgroup float *shared,
    constant int &shift, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]])
{
    device float *o = out + 16 * i;
    float own[4] = {in[i], 1, 2};
    shared[l] = in[i] + 0.5f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    o[0] = pick(table, i % 8);
    o[1] = pick(in, i);
    o[2] = pick(own, i % 3);
    o[3] = pick(shared, l);
    o[4] = pick(k, i % 2);
    bump(o[4]);
    bump(own[3]);
    o[5] = total(own);
    fill(own, in[i]);
    o[6] = total(own);
    uchar2 p = pairs[i % 3];
    o[7] = p.x * 10 + p.y;
    o[8] = squares[i % LIMIT] + shift;
    o[9] = entries[i % 2].a + entries[i % 2].b[1];
    thread float *cursor = own + 1;
    *cursor++ = 5;
    cursor[0] = 6;
    o[10] = own[1] * 10 + own[2] + float(cursor - own);
    const device float *other = i % 2 ? in : in + 1;
    o[11] = other[i];
    device float *last = &o[12];
    *last = 3;
    last[1] = *last + 1;
    o[14] = float((device char *)&o[12] - (device char *)o);
    o[15] = last > o ? (own[0] == 0 ? 7 : 8) : 9;
}

// ---- Templates, function pointers, lambdas ----

template <typename T> struct add_op { static T apply(T a, T b) { return a + b; } static constexpr constant T start = 0; };
template <typename T> struct max_op { static T apply(T a, T b) { return a > b ? a : b; } static constexpr constant T start = -1000; };
template <typename T, template <typename> class Op, int N>
static T fold(const device T *in) { T r = Op<T>::start; for (int k = 0; k < N; k++) r = Op<T>::apply(r, in[k]); return r; }

typedef float (*unary_t)(float);
static float twice(float x) { return 2 * x; }
static float half_of(float x) { return x / 2; }
template <unary_t F> static float apply(float x) { return F(x) + 1; }
template <void (*DEQUANTISE)(const device uchar *, thread float4 &)> static float sum4(const device uchar *p) { float4 v; DEQUANTISE(p, v); return v.x + v.y + v.z + v.w; }
static void nibbles(const device uchar *p, thread float4 &v) { v = float4(p[0] & 15, p[0] >> 4, p[1] & 15, p[1] >> 4); }
static void bytes(const device uchar *p, thread float4 &v) { v = float4(p[0], p[1], p[2], p[3]); }
template <typename T> static T generic(T a, T b) { return a - b; }
template <> int generic<int>(int a, int b) { return a * b; }
template <typename T, typename U> static enable_if_t<is_same_v<T, U>, int> same(T, U) { return 1; }
template <typename T, typename U> static enable_if_t<!is_same_v<T, U>, int> same(T, U) { return 0; }
template <typename... A> static float sum_all(A... a) { return (float(a) + ...); }
template <int N> struct factorial { enum { value = N * factorial<N - 1>::value }; };
template <> struct factorial<0> { enum { value = 1 }; };

template <typename T, int WIDTH, bool NEGATE>
kernel void templated(device float *out [[buffer(0)]], const device T *in [[buffer(1)]], const device uchar *raw [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    device float *o = out + 16 * i;
    o[0] = fold<T, add_op, WIDTH>(in + i);
    o[1] = fold<T, max_op, WIDTH>(in + i);
    o[2] = apply<twice>(i) + apply<half_of>(i);
    o[3] = sum4<nibbles>(raw + i);
    o[4] = sum4<bytes>(raw + i);
    o[5] = generic(float(in[i]), 1.0f) + generic(int(i), 3);
    o[6] = same(i, 0u) * 10 + same(i, 0);
    o[7] = sum_all(1, 2.5f, i, short(-3));
    o[8] = factorial<5>::value;
    T captured = in[i];
    auto scale = [&](T x) { captured += 1; return x * captured; };
    o[9] = scale(2);
    o[10] = scale(3);
    auto outer = [=](int x) { auto inner = [x](int y) { return x * y; }; return inner(x + 1); };
    o[11] = outer(int(i));
    if (NEGATE) o[12] = -float(in[i]); else o[12] = in[i];
    if constexpr (WIDTH == 4) o[13] = 44; else o[13] = WIDTH;
    using pair = vec<T, 2>;
    pair q = pair(in[i], 3);
    o[14] = q.x * q.y;
    o[15] = sizeof(T);
}
#define TEMPLATED(NAME, T, W, N)                                                                                  template [[host_name(NAME)]] kernel void templated<T, W, N>(device float *out [[buffer(0)]], const device T *in [[buffer(1)]],         const device uchar *raw [[buffer(2)]], uint i [[thread_position_in_grid]]);
TEMPLATED("templated_float_4", float, 4, false)
TEMPLATED("templated_int_3", int, 3, true)
TEMPLATED("templated_half_2", half, 2, true)
typedef decltype(templated<short, 4, true>) templated_short_t;
template [[host_name("templated_short_4")]] kernel templated_short_t templated<short, 4, true>;

// Kernel templates of one name: an instantiation means the one whose parameters it has.
template <typename T> struct two_of { T a, b; };
template <typename T> struct three_of { T a, b, c; };
template <typename T> kernel void chosen(device T *out [[buffer(0)]], constant two_of<T> &by [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] = by.a * T(i) + by.b; }
template <typename T> kernel void chosen(device T *out [[buffer(0)]], constant three_of<T> &by [[buffer(1)]], constant T *more [[buffer(2)]], uint i [[thread_position_in_grid]]) { out[i] = by.a * T(i) + by.c + more[i % 2]; }
template <typename T> kernel void chosen(device T *out [[buffer(0)]], uint i [[thread_position_in_grid]], constant three_of<T> &by [[buffer(3)]]) { out[i] = by.c - T(i); }
template [[host_name("chosen_two")]] kernel void chosen<float>(device float *out, constant two_of<float> &by, uint i);
template [[host_name("chosen_more")]] kernel void chosen<float>(device float *, constant struct three_of<float> &, constant float *, uint);
template [[host_name("chosen_three")]] kernel void chosen<float>(device float *out [[buffer(0)]], uint i, constant ::three_of<float> &by [[buffer(3)]]);

// ---- Control flow ----

static int collatz(uint n) { int steps = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; if (++steps > 200) return -1; } return steps; }
static bool odd(uint n) { switch (n & 3) { case 1: case 3: return true; default: return false; } }

kernel void flow(device int *out [[buffer(0)]], const device uint *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    uint n = in[i];
    device int *o = out + 8 * i;
    o[0] = collatz(n % 1000 + 1);
    int s = 0;
    for (uint a = 0; a < n % 13; a++) {
        if (a == 3) continue;
        for (uint b = a; ; b += 2) {
            if (b > n % 17 + a) break;
            if ((a * b) % 7 == 5) { s += 1000; break; }
            s += int(a * b);
        }
        if (s > 3000) break;
    }
    o[1] = s;
    switch (n % 6) {
        case 0: s = 1;
        case 1: s += 2; break;
        case 5: s = -s;
        default: s ^= 3; break;
        case 2: { int t = s; s = t / 2; }
    }
    o[2] = s;
    o[3] = odd(n) ? (n > 1000 ? 1 : 2) : n % 5 == 0 ? 3 : 4;
    int k = 0;
    do { k += 3; } while (k < int(n % 20));
    o[4] = k;
    bool side = (n & 4) && (k++ > 5 || k++ > 1);
    o[5] = k + 100 * side;
    int a[6] = {5, 4, 3, 2, 1, int(n % 7)};
    for (int x = 0; x < 6; x++)
        for (int y = x + 1; y < 6; y++)
            if (a[y] < a[x]) { int t = a[x]; a[x] = a[y]; a[y] = t; }
    o[6] = a[0] + 10 * a[1] + 100 * a[2] + 1000 * a[3] + 10000 * a[4] + 100000 * a[5];
    int comma = (k = 5, k + 1);
    o[7] = comma * k;
}

/* Matrices from lists of lists, packed vectors that count, vectors of integers that wrap. */
constant float3x2 rows = {{1, 2}, {3, 4}, {5, 6}};

kernel void lists(device float *out [[buffer(0)]], device int *wrapped [[buffer(1)]], const device int *in [[buffer(2)]])
{
    float2x2 a = {{1, 2}, {3, 4}}, b = float2x2({5, 6}, {7, 8}), c{{9}, {10, 11}};
    half2x4 h = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    float4x4 d = {{1}, {0, 2}, {0, 0, 3}, {0, 0, 0, 4}};
    a = +a;
    const float all[] = {a[0][0], a[0][1], a[1][0], a[1][1], b[0][0], b[1][1], c[0][0], c[0][1], c[1][1],
        float(h[1][3]), d[0][0] + d[1][1] + d[2][2] + d[3][3], d[0][1] + d[3][2], rows[2][0]};
    for (int k = 0; k < 13; k++) out[k] = all[k];
    packed_float3 p = float3(1, 2, 3), before = p++, after = p--;
    out[13] = before.y, out[14] = after.y, out[15] = p.y;
    int2 v = int2(in[0], in[1]);
    long2 l = long2(long(in[0]) << 32, -1);
    wrapped[0] = (v + v).x, wrapped[1] = (v * 3).x, wrapped[2] = (-v).y, wrapped[3] = (v - int2(1, 1)).y;
    v++;
    wrapped[4] = v.x, wrapped[5] = int((l + l + l).x >> 32);
    bool2 less = v < int2(in[0], in[1]); // the one that wrapped
    wrapped[6] = less.x, wrapped[7] = less.y;
}

// A variable that gets its value in the loop that reads it, and whose value of the first round nobody uses.
kernel void late_value(device uint *out [[buffer(0)]], const device uint *in [[buffer(1)]], constant uint &n [[buffer(2)]],
    constant uint &never [[buffer(3)]],
    uint i [[thread_position_in_grid]])
{
    uint kept, total = 0;
    for (uint k = 0; k < n; k++) {
        kept = popcount(kept + in[i]) ^ in[(i + k) % 64];
        if (k == never) total += kept;
        total += in[(i + k) % 64] * k;
    }
    out[i] = total;
}

/* What only tells the optimiser something. */
kernel void likely(device int *out [[buffer(0)]], const device int *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    int x = in[i];
    __builtin_assume(x >= 0);
    __builtin_prefetch(out);
    if (x % 2 == 0) [[likely]] x += 100;
    else [[unlikely]] x += 200;
    if (__builtin_expect(x % 3 == 0, 0)) x *= 2;
    if (__builtin_expect_with_probability(x > 250, 1, 0.9)) x -= 7;
    switch (x & 3) {
    [[unlikely]] case 0: x ^= 1; break;
    case 1:
    case 2: x ^= 8; break;
    case 3: x ^= 16; break;
    default: __builtin_unreachable();
    }
    while (x > 320) [[unlikely]] x -= 10;
    out[i] = x;
}
