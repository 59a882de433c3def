// matmul2d: types, transpositions, both modes, every scope, tiles at the edges; cooperative tensors as operands; the layout of
// their elements; reductions. The models are in product.c.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

static_assert(dynamic_length<int>::value == dynamic_length_v<int> && dynamic_length_v<int> == INT_MAX);

// One tile of C = A B (+ C) for each threadgroup. STEP 0: the inner dimension is the tensors', the destination is in memory;
// else the destination is a cooperative tensor, and each run takes STEP of the inner dimension. GROUPS 0: one thread alone.
template <typename A, typename B, typename C, int M, int N, int STEP, bool TL, bool TR, bool ADD, int GROUPS>
kernel void product(tensor<device A, dextents<int, 2>> a [[buffer(0)]], tensor<device B, dextents<int, 2>> b [[buffer(1)]],
    tensor<device C, dextents<int, 2>> c [[buffer(2)]], uint2 tile [[threadgroup_position_in_grid]])
{
    constexpr auto mode = ADD || STEP ? matmul2d_descriptor::mode::multiply_accumulate : matmul2d_descriptor::mode::multiply;
    constexpr auto desc = matmul2d_descriptor(M, N, STEP ? STEP : dynamic_length_v<int>, TL, TR, false, mode);
    typedef conditional_t<GROUPS == 0, execution_thread, execution_simdgroups<GROUPS ? GROUPS : 1>> scope;
    matmul2d<desc, scope> op;
    int m = int(tile.y) * M, n = int(tile.x) * N;
    auto mc = c.slice(n, m);
    if constexpr (STEP == 0) {
        auto ma = TL ? a.slice(m, 0) : a.slice(0, m);
        auto mb = TR ? b.slice(0, n) : b.slice(n, 0);
        op.run(ma, mb, mc);
    } else {
        auto tc = op.template get_destination_cooperative_tensor<decltype(a), decltype(b), C>();
        if (ADD) tc.load(mc);
        for (int k = 0; k < a.get_extent(TL ? 1 : 0); k += STEP) {
            auto ma = TL ? a.slice(m, k) : a.slice(k, m);
            auto mb = TR ? b.slice(k, n) : b.slice(n, k);
            op.run(ma, mb, tc);
        }
        tc.store(mc);
    }
}
#define PRODUCT(NAME, A, B, C, ...)                                                                                     \
    template [[host_name("product_" #NAME)]] kernel void product<A, B, C, __VA_ARGS__>(                                  \
        tensor<device A, dextents<int, 2>> a [[buffer(0)]], tensor<device B, dextents<int, 2>> b [[buffer(1)]],          \
        tensor<device C, dextents<int, 2>> c [[buffer(2)]], uint2 tile [[threadgroup_position_in_grid]]);
#define IN_THREADS(...)
#include "product.def"
#undef PRODUCT
#undef IN_THREADS

// All three operands in threads, filled from tensors by load.
template <typename A, typename B, typename C, int M, int N, int K, bool TL, bool TR>
kernel void in_threads(tensor<device A, dextents<int, 2>> a [[buffer(0)]], tensor<device B, dextents<int, 2>> b [[buffer(1)]],
    tensor<device C, dextents<int, 2>> c [[buffer(2)]])
{
    constexpr auto desc = matmul2d_descriptor(M, N, K, TL, TR, true, matmul2d_descriptor::mode::multiply_accumulate);
    matmul2d<desc, execution_simdgroup> op;
    auto ta = op.template get_left_input_cooperative_tensor<A, B, C>();
    auto tb = op.template get_right_input_cooperative_tensor<A, B, C>();
    auto tc = op.template get_destination_cooperative_tensor<decltype(ta), decltype(tb), C>();
    for (ushort i = 0; i < ta.get_capacity(); i++) // what is not valid must not matter
        if (!ta.is_valid_element(i)) ta[i] = A(77);
    ta.load(a);
    tb.load(b);
    tc.load(c);
    op.run(ta, tb, tc);
    tc.store(c);
}
#define IN_THREADS(NAME, A, B, C, ...)                                                                                   \
    template [[host_name("in_threads_" #NAME)]] kernel void in_threads<A, B, C, __VA_ARGS__>(                            \
        tensor<device A, dextents<int, 2>> a [[buffer(0)]], tensor<device B, dextents<int, 2>> b [[buffer(1)]],          \
        tensor<device C, dextents<int, 2>> c [[buffer(2)]]);
#define PRODUCT(...)
#include "product.def"

// One operand in threads, the other in memory: threadgroup memory on the right, static extents.
kernel void left_in_threads(tensor<device half, dextents<int, 2>> a [[buffer(0)]], tensor<device half, dextents<int, 2>> b [[buffer(1)]],
    tensor<device float, dextents<int, 2>> c [[buffer(2)]], uint lane [[thread_index_in_simdgroup]])
{
    threadgroup half tile[16 * 24];
    for (uint i = lane; i < 16 * 24; i += 32) tile[i] = b[i % 24, i / 24];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    matmul2d<matmul2d_descriptor(24, 24, 16), execution_simdgroup> op;
    auto ta = op.get_left_input_cooperative_tensor<half, half, float>();
    ta.load(a);
    auto mb = tensor<threadgroup half, extents<int, 24, 16>, tensor_inline>(tile, extents<int, 24, 16>());
    auto mc = c.slice<24, 24>(0, 0);
    op.run(ta, mb, mc);
}
kernel void right_in_threads(tensor<device half, dextents<int, 2>> a [[buffer(0)]], tensor<device half, dextents<int, 2>> b [[buffer(1)]],
    tensor<device float, dextents<int, 2>> c [[buffer(2)]])
{
    matmul2d<matmul2d_descriptor(24, 24, 16), execution_simdgroup> op;
    auto tb = op.get_right_input_cooperative_tensor<half, half, float>();
    tb.load(b);
    op.run(a, tb, c);
}

// (A B) C with the first product as the left input of the second, and A (B C) with it as the right one.
kernel void chain_left(tensor<device float, dextents<int, 2>> a [[buffer(0)]], tensor<device float, dextents<int, 2>> b [[buffer(1)]],
    tensor<device float, dextents<int, 2>> c [[buffer(2)]], tensor<device float, dextents<int, 2>> out [[buffer(3)]],
    device uint *fits [[buffer(4)]])
{
    matmul2d<matmul2d_descriptor(16, 16, 24), execution_simdgroup> ab;
    matmul2d<matmul2d_descriptor(16, 32, 16), execution_simdgroup> ab_c;
    matmul2d<matmul2d_descriptor(16, 32, 24), execution_simdgroup> other;
    auto t = ab.get_destination_cooperative_tensor<decltype(a), decltype(b), float>();
    ab.run(a, b, t);
    auto as_left = ab_c.get_left_input_cooperative_tensor<float, float, float>(t);
    ab_c.run(as_left, c, out);
    fits[0] = ab_c.is_compatible_as_left_input<float, float, float>(t);
    fits[1] = ab_c.is_compatible_as_left_input<half, float, float>(t);
    fits[2] = other.is_compatible_as_left_input<float, float, float>(t);
}
kernel void chain_right(tensor<device float, dextents<int, 2>> a [[buffer(0)]], tensor<device float, dextents<int, 2>> b [[buffer(1)]],
    tensor<device float, dextents<int, 2>> c [[buffer(2)]], tensor<device float, dextents<int, 2>> out [[buffer(3)]],
    device uint *fits [[buffer(4)]])
{
    matmul2d<matmul2d_descriptor(24, 32, 16), execution_simdgroup> bc;
    matmul2d<matmul2d_descriptor(16, 32, 24), execution_simdgroup> a_bc;
    matmul2d<matmul2d_descriptor(16, 32, 16), execution_simdgroup> other;
    auto t = bc.get_destination_cooperative_tensor<decltype(b), decltype(c), float>();
    bc.run(b, c, t);
    auto as_right = a_bc.get_right_input_cooperative_tensor<float, float, float>(t);
    a_bc.run(a, as_right, out);
    fits[0] = a_bc.is_compatible_as_right_input<float, float, float>(t);
    fits[1] = a_bc.is_compatible_as_right_input<float, half, float>(t);
    fits[2] = other.is_compatible_as_right_input<float, float, float>(t);
}

// Where the elements lie that kernels read by number: for each thread and element, column, row and validity.
template <typename E, typename X, typename L>
void show(thread cooperative_tensor<E, X, L> &t, device int *out, uint thread_index)
{
    for (ushort i = 0; i < t.get_capacity(); i++) {
        auto at = t.get_multidimensional_index(i);
        device int *p = out + (thread_index * t.get_capacity() + i) * 3;
        p[0] = at[0];
        p[1] = at[1];
        p[2] = t.is_valid_element(i);
    }
}
kernel void layouts(device int *left [[buffer(0)]], device int *right [[buffer(1)]], device int *result [[buffer(2)]],
    uint lane [[thread_index_in_simdgroup]])
{
    matmul2d<matmul2d_descriptor(24, 32, 32, false, true), execution_simdgroup> op;
    auto l = op.get_left_input_cooperative_tensor<half, half, float>();
    auto r = op.get_right_input_cooperative_tensor<half, half, float>();
    auto d = op.get_destination_cooperative_tensor<decltype(l), decltype(r), float>();
    show(l, left, lane);
    show(r, right, lane);
    show(d, result, lane);
}
kernel void shared_layout(device int *out [[buffer(0)]], uint l [[thread_index_in_threadgroup]])
{
    typedef tensor<device half, dextents<int, 2>, tensor_inline> operand;
    matmul2d<matmul2d_descriptor(40, 72), execution_simdgroups<3>> op;
    auto d = op.get_destination_cooperative_tensor<operand, operand, float>();
    show(d, out, l);
}

// Rows and columns of a product, summed and compared; iterators from a tile to its results.
kernel void reductions(tensor<device float, dextents<int, 2>> in [[buffer(0)]], tensor<device float, dextents<int, 1>> row_sum [[buffer(1)]],
    tensor<device float, dextents<int, 1>> row_max [[buffer(2)]], tensor<device float, dextents<int, 1>> column_min [[buffer(3)]],
    tensor<device float, dextents<int, 1>> column_sum [[buffer(4)]], tensor<device float, dextents<int, 2>> centred [[buffer(5)]],
    device uint *facts [[buffer(6)]])
{
    matmul2d<matmul2d_descriptor(24, 40), execution_simdgroup> op;
    matmul2d<matmul2d_descriptor(16, 40), execution_simdgroup> other;
    typedef tensor<device float, dextents<int, 2>> operand;
    auto t = op.get_destination_cooperative_tensor<operand, operand, float>();
    t.load(in);
    auto rs = op.get_row_reduction_destination_cooperative_tensor<operand, operand, float>();
    auto rm = op.get_row_reduction_destination_cooperative_tensor<operand, operand, float>();
    auto cm = op.get_column_reduction_destination_cooperative_tensor<operand, operand, float>();
    auto cs = op.get_column_reduction_destination_cooperative_tensor<operand, operand, float>();
    auto elsewhere = other.get_row_reduction_destination_cooperative_tensor<operand, operand, float>();
    reduce_rows(t, rs);
    reduce_rows(t, rm, reduction_operation::max, reduction_operation_identity<float>::max_identity);
    reduce_columns(t, cm, reduction_operation::min, reduction_operation_identity<float>::min_identity);
    reduce_columns(t, cs, reduction_operation::sum, 100.0f);
    rs.store(row_sum);
    rm.store(row_max);
    cm.store(column_min);
    cs.store(column_sum);
    if (is_iterator_compatible(t, rm) && is_iterator_compatible(t, cm))
        for (auto it = t.begin(); it != t.end(); ++it) *it = *it * 1000 + *rm.map_iterator(it) - *cm.map_iterator(it);
    t.store(centred);
    facts[0] = is_iterator_compatible(t, rs);
    facts[1] = is_iterator_compatible(t, elsewhere);
    facts[2] = is_iterator_compatible(rs, rm);
    facts[3] = is_iterator_compatible(rs, cm);
    facts[4] = uint(rm.get_rank());
    facts[5] = uint(rm.get_extent(0));
    facts[6] = uint(cm.get_extent(0));
}

kernel void integer_reductions(tensor<device int, dextents<int, 2>> in [[buffer(0)]], tensor<device int, dextents<int, 1>> rows [[buffer(1)]],
    tensor<device int, dextents<int, 1>> columns [[buffer(2)]])
{
    typedef tensor<device char, dextents<int, 2>> operand;
    matmul2d<matmul2d_descriptor(16, 16), execution_simdgroup> op;
    auto t = op.get_destination_cooperative_tensor<operand, operand, int>();
    t.load(in);
    auto r = op.get_row_reduction_destination_cooperative_tensor<operand, operand, int>();
    auto c = op.get_column_reduction_destination_cooperative_tensor<operand, operand, int>();
    reduce_rows(t, r, reduction_operation::max, reduction_operation_identity<int>::max_identity);
    reduce_columns(t, c);
    r.store(rows);
    c.store(columns);
}

// Mistakes that only show at run time.
kernel void wrong_groups(tensor<device half, dextents<int, 2>> a [[buffer(0)]], tensor<device half, dextents<int, 2>> b [[buffer(1)]],
    tensor<device float, dextents<int, 2>> c [[buffer(2)]])
{
    matmul2d<matmul2d_descriptor(16, 16), execution_simdgroups<4>> op;
    op.run(a, b, c);
}
kernel void wrong_map(device float *out [[buffer(0)]])
{
    typedef tensor<device half, dextents<int, 2>> operand;
    matmul2d<matmul2d_descriptor(16, 16), execution_simdgroup> op;
    matmul2d<matmul2d_descriptor(32, 16), execution_simdgroup> other;
    auto t = op.get_destination_cooperative_tensor<operand, operand, float>();
    auto r = other.get_row_reduction_destination_cooperative_tensor<operand, operand, float>();
    out[0] = *r.map_iterator(t.begin());
}
