/* The arithmetic of matmul2d: operands as pairs of elements of 8x8 SIMD-group matrices, whether they lie in
 * memory or in threads, and the loops over them. */
#pragma once
#include <__tombac/tile.h>

namespace __tombac
{
/* ---- Operands in memory ---- */

/* A matrix whose rows or columns go along the tensor's first dimension: rows of the left operand are m,
 * columns k; rows of the right one are k, columns n. TURNED: columns go along the second. */
template <typename T, bool TURNED> struct memory_operand {
    typedef decltype(T::__data) pointer;
    pointer data;
    long row_stride, column_stride, rows, columns;

    __TB_FN memory_operand(const T &t)
        : data(t.__data), row_stride(t.__stride[TURNED ? 0 : 1]), column_stride(t.__stride[TURNED ? 1 : 0]),
          rows(t.__size(TURNED ? 0 : 1)), columns(t.__size(TURNED ? 1 : 0))
    {
    }
    /* (row0 + row, column0 + column + {0, 1}), where row0 and column0 are the SIMD-group's; what is outside
     * is zero, if INSIDE does not say that nothing is. Only elements inside are read; there must be one. */
    template <bool INSIDE> __TB_FN __pair fetch(long row0, uint row, long column0, uint column) const
    {
        pointer corner = data + (row0 * row_stride + column0 * column_stride);
        if constexpr (INSIDE) {
            pointer p = corner + (ulong(row) * ulong(row_stride) + ulong(column) * ulong(column_stride));
            return __pair{float(p[0]), float(p[column_stride])};
        } else {
            long r = row0 + long(row), c = column0 + long(column);
            bool first = r < rows && c < columns, second = r < rows && c + 1 < columns;
            pointer p = data + ((r < rows ? r : 0) * row_stride);
            float x = float(p[(first ? c : 0) * column_stride]);
            float y = float(p[(second ? c + 1 : 0) * column_stride]);
            return __pair{first ? x : 0.0f, second ? y : 0.0f};
        }
    }
};

/* ---- Operands in threads ---- */

/* Elements lie at places of 8 bits: the lane's 5 bits, and the element's 3 within the fragment. Exchanges a
 * bit of the one with a bit of the other. */
template <int LANE_BIT, int ELEMENT_BIT> __TB_FN void exchange_bits(float (&v)[8])
{
    bool high = (lane() >> LANE_BIT & 1) != 0;
    __TB_UNROLL
    for (int i = 0; i < 8; i++) {
        if (i >> ELEMENT_BIT & 1) continue;
        int j = i | 1 << ELEMENT_BIT;
        float low = v[i], up = v[j], sent = high ? +low : +up; /* + : values, not a choice of addresses */
        uint bits = simd_shuffle_xor(__builtin_bit_cast(uint, sent), ushort(1 << LANE_BIT));
        float other = __builtin_bit_cast(float, bits);
        v[i] = high ? +other : +low;
        v[j] = high ? +up : +other;
    }
}
/* Exchanges two bits of the lane. */
template <int BIT, int OTHER> __TB_FN void exchange_lane_bits(float (&v)[8])
{
    bool differ = ((lane() >> BIT ^ lane() >> OTHER) & 1) != 0;
    __TB_UNROLL
    for (int i = 0; i < 8; i++) {
        float own = v[i];
        uint bits = simd_shuffle_xor(__builtin_bit_cast(uint, own), ushort(1 << BIT | 1 << OTHER));
        v[i] = differ ? __builtin_bit_cast(float, bits) : +own;
    }
}

/* Where the bits of a row r3..r0 and a column c3..c0 lie in a fragment, as bits of the lane and of the
 * element: r2 c3 r1 r0 c2 | r3 c1 c0. Where they lie in 8x8 matrices, of which r3, c3 (left) or r3, and
 * the first bit of a pair of columns (right) give the number:
 *     left      r2 c2 r1 r0 c1 | r3 c3 c0
 *     right     r2 c3 r1 r0 c2 | r3 c1 c0     (columns in the order of the destination's fragment)
 * Below, c and r are those of the operand; in a turned one they have changed places in the fragment. */
template <bool LEFT, bool TURNED> __TB_FN void to_matrices(float (&v)[8])
{
    if constexpr (LEFT && !TURNED) {
        exchange_bits<3, 1>(v);
        exchange_lane_bits<3, 0>(v);
    } else if constexpr (LEFT) {
        exchange_bits<1, 0>(v);
        exchange_bits<2, 1>(v);
        exchange_bits<3, 2>(v);
        exchange_bits<3, 1>(v);
        exchange_lane_bits<4, 0>(v);
        exchange_lane_bits<3, 0>(v);
    } else if constexpr (TURNED) {
        exchange_bits<3, 2>(v);
        exchange_bits<2, 1>(v);
        exchange_bits<1, 0>(v);
        exchange_lane_bits<4, 0>(v);
    }
}

/* A cooperative tensor as 8x8 matrices. HIGH x WIDE fragments of the operand (rows m or k, columns k or n). */
template <typename T, int ROWS, int COLUMNS, bool LEFT, bool TURNED> struct thread_operand {
    static constexpr int high = (ROWS + 15) / 16, wide = (COLUMNS + 15) / 16;
    float fragment[high * wide][8];

    __TB_FN thread_operand(const T &t)
    {
        __TB_UNROLL
        for (int f = 0; f < high * wide; f++) {
            __TB_UNROLL
            for (int e = 0; e < 8; e++) {
                uint at = uint(8 * f + e);
                constexpr int k = LEFT ? COLUMNS : ROWS;
                float value = float(t.__elements[at]);
                if constexpr (k % 16 != 0) {
                    bool along_columns = LEFT != TURNED; /* k, in the fragment */
                    uint place = along_columns ? T::layout::column(at) : T::layout::row(at);
                    value = place < uint(k) ? value : 0.0f;
                }
                fragment[f][e] = value;
            }
            to_matrices<LEFT, TURNED>(fragment[f]);
        }
    }
    /* The matrix of rows 8i.. and columns 8j.., the latter within a fragment in the destination's order. */
    __TB_FN __pair fetch(int i, int j) const
    {
        const float(&f)[8] = fragment[i / 2 * wide + j / 2];
        int e = i % 2 * 4 + j % 2 * 2;
        return __pair{f[e], f[e + 1]};
    }
};

template <typename T, int ROWS, int COLUMNS, bool LEFT, bool TURNED>
using operand = metal::conditional_t<metal::__tensors::__is_tensor_v<T>, memory_operand<T, TURNED>,
                                     thread_operand<T, ROWS, COLUMNS, LEFT, TURNED>>;

/* ---- Products of SIMD-groups ---- */

/* LAYOUT is the destination's. K: the inner dimension, 0 if it is dynamic. */
template <typename LAYOUT, typename L, typename R, int K, bool TURNED_LEFT, bool TURNED_RIGHT>
struct group_product {
    static constexpr int height = LAYOUT::height, width = LAYOUT::width;
    static constexpr bool left_in_threads = !metal::__tensors::__is_tensor_v<L>;
    static constexpr bool right_in_threads = !metal::__tensors::__is_tensor_v<R>;
    operand<L, LAYOUT::rows, K, true, TURNED_LEFT> left;
    operand<R, K, LAYOUT::columns, false, TURNED_RIGHT> right;
    float sum[height * width][8];

    __TB_FN group_product(const L &l, const R &r, long k) : left(l), right(r)
    {
        if constexpr (!left_in_threads) left.columns = left.columns < k ? left.columns : k;
        if constexpr (!right_in_threads) right.rows = right.rows < k ? right.rows : k;
    }
    /* One step of 8 along k. */
    template <bool INSIDE> __TB_FN void step(long k)
    {
        __pair a[2 * height];
        __TB_UNROLL
        for (int i = 0; i < 2 * height; i++) {
            if constexpr (left_in_threads)
                a[i] = left.fetch(i, int(k / 8));
            else
                a[i] = left.template fetch<INSIDE>(long(LAYOUT::first_row(uint(i) / 2) + 8 * (uint(i) % 2)),
                                                   matrix_row(), k, matrix_column());
        }
        __TB_UNROLL
        for (int j = 0; j < 2 * width; j++) {
            __pair b;
            if constexpr (right_in_threads)
                b = right.fetch(int(k / 8), j);
            else
                b = right.template fetch<INSIDE>(k, matrix_row(), long(LAYOUT::first_column(uint(j) / 2)),
                                                 LAYOUT::inner_column(uint(j) % 2 * 2));
            __TB_UNROLL
            for (int i = 0; i < 2 * height; i++) {
                float *c = &sum[i / 2 * width + j / 2][i % 2 * 4 + j % 2 * 2];
                __pair d = matrix_multiply_accumulate(a[i].x, a[i].y, b.x, b.y, c[0], c[1]);
                c[0] = d.x;
                c[1] = d.y;
            }
        }
    }
    /* Are all elements that this SIMD-group reads inside of the tensors? */
    __TB_FN bool inside(long k) const
    {
        bool all = k % 8 == 0;
        if constexpr (!left_in_threads)
            all &= left.columns >= k && left.rows >= long(LAYOUT::first_row(uint(height)));
        if constexpr (!right_in_threads)
            all &= right.rows >= k && right.columns >= long(LAYOUT::first_column(uint(width)));
        return all;
    }
    __TB_FN bool empty() const
    {
        bool none = false;
        if constexpr (!left_in_threads) none |= left.rows <= 0 || left.columns <= 0;
        if constexpr (!right_in_threads) none |= right.rows <= 0 || right.columns <= 0;
        return none;
    }
    template <bool INSIDE> __TB_FN void steps(long from, long to)
    {
        if constexpr (left_in_threads || right_in_threads) {
            __TB_UNROLL
            for (int k = 0; k < K; k += 8) step<INSIDE>(k);
        } else {
            for (long k = from; k < to; k += 8) step<INSIDE>(k);
        }
    }
    __TB_FN void steps(long from, long to, bool all_inside)
    {
        if constexpr (left_in_threads && right_in_threads) {
            steps<true>(from, to);
        } else {
            if (all_inside)
                steps<true>(from, to);
            else if (!empty())
                steps<false>(from, to);
        }
    }
};

/* Calls each(i, row, column) for the elements of this thread. */
template <typename LAYOUT, typename F> __TB_FN void for_elements(F each)
{
    __TB_UNROLL
    for (uint i = 0; i < LAYOUT::capacity; i++) each(i, long(LAYOUT::row(i)), long(LAYOUT::column(i)));
}

template <typename LAYOUT, typename C> __TB_FN typename C::value_type read_result(const C &c, uint i)
{
    if constexpr (metal::__tensors::__is_tensor_v<C>) {
        const long at[2] = {long(LAYOUT::column(i)), long(LAYOUT::row(i))};
        typename C::value_type value(0);
        if (LAYOUT::valid(i) && c.__holds(at)) value = *c.__at(at);
        return value;
    } else {
        return c.__elements[i];
    }
}
template <typename LAYOUT, typename C> __TB_FN void write_result(C &c, uint i, typename C::value_type value)
{
    if constexpr (metal::__tensors::__is_tensor_v<C>) {
        const long at[2] = {long(LAYOUT::column(i)), long(LAYOUT::row(i))};
        if (LAYOUT::valid(i) && c.__holds(at)) *c.__at(at) = value;
    } else {
        c.__elements[i] = value;
    }
}

/* Sums of products of 8-bit integers are exact in float over this many; then they are added as integers. */
constexpr long exact_steps = 128;

template <typename LAYOUT, int K, bool TURNED_LEFT, bool TURNED_RIGHT, bool ACCUMULATES, typename L, typename R,
          typename C>
__TB_FN void product_of_groups(const L &l, const R &r, C &c, long k)
{
    typedef typename C::value_type E;
    constexpr int N = LAYOUT::capacity;
    group_product<LAYOUT, L, R, K, TURNED_LEFT, TURNED_RIGHT> p(l, r, k);
    bool inside = p.inside(k);
    if constexpr (__is_same(E, int)) {
        uint total[N];
        __TB_UNROLL
        for (uint i = 0; i < N; i++) total[i] = ACCUMULATES ? uint(read_result<LAYOUT>(c, i)) : 0;
        constexpr bool in_threads = p.left_in_threads || p.right_in_threads;
        static_assert(!in_threads || K <= exact_steps, "matmul2d of integers in cooperative tensors takes an inner "
                                                       "dimension of at most 128");
        for (long from = 0; from < k; from += exact_steps) {
            __TB_UNROLL
            for (uint i = 0; i < N; i++) p.sum[i / 8][i % 8] = 0;
            p.steps(from, k - from < exact_steps ? k : from + exact_steps, inside);
            __TB_UNROLL
            for (uint i = 0; i < N; i++) total[i] += uint(int(p.sum[i / 8][i % 8]));
        }
        __TB_UNROLL
        for (uint i = 0; i < N; i++) write_result<LAYOUT>(c, i, int(total[i]));
    } else {
        __TB_UNROLL
        for (uint i = 0; i < N; i++)
            p.sum[i / 8][i % 8] = ACCUMULATES ? float(read_result<LAYOUT>(c, i)) : 0.0f;
        p.steps(0, k, inside);
        __TB_UNROLL
        for (uint i = 0; i < N; i++) write_result<LAYOUT>(c, i, E(p.sum[i / 8][i % 8]));
    }
}

/* ---- Products of one thread ---- */

template <int M, int N, bool TURNED_LEFT, bool TURNED_RIGHT, bool ACCUMULATES, typename L, typename R, typename C>
__TB_FN void product_of_thread(const L &l, const R &r, C &c, long k)
{
    typedef typename C::value_type E;
    typedef metal::conditional_t<__is_same(E, int), int, float> S;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            const long at[2] = {n, m};
            bool inside = true;
            S sum = 0;
            if constexpr (metal::__tensors::__is_tensor_v<C>) {
                inside = c.__holds(at);
                if (ACCUMULATES && inside) sum = S(*c.__at(at));
            } else {
                if (ACCUMULATES) sum = S(c.__elements[m * N + n]);
            }
            for (long i = 0; i < k && inside; i++) {
                S a = S(l.load(TURNED_LEFT ? long(m) : i, TURNED_LEFT ? i : long(m)));
                S b = S(r.load(TURNED_RIGHT ? i : long(n), TURNED_RIGHT ? long(n) : i));
                if constexpr (__is_same(E, int))
                    sum = int(uint(sum) + uint(a * b));
                else
                    sum = __builtin_fmaf(a, b, sum);
            }
            if constexpr (metal::__tensors::__is_tensor_v<C>) {
                if (inside) *c.__at(at) = E(sum);
            } else {
                c.__elements[m * N + n] = E(sum);
            }
        }
}
} // namespace __tombac
