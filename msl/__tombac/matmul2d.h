/* mpp::tensor_ops::matmul2d of MetalPerformancePrimitives: D = A x B, or D + A x B, of a tile.
 *
 * Everything is computed in float, a sum over ascending k by fma, beginning with 0 or the destination's
 * element, and rounded once to the destination's type; integers are exact. In SIMD-groups this is a chain of
 * 8x8 SIMD-group matrix operations over k (docs/operations.md), so that all engines agree. What lies outside
 * of a tensor's extents is read as zero and not written. Facts: Metal Shading Language Specification 4, 7.2,
 * and the uses of it in public kernels; relaxed_precision allows less exact results, which are not made use
 * of.
 *
 * Needs C++20 (template parameters of class type). */
#pragma once
#include <metal_limits>
#include <metal_simdgroup>
#include <__tombac/operand.h>

namespace __tombac
{
namespace mpp
{
namespace tensor_ops
{
using namespace metal::__tensors;

template <typename T> constexpr T dynamic_length_v = metal::numeric_limits<T>::max();
template <typename T> struct dynamic_length {
    static constexpr T value = dynamic_length_v<T>;
};

struct matmul2d_descriptor {
    enum class mode { multiply, multiply_accumulate };
    int m, n, k;
    bool transpose_left, transpose_right, relaxed_precision;
    mode matmul_mode;

    __TB_CONST_FN matmul2d_descriptor(int m_, int n_, int k_ = static_cast<int>(dynamic_extent),
                                      bool transpose_left_ = false, bool transpose_right_ = false,
                                      bool relaxed_precision_ = false, mode mode_ = mode::multiply)
        : m(m_), n(n_), k(k_), transpose_left(transpose_left_), transpose_right(transpose_right_),
          relaxed_precision(relaxed_precision_), matmul_mode(mode_)
    {
    }
    /* The inner dimension is the tensors': 0, dynamic_extent or dynamic_length_v<int>. */
    __TB_CONST_FN bool __dynamic() const { return k <= 0 || k == dynamic_length_v<int>; }
};

enum class reduction_operation { sum, max, min };
template <typename T> struct reduction_operation_identity {
    static constexpr T sum_identity = T(0);
    static constexpr T max_identity = metal::numeric_limits<T>::lowest();
    static constexpr T min_identity = metal::numeric_limits<T>::max();
};

template <typename T> constexpr bool __is_byte_v = __is_same(T, char) || __is_same(T, uchar);
template <typename A, typename B, typename C> struct __operand_types {
    static constexpr bool operands = (metal::__is_float_v<A> || __is_byte_v<A>) &&
                                     (metal::__is_float_v<B> || __is_byte_v<B>);
    static_assert(operands, "matmul2d multiplies half, bfloat, float, char and uchar");
    static_assert(metal::__is_float_v<C> || __is_same(C, int), "the result of matmul2d is half, bfloat, float or int");
    static_assert(!operands || !__is_same(C, int) || (__is_byte_v<A> && __is_byte_v<B>),
                  "the result of matmul2d is int for 8-bit integers only");
    static_assert(!operands || __is_same(C, float) || !(__is_same(A, float) || __is_same(B, float)),
                  "the result of matmul2d with a float operand is float");
    static constexpr bool right = true;
};

template <matmul2d_descriptor DESCRIPTOR, typename SCOPE, typename... ARGUMENTS> class matmul2d
{
    static constexpr matmul2d_descriptor d = DESCRIPTOR;
    static constexpr bool alone = is_execution_thread_v<SCOPE>;
    static constexpr int groups = int(SCOPE::static_size);
    static constexpr bool accumulates = d.matmul_mode == matmul2d_descriptor::mode::multiply_accumulate;
    static_assert(alone || is_execution_simdgroups_v<SCOPE>,
                  "the scope of matmul2d is execution_thread, execution_simdgroup or execution_simdgroups<N>");
    static_assert(d.m > 0 && d.n > 0, "matmul2d needs at least one row and one column");
    static_assert(sizeof...(ARGUMENTS) == 0, "matmul2d takes a descriptor and a scope");

    template <typename L> using __element_t = typename L::value_type;
    template <typename C, typename I> using __coordinates = extents<I, size_t(C::columns), size_t(C::rows)>;
    template <bool LEFT> struct __input {
        static constexpr int k = d.__dynamic() ? 1 : d.k;
        static constexpr bool turned = LEFT ? d.transpose_left : d.transpose_right;
        static constexpr int high = LEFT ? d.m : k, wide = LEFT ? k : d.n;
        typedef tile_layout<turned ? wide : high, turned ? high : wide, 1, turned> layout;
    };
    typedef metal::conditional_t<alone, thread_layout<d.m, d.n>, tile_layout<d.m, d.n, alone ? 1 : groups>>
        __result;
    template <bool OF_ROWS> using __reduction = reduction_layout<d.m, d.n, OF_ROWS>;

  public:
    static constexpr matmul2d_descriptor descriptor = DESCRIPTOR;
    typedef SCOPE scope;

    template <typename L, typename R, typename E, typename I = int>
    using cooperative_tensor_left_input_t =
        cooperative_tensor<L, __coordinates<typename __input<true>::layout, I>, typename __input<true>::layout>;
    template <typename L, typename R, typename E, typename I = int>
    using cooperative_tensor_right_input_t =
        cooperative_tensor<R, __coordinates<typename __input<false>::layout, I>, typename __input<false>::layout>;
    template <typename L, typename R, typename E, typename I = int>
    using cooperative_tensor_destination_t = cooperative_tensor<E, __coordinates<__result, I>, __result>;
    template <typename L, typename R, typename E, typename I = int>
    using cooperative_tensor_row_reduction_destination_t =
        cooperative_tensor<E, extents<I, size_t(d.m)>, __reduction<true>>;
    template <typename L, typename R, typename E, typename I = int>
    using cooperative_tensor_column_reduction_destination_t =
        cooperative_tensor<E, extents<I, size_t(d.n)>, __reduction<false>>;

    template <typename L, typename R, typename E, typename I = int>
    __TB_FN auto get_left_input_cooperative_tensor() const
    {
        __check_input<L, R, E>();
        return cooperative_tensor_left_input_t<L, R, E, I>();
    }
    template <typename L, typename R, typename E, typename I = int>
    __TB_FN auto get_right_input_cooperative_tensor() const
    {
        __check_input<L, R, E>();
        return cooperative_tensor_right_input_t<L, R, E, I>();
    }
    /* The result of another product as an operand of this one. */
    template <typename L, typename R, typename E, typename I = int, typename S, typename X, typename Y>
    __TB_FN auto get_left_input_cooperative_tensor(const cooperative_tensor<S, X, Y> &source) const
    {
        static_assert(__takes<L, S, Y, true>(), "the source is no tensor that fits as the left input of matmul2d: "
                                               "one SIMD-group, the same type and shape, not transposed");
        auto made = get_left_input_cooperative_tensor<L, R, E, I>();
        __TB_UNROLL
        for (ushort i = 0; i < Y::capacity; i++) made.__elements[i] = source.__elements[i];
        return made;
    }
    template <typename L, typename R, typename E, typename I = int, typename S, typename X, typename Y>
    __TB_FN auto get_right_input_cooperative_tensor(const cooperative_tensor<S, X, Y> &source) const
    {
        static_assert(__takes<R, S, Y, false>(), "the source is no tensor that fits as the right input of matmul2d: "
                                                "one SIMD-group, the same type and shape, not transposed");
        auto made = get_right_input_cooperative_tensor<L, R, E, I>();
        __TB_UNROLL
        for (ushort i = 0; i < Y::capacity; i++) made.__elements[i] = source.__elements[i];
        return made;
    }
    template <typename L, typename R, typename E, typename S, typename X, typename Y>
    __TB_FN bool is_compatible_as_left_input(const cooperative_tensor<S, X, Y> &) const
    {
        return __takes<L, S, Y, true>();
    }
    template <typename L, typename R, typename E, typename S, typename X, typename Y>
    __TB_FN bool is_compatible_as_right_input(const cooperative_tensor<S, X, Y> &) const
    {
        return __takes<R, S, Y, false>();
    }
    template <typename L, typename R, typename E, typename I = int>
    __TB_FN auto get_destination_cooperative_tensor() const
    {
        static_assert(__operand_types<__element_t<L>, __element_t<R>, E>::right);
        return cooperative_tensor_destination_t<L, R, E, I>();
    }
    template <typename L, typename R, typename E, typename I = int>
    __TB_FN auto get_row_reduction_destination_cooperative_tensor() const
    {
        static_assert(!alone && groups == 1, "reductions need the scope execution_simdgroup");
        return cooperative_tensor_row_reduction_destination_t<L, R, E, I>();
    }
    template <typename L, typename R, typename E, typename I = int>
    __TB_FN auto get_column_reduction_destination_cooperative_tensor() const
    {
        static_assert(!alone && groups == 1, "reductions need the scope execution_simdgroup");
        return cooperative_tensor_column_reduction_destination_t<L, R, E, I>();
    }

    template <typename L, typename R, typename C> __TB_FN void run(L &left, R &right, C &destination) const
    {
        static_assert((__is_tensor_v<__remove_cv(L)> || __is_cooperative_v<__remove_cv(L)>) &&
                          (__is_tensor_v<__remove_cv(R)> || __is_cooperative_v<__remove_cv(R)>) &&
                          (__is_tensor_v<__remove_cv(C)> || __is_cooperative_v<__remove_cv(C)>),
                      "run takes tensors and cooperative tensors");
        static_assert(__operand_types<__element_t<L>, __element_t<R>, __element_t<C>>::right);
        __check_operand<L, typename __input<true>::layout>();
        __check_operand<R, typename __input<false>::layout>();
        if constexpr (__is_cooperative_v<C>)
            static_assert(__is_same(typename C::layout, __result),
                          "the destination is a cooperative tensor of another operation");
        long k = d.k;
        if constexpr (d.__dynamic() && __is_tensor_v<__remove_cv(L)>) k = left.__size(d.transpose_left ? 1 : 0);
        if constexpr (alone) {
            product_of_thread<d.m, d.n, d.transpose_left, d.transpose_right, accumulates>(left, right, destination,
                                                                                         k);
        } else {
            if constexpr (groups > 1)
                if (simdgroups_per_threadgroup() != uint(groups))
                    unsupported("matmul2d with execution_simdgroups<N> in a threadgroup of another number of "
                                "SIMD-groups");
            product_of_groups<__result, d.__dynamic() ? 0 : d.k, d.transpose_left, d.transpose_right, accumulates>(left, right, destination,
                                                                                         k);
        }
    }

  private:
    template <typename L, typename R, typename E> static constexpr void __check_input()
    {
        static_assert(__operand_types<L, R, E>::right);
        static_assert(!d.__dynamic() && !alone && groups == 1,
                      "cooperative tensors as inputs need the scope execution_simdgroup, and an inner "
                      "dimension that is no dynamic extent");
    }
    template <typename T, typename LAYOUT> static constexpr void __check_operand()
    {
        if constexpr (__is_cooperative_v<T>) {
            static_assert(!d.__dynamic() && !alone && groups == 1,
                          "cooperative tensors as inputs need the scope execution_simdgroup, and an inner "
                          "dimension that is no dynamic extent");
            static_assert(__is_same(typename T::layout, LAYOUT),
                          "the operand is a cooperative tensor of another operation, or its other input");
        } else {
            static_assert(T::__rank == 2, "matmul2d multiplies tensors of two dimensions");
        }
    }
    template <typename T, typename S, typename Y, bool LEFT> static constexpr bool __takes()
    {
        return __is_same(T, S) && Y::kind == TILE && Y::groups == 1 && !alone && groups == 1 && !d.__dynamic() &&
               !__input<LEFT>::turned && Y::rows == __input<LEFT>::high && Y::columns == __input<LEFT>::wide;
    }
};

/* ---- What there is no more of ---- */

enum class convolution2d_activation_layout { nhwc };
enum class convolution2d_weights_layout { hwio };
struct convolution2d_descriptor {
    enum class mode { multiply, multiply_accumulate };
    template <typename... T> __TB_CONST_FN convolution2d_descriptor(T...) {}
};
template <convolution2d_descriptor D, typename... ARGUMENTS> struct convolution2d {
    static_assert(sizeof...(ARGUMENTS) > 99, "convolution2d is not supported");
    template <typename... T> void run(T &&...) const;
};

/* ---- Reductions ---- */

template <typename T> __TB_FN T __reduce(reduction_operation op, T a, T b)
{
    if (op == reduction_operation::sum) {
        typedef typename metal::__element_arithmetic<T>::type Wrapping;
        return T((Wrapping)a + (Wrapping)b);
    }
    return (op == reduction_operation::max) == (a < b) ? b : a;
}
template <typename T> __TB_FN T __neutral(reduction_operation op)
{
    typedef metal::numeric_limits<T> limits;
    if (op == reduction_operation::sum) return T(0);
    if constexpr (limits::has_infinity)
        return op == reduction_operation::max ? T(-limits::infinity()) : limits::infinity();
    else
        return op == reduction_operation::max ? limits::lowest() : limits::max();
}

/* Each row's elements in this thread from left to right, then those of the threads of the row, in pairs, then
 * the identity. */
template <typename E, typename X, typename Y, typename S, typename T>
__TB_FN void reduce_rows(cooperative_tensor<E, X, S> &source, cooperative_tensor<E, Y, T> &destination,
                         reduction_operation op = reduction_operation::sum,
                         E identity = reduction_operation_identity<E>::sum_identity)
{
    static_assert(S::kind == TILE && T::kind == ROW_RESULT && T::template maps_from<S>,
                  "reduce_rows takes the destination of a product and a row reduction destination of it");
    __TB_UNROLL
    for (ushort i = 0; i < T::capacity; i++) {
        E all = __neutral<E>(op);
        __TB_UNROLL
        for (ushort j = 0; j < 4 * S::width; j++) {
            ushort at = ushort((i / 2 * S::width + j / 4) * 8 + i % 2 * 4 + j % 4);
            E more = __reduce(op, all, source.__elements[at]);
            all = S::columns % 16 == 0 || S::column(at) < uint(S::columns) ? more : all;
        }
        all = __reduce(op, all, metal::simd_shuffle_xor(all, ushort(1)));
        all = __reduce(op, all, metal::simd_shuffle_xor(all, ushort(8)));
        destination.__elements[i] = __reduce(op, identity, all);
    }
}
template <typename E, typename X, typename Y, typename S, typename T>
__TB_FN void reduce_columns(cooperative_tensor<E, X, S> &source, cooperative_tensor<E, Y, T> &destination,
                            reduction_operation op = reduction_operation::sum,
                            E identity = reduction_operation_identity<E>::sum_identity)
{
    static_assert(S::kind == TILE && T::kind == COLUMN_RESULT && T::template maps_from<S>,
                  "reduce_columns takes the destination of a product and a column reduction destination of it");
    __TB_UNROLL
    for (ushort i = 0; i < T::capacity; i++) {
        E all = __neutral<E>(op);
        __TB_UNROLL
        for (ushort j = 0; j < 2 * S::height; j++) {
            ushort at = ushort((j / 2 * S::width + i / 4) * 8 + j % 2 * 4 + i % 4);
            E more = __reduce(op, all, source.__elements[at]);
            all = S::rows % 16 == 0 || S::row(at) < uint(S::rows) ? more : all;
        }
        all = __reduce(op, all, metal::simd_shuffle_xor(all, ushort(2)));
        all = __reduce(op, all, metal::simd_shuffle_xor(all, ushort(4)));
        all = __reduce(op, all, metal::simd_shuffle_xor(all, ushort(16)));
        destination.__elements[i] = __reduce(op, identity, all);
    }
}
/* Whether destination.map_iterator takes iterators of source. */
template <typename E, typename F, typename X, typename Y, typename S, typename T>
__TB_FN bool is_iterator_compatible(const cooperative_tensor<E, X, S> &, const cooperative_tensor<F, Y, T> &)
{
    return T::template maps_from<S>;
}
} // namespace tensor_ops
} // namespace mpp
} // namespace __tombac
