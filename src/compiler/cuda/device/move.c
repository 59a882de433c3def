/* Shuffles, broadcasts, votes, barriers and the matrix product; see docs/operations.md. */
#include "device.h"

/* x of lane `source` of the block of WIDTH lanes that this lane is in; 0 where that lane takes no part. */
#define VALUE_AT(T, WIDTH, position)                                                                         \
    ({                                                                                                       \
        u32 from = lane_index() / (WIDTH) * (WIDTH) + (position) % (WIDTH);                                  \
        T moved = move_##T(mask, x, from);                                                                   \
        takes_part(mask, from) ? moved : (T)0;                                                               \
    })

#define FUNCTION(P, name, T, operands)                                                                       \
    LIBRARY T P##_##name##_##T operands LABEL(#P "_" #name "." #T);                                          \
    LIBRARY T P##_##name##_##T operands

/* `inside` is computed by every lane, so that all of them execute the shuffle. */
#define SHUFFLES(P, WIDTH, T)                                                                                \
    FUNCTION(P, broadcast, T, (T x, u16 lane, u32 mask))                                                     \
    {                                                                                                        \
        return VALUE_AT(T, WIDTH, (u32)lane);                                                                \
    }                                                                                                        \
    FUNCTION(P, shuffle, T, (T x, u16 lane, u32 mask))                                                       \
    {                                                                                                        \
        return VALUE_AT(T, WIDTH, (u32)lane);                                                                \
    }                                                                                                        \
    FUNCTION(P, shuffle_up, T, (T x, u16 delta, u32 mask))                                                   \
    {                                                                                                        \
        u32 own = lane_index() % (WIDTH);                                                                    \
        T value = VALUE_AT(T, WIDTH, own - delta);                                                           \
        return own < delta ? x : value;                                                                      \
    }                                                                                                        \
    FUNCTION(P, shuffle_down, T, (T x, u16 delta, u32 mask))                                                 \
    {                                                                                                        \
        u32 own = lane_index() % (WIDTH);                                                                    \
        T value = VALUE_AT(T, WIDTH, own + delta);                                                           \
        return own + delta >= (WIDTH) ? x : value;                                                           \
    }                                                                                                        \
    FUNCTION(P, shuffle_xor, T, (T x, u16 other, u32 mask))                                                  \
    {                                                                                                        \
        u32 source = lane_index() % (WIDTH) ^ other;                                                         \
        T value = VALUE_AT(T, WIDTH, source);                                                                \
        return source >= (WIDTH) ? x : value;                                                                \
    }                                                                                                        \
    FUNCTION(P, shuffle_rotate_up, T, (T x, u16 delta, u32 mask))                                            \
    {                                                                                                        \
        return VALUE_AT(T, WIDTH, lane_index() - delta);                                                     \
    }                                                                                                        \
    FUNCTION(P, shuffle_rotate_down, T, (T x, u16 delta, u32 mask))                                          \
    {                                                                                                        \
        return VALUE_AT(T, WIDTH, lane_index() + delta);                                                     \
    }                                                                                                        \
    FUNCTION(P, shuffle_and_fill_up, T, (T x, T fill, u16 delta, u16 modulo, u32 mask))                      \
    {                                                                                                        \
        return shifted_##T(x, fill, delta, modulo, mask, WIDTH, true);                                       \
    }                                                                                                        \
    FUNCTION(P, shuffle_and_fill_down, T, (T x, T fill, u16 delta, u16 modulo, u32 mask))                    \
    {                                                                                                        \
        return shifted_##T(x, fill, delta, modulo, mask, WIDTH, false);                                      \
    }                                                                                                        \
    FUNCTION(P, broadcast_first, T, (T x, u32 mask))                                                         \
    {                                                                                                        \
        u32 base = lane_index() / (WIDTH) * (WIDTH);                                                         \
        return move_##T(mask, x, base + (u32)__builtin_ctz(metal_mask(mask) >> base));                       \
    }

/* Lanes that the shift leaves without a source take `fill` of the lane that it would wrap round to. */
#define SHIFTED(T)                                                                                           \
    INLINE T shifted_##T(T x, T fill, u32 delta, u32 modulo, u32 mask, u32 width, bool up)                   \
    {                                                                                                        \
        if (modulo < 2 || modulo > width || modulo & (modulo - 1)) modulo = width;                           \
        u32 own = lane_index() % width, block = own - own % modulo, place = own % modulo;                    \
        bool wraps = up ? place < delta : place + delta >= modulo;                                           \
        u32 from = (up ? place + modulo - delta % modulo : place + delta) % modulo + block +                 \
                   lane_index() / width * width;                                                             \
        T moved = move_##T(mask, x, from), filled = move_##T(mask, fill, from);                              \
        return !takes_part(mask, from) ? (T)0 : wraps ? filled : moved;                                      \
    }

#define ALL_OF(T)                                                                                            \
    SHIFTED(T)                                                                                               \
    SHUFFLES(simd, 32u, T)                                                                                   \
    SHUFFLES(quad, 4u, T)
ALL_OF(u8)
ALL_OF(u16)
ALL_OF(u32)
ALL_OF(u64)

/* ---- Votes ---- */

/* In Metal's order. */
INLINE u32 ballot(bool condition, u32 mask)
{
#ifdef PERMUTED
    return (u32)__nvvm_redux_sync_or((int)((u32)condition << lane_index()), mask);
#else
    return (u32)__nvvm_vote_ballot_sync(mask, condition);
#endif
}
INLINE u32 quad_of(u32 lanes)
{
    return lanes >> (lane_index() & 28) & 15;
}

LIBRARY u64 simd_ballot(bool c, u32 mask) LABEL("simd_ballot");
LIBRARY u64 simd_ballot(bool c, u32 mask)
{
    return ballot(c, mask);
}
LIBRARY u64 quad_ballot(bool c, u32 mask) LABEL("quad_ballot");
LIBRARY u64 quad_ballot(bool c, u32 mask)
{
    return quad_of(ballot(c, mask));
}
LIBRARY u64 simd_active(u32 mask) LABEL("simd_active_threads_mask");
LIBRARY u64 simd_active(u32 mask)
{
    return metal_mask(mask);
}
LIBRARY u64 quad_active(u32 mask) LABEL("quad_active_threads_mask");
LIBRARY u64 quad_active(u32 mask)
{
    return quad_of(metal_mask(mask));
}
LIBRARY bool simd_all(bool c, u32 mask) LABEL("simd_all");
LIBRARY bool simd_all(bool c, u32 mask)
{
    return __nvvm_vote_all_sync(mask, c);
}
LIBRARY bool quad_all(bool c, u32 mask) LABEL("quad_all");
LIBRARY bool quad_all(bool c, u32 mask)
{
    return quad_of(ballot(c, mask)) == quad_of(metal_mask(mask));
}
LIBRARY bool simd_any(bool c, u32 mask) LABEL("simd_any");
LIBRARY bool simd_any(bool c, u32 mask)
{
    return __nvvm_vote_any_sync(mask, c);
}
LIBRARY bool quad_any(bool c, u32 mask) LABEL("quad_any");
LIBRARY bool quad_any(bool c, u32 mask)
{
    return quad_of(ballot(c, mask)) != 0;
}
LIBRARY bool simd_is_first(u32 mask) LABEL("simd_is_first");
LIBRARY bool simd_is_first(u32 mask)
{
    return (u32)__builtin_ctz(metal_mask(mask)) == lane_index();
}
LIBRARY bool quad_is_first(u32 mask) LABEL("quad_is_first");
LIBRARY bool quad_is_first(u32 mask)
{
    return (u32)__builtin_ctz(quad_of(metal_mask(mask))) == (lane_index() & 3);
}

/* ---- Barriers ---- */

/* The form that does not ask all lanes of a SIMD-group to arrive together: divergent flow may have parted
 * them. */
LIBRARY void threadgroup_barrier(u32 flags) LABEL("threadgroup_barrier");
LIBRARY void threadgroup_barrier(u32 flags)
{
    __nvvm_barrier_sync(0);
}
LIBRARY void simdgroup_barrier(u32 flags, u32 mask) LABEL("simdgroup_barrier");
LIBRARY void simdgroup_barrier(u32 flags, u32 mask)
{
    if (flags) __nvvm_bar_warp_sync(mask); /* without memory to order there is nothing to see */
}

LIBRARY void fence(u32 flags, u32 order, u32 scope) LABEL("fence");
LIBRARY void fence(u32 flags, u32 order, u32 scope)
{
    if (order == 0 || scope == 0) return;
    if (scope == 1 || scope == 4)
        __nvvm_membar_cta();
    else if (scope == 2)
        __nvvm_membar_gl();
    else
        __nvvm_membar_sys();
}

/* ---- Matrices ---- */

typedef float pair __attribute__((ext_vector_type(2)));

__attribute__((always_inline, visibility("default"))) u32 matrix_row(void) LABEL("matrix_row");
__attribute__((always_inline)) u32 matrix_row(void)
{
    return (lane_index() / 4 & 4) + lane_index() / 2 % 4;
}
__attribute__((always_inline, visibility("default"))) u32 matrix_column(void) LABEL("matrix_column");
__attribute__((always_inline)) u32 matrix_column(void)
{
    return (lane_index() / 4 & 2) * 2 + lane_index() % 2 * 2;
}

#ifdef PERMUTED
INLINE f32 at(f32 x, u32 row, u32 column)
{
    int moved = __nvvm_shfl_sync_idx_i32(WHOLE, __builtin_bit_cast(int, x), (int)(row * 4 + column / 2), 31);
    return __builtin_bit_cast(f32, moved);
}

/* Every element is summed over k in rising order by fma. */
LIBRARY pair multiply(f32 a0, f32 a1, f32 b0, f32 b1, f32 c0, f32 c1, u32 mask) LABEL("multiply.f32");
LIBRARY pair multiply(f32 a0, f32 a1, f32 b0, f32 b1, f32 c0, f32 c1, u32 mask)
{
    u32 row = hardware_lane() / 4, column = hardware_lane() % 4 * 2;
    _Pragma("clang loop unroll(full)") for (u32 k = 0; k < 8; k++)
    {
        f32 a = at(k & 1 ? a1 : a0, row, k);
        c0 = __builtin_fmaf(a, at(b0, k, column), c0);
        c1 = __builtin_fmaf(a, at(b1, k, column), c1);
    }
    return (pair){c0, c1};
}

INLINE u32 packed(f16 low, f16 high)
{
    return __builtin_bit_cast(u16, low) | (u32) __builtin_bit_cast(u16, high) << 16;
}

/* ---- Tensor cores ---- */

/* They want the right operand by columns: lane h holds column h / 4, rows 2 (h % 4) and the next. */
LIBRARY u32 transpose_half(f16 b0, f16 b1) LABEL("transpose.f16");
LIBRARY u32 transpose_half(f16 b0, f16 b1)
{
    u32 transposed;
    __asm__("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(packed(b0, b1)));
    return transposed;
}

/* The upper and the lower halves of the bits separately. */
LIBRARY pair transpose(f32 b0, f32 b1) LABEL("transpose.f32");
LIBRARY pair transpose(f32 b0, f32 b1)
{
    u32 x = __builtin_bit_cast(u32, b0), y = __builtin_bit_cast(u32, b1), low, high;
    __asm__("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(low) : "r"((x & 0xffff) | y << 16));
    __asm__("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(high) : "r"(x >> 16 | (y & 0xffff0000)));
    return (pair){__builtin_bit_cast(f32, (low & 0xffff) | high << 16),
        __builtin_bit_cast(f32, low >> 16 | (high & 0xffff0000))};
}

typedef f32 quad __attribute__((ext_vector_type(4)));

/* Two products with the same right operand: products are exact in float, the order of the sum is the
 * hardware's. */
LIBRARY quad multiply8(f16 a0, f16 a1, f16 a2, f16 a3, u32 b, f32 c0, f32 c1, f32 c2, f32 c3)
    LABEL("multiply8.f16");
LIBRARY quad multiply8(f16 a0, f16 a1, f16 a2, f16 a3, u32 b, f32 c0, f32 c1, f32 c2, f32 c3)
{
    f32 d0, d1, d2, d3;
    __asm__("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
        : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
        : "r"(packed(a0, a1)), "r"(packed(a2, a3)), "r"(b), "f"(c0), "f"(c1), "f"(c2), "f"(c3));
    return (quad){d0, d1, d2, d3};
}

/* Two such pairs in a row: a0..a3 with b, then a4..a7 with e. */
LIBRARY quad multiply16(f16 a0, f16 a1, f16 a2, f16 a3, f16 a4, f16 a5, f16 a6, f16 a7, u32 b, u32 e, f32 c0,
    f32 c1, f32 c2, f32 c3) LABEL("multiply16.f16");
LIBRARY quad multiply16(f16 a0, f16 a1, f16 a2, f16 a3, f16 a4, f16 a5, f16 a6, f16 a7, u32 b, u32 e, f32 c0,
    f32 c1, f32 c2, f32 c3)
{
    f32 d0, d1, d2, d3;
    __asm__("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%10,%11,%12,%13};"
        : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
        : "r"(packed(a0, a1)), "r"(packed(a2, a3)), "r"(packed(a4, a5)), "r"(packed(a6, a7)), "r"(b), "r"(e),
        "f"(c0), "f"(c1), "f"(c2), "f"(c3));
    return (quad){d0, d1, d2, d3};
}

/* A float is the sum of two TF32 numbers of 11 bits, up to its last two bits: the first ones as they are,
 * and the rest rounded. (The instruction that converts is a sequence of four on Hopper.) NaN and infinity
 * stay in the large part; the small part of infinity is 0. */
INLINE u32 large(f32 x)
{
    return __builtin_bit_cast(u32, x) & 0xffffe000u;
}
INLINE u32 small(f32 x)
{
    return (__builtin_bit_cast(u32, x - __builtin_bit_cast(f32, large(x))) + 0x1000u) & 0xffffe000u;
}

/* a x b + c where a's large part is in the upper 8 rows and its small part, 11 bits below, in the lower ones.
 * The instruction's columns t and t + 4 are the matrix's 2 t and 2 t + 1. Its sums are cut off instead of
 * rounded, which over long sums is an error of one sign, so c is added outside. */
INLINE pair multiply_split(f32 a0, f32 a1, u32 b0, u32 b1, f32 c0, f32 c1)
{
    f32 d0, d1, d2, d3, zero = 0;
    __asm__("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%10,%10,%10,%10};"
        : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
        : "r"(large(a0)), "r"(small(a0)), "r"(large(a1)), "r"(small(a1)), "r"(b0), "r"(b1), "f"(zero));
    return (pair){c0 + (d0 + d2), c1 + (d1 + d3)};
}

/* b by columns; it holds halves, which are TF32 numbers. */
LIBRARY pair multiply_half_right(f32 a0, f32 a1, f32 b0, f32 b1, f32 c0, f32 c1) LABEL("multiply.tf32.half");
LIBRARY pair multiply_half_right(f32 a0, f32 a1, f32 b0, f32 b1, f32 c0, f32 c1)
{
    return multiply_split(a0, a1, __builtin_bit_cast(u32, b0), __builtin_bit_cast(u32, b1), c0, c1);
}

/* Any b by columns. */
LIBRARY pair multiply_floats(f32 a0, f32 a1, f32 b0, f32 b1, f32 c0, f32 c1) LABEL("multiply.tf32");
LIBRARY pair multiply_floats(f32 a0, f32 a1, f32 b0, f32 b1, f32 c0, f32 c1)
{
    pair c = multiply_split(a0, a1, small(b0), small(b1), c0, c1);
    return multiply_split(a0, a1, large(b0), large(b1), c.x, c.y);
}

/* d + a x b for two left operands, one in the upper and one in the lower rows. */
INLINE quad multiply_rows(u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1, quad d)
{
    f32 d0, d1, d2, d3;
    __asm__("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%10,%11,%12,%13};"
        : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
        : "r"(a0), "r"(a2), "r"(a1), "r"(a3), "r"(b0), "r"(b1), "f"(d.x), "f"(d.y), "f"(d.z), "f"(d.w));
    return (quad){d0, d1, d2, d3};
}

/* Two products with the same right operand, by columns: the small parts first; of the small parts' product,
 * below a float's last bit, nothing is seen. c is added outside, as above. `exact`: b is TF32. */
INLINE quad multiply_two(f32 a0, f32 a1, f32 a2, f32 a3, f32 b0, f32 b1, quad c, bool exact)
{
    u32 e0 = large(b0), e1 = large(b1);
    quad d = multiply_rows(small(a0), small(a1), small(a2), small(a3), e0, e1, (quad){0, 0, 0, 0});
    if (!exact) d = multiply_rows(large(a0), large(a1), large(a2), large(a3), small(b0), small(b1), d);
    return c + multiply_rows(large(a0), large(a1), large(a2), large(a3), e0, e1, d);
}

LIBRARY quad multiply_two_floats(f32 a0, f32 a1, f32 a2, f32 a3, f32 b0, f32 b1, f32 c0, f32 c1, f32 c2, f32 c3)
    LABEL("multiply2.tf32");
LIBRARY quad multiply_two_floats(f32 a0, f32 a1, f32 a2, f32 a3, f32 b0, f32 b1, f32 c0, f32 c1, f32 c2, f32 c3)
{
    return multiply_two(a0, a1, a2, a3, b0, b1, (quad){c0, c1, c2, c3}, false);
}
LIBRARY quad multiply_two_half_right(f32 a0, f32 a1, f32 a2, f32 a3, f32 b0, f32 b1, f32 c0, f32 c1, f32 c2, f32 c3)
    LABEL("multiply2.tf32.half");
LIBRARY quad multiply_two_half_right(f32 a0, f32 a1, f32 a2, f32 a3, f32 b0, f32 b1, f32 c0, f32 c1, f32 c2, f32 c3)
{
    return multiply_two(a0, a1, a2, a3, b0, b1, (quad){c0, c1, c2, c3}, true);
}
#endif
