// Tensors: extents and strides from the host and from the kernel, subscripts, load and store at the edges, slices; in every
// address space; cooperative tensors element by element. The models are in tensor.c.
#include <metal_stdlib>
#include <metal_tensor>
#include <metal_cooperative_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;

// What is known when compiling.
typedef tensor<device float, dextents<int, 2>> handle;
typedef tensor<threadgroup half, extents<short, 4, dynamic_extent>, tensor_inline> in_line;
typedef tensor<device float, dextents<int, 2>, tensor_handle, tensor_offset> with_offset;
static_assert(is_tensor_handle_v<handle> && !is_tensor_inline_v<handle> && !has_tensor_offset_v<handle>);
static_assert(!is_tensor_handle_v<in_line> && is_tensor_inline_v<in_line> && !has_tensor_offset_v<in_line>);
static_assert(is_tensor_handle_v<with_offset> && has_tensor_offset_v<with_offset>);
static_assert(is_tensor_handle<handle>::value && is_tensor_inline<in_line>::value && has_tensor_offset<with_offset>::value);
static_assert(!is_tensor_handle_v<int> && !is_tensor_inline_v<int> && !has_tensor_offset_v<int>);
static_assert(is_same_v<handle::element_type, device float> && is_same_v<handle::value_type, float>);
static_assert(is_same_v<in_line::index_type, short> && is_same_v<in_line::size_type, ushort>);
static_assert(is_same_v<in_line::extents_type, extents<short, 4, dynamic_extent>>);
static_assert(is_same_v<tensor<constant int, extents<int, 3>>::value_type, int>);
static_assert(handle::get_rank() == 2 && in_line::get_static_extent(0) == 4 && in_line::get_static_extent(1) == dynamic_extent);
static_assert(is_same_v<dextents<int, 3>, extents<int, dynamic_extent, dynamic_extent, dynamic_extent>>);
static_assert(extents<int, 2, 3>::rank() == 2 && extents<int, 2, dynamic_extent, 3>::rank_dynamic() == 1);
static_assert(extents<int, 2, 3>().extent(1) == 3 && extents<int, 2, dynamic_extent>(7).extent(1) == 7);
static_assert(extents<int, 2, dynamic_extent>(2, 9).extent(1) == 9 && extents<int, dynamic_extent>().extent(0) == 0);
static_assert(dextents<int, 2>(extents<short, 4, 5>()) == extents<int, 4, 5>());
static_assert(extents<int, 4, 5>() != extents<int, 4, 6>() && extents<int, 4>() != extents<int, 4, 1>());
static_assert(execution_thread().size() == 1 && execution_simdgroups<4>().size() == 4);
static_assert(is_execution_thread_v<execution_threads<1>> && !is_execution_thread_v<execution_simdgroup>);
static_assert(is_execution_simdgroups_v<execution_simdgroups<2>> && !is_execution_simdgroups_v<execution_thread>);
#ifndef __HAVE_TENSOR__
#error "__HAVE_TENSOR__"
#endif

template <typename T> void facts_of(thread const T &t, device long *&out)
{
    *out++ = long(t.get_rank());
    for (uint r = 0; r < t.get_rank(); r++) {
        *out++ = t.get_extent(r);
        *out++ = t.get_stride(r);
        *out++ = t.get_static_extent(r) == dynamic_extent ? -1 : long(t.get_static_extent(r));
    }
}

// Extents and strides, of the host or of the kernel; of slices, of slices of slices, past the end.
kernel void facts(tensor<device int, dextents<int, 2>> a [[buffer(0)]], tensor<const device short, extents<short, 5, dynamic_extent>> b [[buffer(1)]],
    tensor<constant uchar, dextents<ulong, 3>> c [[buffer(2)]], tensor<device float, dextents<int, 1>> d [[buffer(3)]],
    device long *out [[buffer(4)]])
{
    facts_of(a, out);
    facts_of(b, out);
    facts_of(c, out);
    facts_of(d, out);
    facts_of(a.slice(2, 1), out);
    facts_of(a.slice(2, 1).slice(1, 1), out);
    facts_of(a.slice<4, 2>(2, 1), out);
    facts_of(a.slice<dynamic_extent, 2>(2, 1), out);
    facts_of(a.slice(100, 0), out);
    facts_of(b.slice(1, 2), out);
    facts_of(tensor(&out[0], extents<int, 3, dynamic_extent>(3, 4)), out);
    facts_of(tensor(&out[0], dextents<int, 2>(3, 4), array<int, 2>{7, 1}), out);
    tensor<device int, dextents<int, 2>, tensor_handle, tensor_offset> with_offset = a;
    facts_of(with_offset, out);
    tensor<device long, dextents<int, 2>, tensor_inline> wider = tensor(&out[0], extents<int, 3, 4>());
    facts_of(wider, out);
}

// Each thread reads and writes its element by another way.
kernel void subscripts(tensor<device int, dextents<int, 2>> in [[buffer(0)]], tensor<device int, dextents<int, 2>> out [[buffer(1)]],
    uint2 at [[thread_position_in_grid]])
{
    int x = int(at.x), y = int(at.y);
    array<int, 2> both = {x, y};
    switch (x % 4) {
    case 0: out[x, y] = in[x, y] + 1; break;
    case 1: out[both] = in[both] + 2; break;
    case 2: out.store(in.load(x, y) + 3, x, y); break;
    default: out.store(in.load(both) + 4, both); break;
    }
    if (x == 4) out[x, y] += 100, ++out[x, y];
}

// The comma operator keeps its meaning, also below another subscript.
kernel void commas(device int *out [[buffer(0)]], tensor<device int, dextents<int, 2>> t [[buffer(1)]])
{
    int table[4] = {10, 20, 30, 40}, calls = 0;
    out[0] = table[0, 2];
    out[1] = table[(calls++, calls++), 3];
    out[2] = calls;
    out[3, 4] = t[table[0, 0] / 10, out[5, 0] / 30];
    array<int, 2> at[2] = {{0, 1}, {2, 1}};
    out[3] = t[at[1]] + t[at[(0, 0)]];
    out[5] = [=](int i) { return table[i]; }(1);
}

// Outside of the extents: zero, and nothing.
kernel void edges(tensor<device float, dextents<int, 2>> t [[buffer(0)]], tensor<device float, dextents<int, 2>> out [[buffer(1)]],
    uint2 at [[thread_position_in_grid]])
{
    int x = int(at.x) - 2, y = int(at.y) - 2;
    auto part = t.slice(1, 1);
    auto fixed = t.slice<2, 2>(0, 0);
    out[int(at.x), int(at.y)] = t.load(x, y) + 1000 * part.load(x, y) + 1000000 * fixed.load(x, y);
    threadgroup_barrier(mem_flags::mem_device);
    part.store(float(-x), x, y);
}

kernel void ranks(tensor<device int, dextents<long, 1>> one [[buffer(0)]], tensor<device int, dextents<ushort, 3>> three [[buffer(1)]],
    tensor<device int, extents<uint, 2, 3, dynamic_extent, 2>> four [[buffer(2)]], device int *out [[buffer(3)]])
{
    int n = 0;
    for (long i = 0; i < one.get_extent(0); i++) out[n++] = one[i];
    for (ushort z = 0; z < three.get_extent(2); z++)
        for (ushort y = 0; y < three.get_extent(1); y++)
            for (ushort x = 0; x < three.get_extent(0); x++) out[n++] = three[x, y, z];
    for (uint w = 0; w < 2; w++)
        for (uint z = 0; z < four.get_extent(2); z++)
            for (uint y = 0; y < 3; y++)
                for (uint x = 0; x < 2; x++) out[n++] = four[array<uint, 4>{x, y, z, w}];
    one.slice(1)[0] = -1;
    three.slice(1, 1, 1)[0, 0, 0] = -2;
    four.slice(1, 1, 1, 1).store(-3, 0, 0, 0, 0);
}

template <typename E, typename X, typename D, typename... M> int total(tensor<E, X, D, M...> t)
{
    int sum = 0;
    for (int y = 0; y < t.get_extent(1); y++)
        for (int x = 0; x < t.get_extent(0); x++) sum = sum * 3 + int(t[x, y]);
    return sum;
}
constant short table[] = {5, 6, 7, 8, 9, 10};
kernel void spaces(tensor<constant half, extents<int, 2, 3>> c [[buffer(0)]], tensor<const device int, dextents<int, 2>> d [[buffer(1)]],
    device int *out [[buffer(2)]], uint i [[thread_index_in_threadgroup]])
{
    threadgroup int shared[12];
    uchar own[6] = {1, 2, 3, 4, 5, uchar(i)};
    auto t = tensor(&shared[0], extents<int, 3, 4>());
    t[int(i) % 3, int(i) / 3] = int(i) * 2;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    auto mine = tensor<thread uchar, extents<int, 3, 2>, tensor_inline>(own, extents<int, 3, 2>());
    tensor<constant short, dextents<int, 2>, tensor_inline> fixed(table, dextents<int, 2>(3, 2));
    tensor<const device int, dextents<int, 2>, tensor_inline> turned(&d[0, 0], dextents<int, 2>(d.get_extent(1), d.get_extent(0)),
        array<int, 2>{d.get_stride(1), 1});
    out[i * 6 + 0] = total(c);
    out[i * 6 + 1] = total(d);
    out[i * 6 + 2] = total(t);
    out[i * 6 + 3] = total(mine);
    out[i * 6 + 4] = total(fixed.slice(1, 0));
    out[i * 6 + 5] = total(turned);
}

// The argument exists only with the constant.
constant bool present [[function_constant(0)]];
kernel void optional(device int *out [[buffer(0)]], tensor<device int, dextents<int, 2>> t [[buffer(1), function_constant(present)]])
{
    out[0] = is_function_constant_defined(present) && present ? t[1, 1] : -1;
}

// Cooperative tensors: rows and columns of one element are spread; single elements through iterators and numbers.
kernel void cooperative(tensor<device float, dextents<int, 2>> in [[buffer(0)]], tensor<device float, dextents<int, 2>> row [[buffer(1)]],
    tensor<device float, dextents<int, 2>> column [[buffer(2)]], tensor<device float, dextents<int, 2>> out [[buffer(3)]],
    device int *facts [[buffer(4)]], uint lane [[thread_index_in_simdgroup]])
{
    using namespace mpp::tensor_ops;
    typedef tensor<device float, dextents<int, 2>> operand;
    matmul2d<matmul2d_descriptor(8, 12, 8), execution_simdgroup> op;
    auto t = op.get_destination_cooperative_tensor<operand, operand, float>();
    auto a = op.get_destination_cooperative_tensor<operand, operand, float>();
    auto b = op.get_destination_cooperative_tensor<operand, operand, float>();
    bool zero = true;
    for (auto i = t.begin(); i != t.end(); i++) zero = zero && *i == 0;
    t.load(in);
    a.load(row);
    b.load(column);
    for (ushort i = 0; i < t.get_capacity(); i++) {
        auto at = t.get_multidimensional_index(i);
        if (t.get_mask(i)) t.set(i, t.get(i) + 16 * a[i] + 256 * b[i] + 4096 * (at[0] + 16 * at[1]));
        t.set(i, t.get(i) + 0.5f);
    }
    auto it = t.get_iterator(0);
    if (it.is_valid_element()) *it += 0.25f;
    t.store(out);
    if (lane == 0) {
        facts[0] = zero;
        facts[1] = int(t.get_rank());
        facts[2] = t.get_extent(0);
        facts[3] = t.get_extent(1);
        facts[4] = t.is_valid_element(it);
        facts[5] = it.get_multidimensional_index()[0];
    }
}
