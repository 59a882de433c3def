// Templates and their instantiations, lambdas, template arguments that are objects and functions, lists, copies.
#include <metal_stdlib>
using namespace metal;

// ---- Every form of an explicit instantiation ----

template <typename T>
[[kernel]] void scale(device T *out [[buffer(0)]], constant T &by [[buffer(1)]],
                      uint i [[thread_position_in_grid]])
{
    out[i] *= by;
}
template [[host_name("scale_full")]] [[kernel]] void
scale<float>(device float *out [[buffer(0)]], constant float &by [[buffer(1)]],
             uint i [[thread_position_in_grid]]);
template [[host_name("scale_short")]] kernel void scale<int>(device int *, constant int &, uint);
typedef decltype(scale<uint>) scale_t;
template [[host_name("scale_typedef")]] kernel scale_t scale<uint>;
template [[host_name("scale_decltype")]] [[kernel]] decltype(scale<ushort>) scale<ushort>;
template [[host_name("scale_bare")]] void scale<short>(device short *, constant short &, uint);
template <>
[[host_name("scale_special")]] kernel void
scale<uchar>(device uchar *out [[buffer(0)]], constant uchar &by [[buffer(1)]],
             uint i [[thread_position_in_grid]])
{
    out[i] = by + 1;
}
namespace inner
{
template <int N, bool UP = true> kernel void add(device int *out, uint i [[thread_position_in_grid]])
{
    out[i] += UP ? N : -N;
}
template [[host_name("add_inside")]] kernel void add<3>(device int *, uint);
template [[host_name("add_default")]] kernel decltype(add<4, false>) add<4, false>;
} // namespace inner
template [[host_name("add_outside")]] kernel void inner::add<5>(device int *, uint);
[[host_name("add_renamed")]] kernel void plain(device int *out, uint i [[thread_position_in_grid]])
{
    out[i] += 6;
}

template <typename T, int N>
[[kernel]] [[max_total_threads_per_threadgroup(sizeof(T) * N)]] void
limited(device T *out, uint i [[thread_position_in_grid]])
{
    out[i] = N;
}
template [[host_name("limited_32")]] kernel decltype(limited<float, 8>) limited<float, 8>;
template [[host_name("limited_64")]] kernel decltype(limited<uint, 16>) limited<uint, 16>;

// ---- Expressions ----

template <typename... T> float total(T... x) { return (x + ... + 0.5f); }
template <typename... T> bool every(T... x) { return (... && x); }
struct Shape {
    int rows, columns;
    bool flipped;
    constexpr Shape(int r, int c, bool f) : rows(r), columns(c), flipped(f) {}
};
template <Shape S> struct Tile {
    static constexpr int size = S.rows * S.columns;
    float at(float x) const { return S.flipped ? -x * size : x * size; }
};
float twice(float x) { return 2 * x; }
template <float (*F)(float)> float applied(float x) { return F(F(x)); }
template <typename F> float called(F f, float x) { return f(x) + 1; }
template <template <typename> class W> float wrapped(float x) { return W<float>{x}.value; }
struct Box2 {
    float first, second;
};
template <typename T> struct Box {
    T value;
};

kernel void expressions(device float *out, uint i [[thread_position_in_grid]])
{
    device float *o = out + 16 * i;
    float x = i, k = 2;
    auto grow = [&](float by) {
        k += by;
        return k * by;
    };
    auto mixed = [=](auto a, auto b) thread { return a + b * k; };
    auto bump = [](device float *p) { *p += 1; };
    o[0] = grow(x);
    o[1] = k;
    o[2] = mixed(1, x);
    bump(o + 2);
    o[3] = total(x, 2, 3.5h);
    o[4] = every(true, i, i - 2);
    constexpr Shape shape(2, 3, true);
    Tile<shape> tile;
    o[5] = tile.at(x) + Tile<Shape(1, 7, false)>::size;
    o[6] = applied<twice>(x) + called(twice, x) + called([](float y) { return y * y; }, x);
    o[7] = wrapped<Box>(x);
    auto [first, second] = Box2{x, 2 * x};
    o[8] = first * 10 + second;
}

struct mixed_t {
    float4 a;
    packed_float3 b;
    float2 c[2];
    bool4 d;
    int n;
};

kernel void lists_in_structs(device float *out, uint i [[thread_position_in_grid]])
{
    float x = i;
    mixed_t m = {{x}, {x + 1, 2}, {{x + 2}, {x + 3, x + 4}}, {true, i > 3}, 7}, spread = {x, x + 5}, none = {};
    mixed_t list[2] = {{{x + 6, 1, 2, 3}}, {{}, {float2(x + 7), 8}}};
    m.c[0] += none.c[1] + float2(none.d.xy);
    for (uint k = 0; k < 2; k++) {
        device float *o = out + 40 * i + 20 * k;
        mixed_t v = k ? list[i % 2] : m;
        for (uint c = 0; c < 4; c++) o[c] = v.a[c], o[4 + c] = v.d[c];
        for (uint c = 0; c < 3; c++) o[8 + c] = v.b[c], o[11 + c] = spread.b[c];
        o[14] = v.c[0].x, o[15] = v.c[0].y, o[16] = v.c[1].x, o[17] = v.c[1].y, o[18] = v.n;
        o[19] = spread.a.w;
    }
}

kernel void lists(device float *out, uint i [[thread_position_in_grid]])
{
    device float *o = out + 32 * i;
    float x = i;
    float4 a = {x};
    float4 b{x + 1};
    float3 c = float3{x + 2};
    float2 d[2] = {{x}, {x + 3}};
    float4 e(x), f = x, g = {a};
    packed_float3 h = {x + 4};
    int2 m = {int(i)};
    for (uint k = 0; k < 4; k++) o[k] = a[k], o[4 + k] = b[k], o[8 + k] = e[k] + f[k] + g[k];
    for (uint k = 0; k < 3; k++) o[12 + k] = c[k], o[15 + k] = h[k];
    o[18] = d[0].x, o[19] = d[0].y, o[20] = d[1].x, o[21] = d[1].y;
    o[22] = m.x + 10 * m.y;
    // Steps of swizzles, on either side and in parentheses.
    float4 v = float4(1, 2, 3, 4);
    float2 before = v.xy++;
    ++v.yz;
    --(v.wx);
    (v.xz) += 10;
    (v.zy)--;
    o[23] = before.x * 10 + before.y;
    for (uint k = 0; k < 4; k++) o[24 + k] = v[k];
    float4 w[2] = {float4(1), float4(2)};
    ++w[i % 2].zw;
    o[28] = w[0].w * 10 + w[1].z;
}

// ---- Pointers in structs ----

struct Node {
    device float *values;
    constant uint *count;
    device Node *next;
};
kernel void follow(device Node *nodes, device float *values, device float *out)
{
    for (uint i = 0; i < 4; i++) {
        nodes[i].values = values + 4 * i;
        nodes[i].next = nodes + (i + 1) % 4;
    }
    device Node *n = nodes;
    for (uint i = 0; i < 10; i++, n = n->next) out[i] = n->values[i % 4], n->values[i % 4] += 100;
}

// ---- Copies that a source declares by the labels of Apple's compiler ----

struct event_record;
thread event_record *copy_1d(ulong, ulong, threadgroup void *, const device void *,
                             ulong) __asm("air.simdgroup_async_copy_1d.p3i8.p1i8");
thread event_record *copy_1d(ulong, ulong, device void *, const threadgroup void *,
                             ulong) __asm("air.simdgroup_async_copy_1d.p1i8.p3i8");
thread event_record *copy_2d(ulong, ulong, threadgroup void *, ulong, ulong, ulong2, const device void *, ulong,
                             ulong, ulong2, long2, int) __asm("air.simdgroup_async_copy_2d.p3i8.p1i8");
thread event_record *copy_2d(ulong, ulong, device void *, ulong, ulong, ulong2, const threadgroup void *, ulong,
                             ulong, ulong2, long2, int) __asm("air.simdgroup_async_copy_2d.p1i8.p3i8");
void wait_for(int, thread event_record **) __asm("air.wait_simdgroup_events");

// 40 threads: the second SIMD-group is a partial one.
kernel void copies(device half *out, device const half *in, constant uint &clamp,
                   uint g [[simdgroup_index_in_threadgroup]], uint t [[thread_index_in_threadgroup]])
{
    threadgroup half shared[96];
    for (uint k = t; k < 96; k += 40) shared[k] = -1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (g == 0) {
        thread event_record *e =
            copy_2d(2, 2, (threadgroup void *)shared, 8, 1, ulong2(7, 6), (const device void *)in, 10, 1,
                    ulong2(5, 4), long2(0), clamp);
        wait_for(1, &e);
    } else {
        thread event_record *e = copy_1d(2, 2, (threadgroup void *)(shared + 50), (const device void *)in, 45);
        wait_for(1, &e);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (g == 1) {
        thread event_record *e[2];
        e[0] = copy_1d(2, 2, (device void *)out, (const threadgroup void *)shared, 96);
        e[1] = copy_2d(2, 2, (device void *)(out + 96), 4, 1, ulong2(3, 2), (const threadgroup void *)shared, 8,
                       1, ulong2(3, 2), long2(0), 0);
        wait_for(2, e);
    }
}
