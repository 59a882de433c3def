/* Reductions and prefixes over the lanes of a mask: simd_sum, quad_max, simd_prefix_exclusive_product ...
 *
 * With all 32 lanes a reduction is a butterfly and a prefix doubles its distance; 32-bit integers have an
 * instruction of their own. With fewer lanes data cannot pass through the missing ones, so each lane
 * evaluates the whole tree itself: the operands come one by one in the order of the leaves and are combined
 * like the digits of a binary counter, which gives floats the order that docs/operations.md fixes. Missing
 * lanes count as the neutral element. */
#include "device.h"

/* ---- Two operands ---- */

#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define MAX(a, b) ((a) < (b) ? (b) : (a))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
/* The instruction prefers numbers to NaNs and -0 to 0, as the document wants it. */
#define FMIN(a, b) __nvvm_fmin_f((a), (b))
#define FMAX(a, b) __nvvm_fmax_f((a), (b))

/* ---- A tree over what WIDTH calls of `leaf` give, combined pairwise in the order of the leaves ---- */

#define TREE(T, C, WIDTH, LEAF, result)                                                                      \
    do {                                                                                                     \
        T s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0;                                                            \
        _Pragma("clang loop unroll(disable)") for (u32 r = 0; r < (WIDTH); r++)                              \
        {                                                                                                    \
            T v = LEAF(r);                                                                                   \
            if (!(r & 1)) {                                                                                  \
                s0 = v;                                                                                      \
                continue;                                                                                    \
            }                                                                                                \
            v = (T)C(s0, v);                                                                                 \
            if (!(r & 2)) {                                                                                  \
                s1 = v;                                                                                      \
                continue;                                                                                    \
            }                                                                                                \
            v = (T)C(s1, v);                                                                                 \
            if (!(r & 4)) {                                                                                  \
                s2 = v;                                                                                      \
                continue;                                                                                    \
            }                                                                                                \
            v = (T)C(s2, v);                                                                                 \
            if (!(r & 8)) {                                                                                  \
                s3 = v;                                                                                      \
                continue;                                                                                    \
            }                                                                                                \
            v = (T)C(s3, v);                                                                                 \
            if (!(r & 16)) {                                                                                 \
                s4 = v;                                                                                      \
                continue;                                                                                    \
            }                                                                                                \
            s4 = (T)C(s4, v);                                                                                \
        }                                                                                                    \
        result = s4;                                                                                         \
    } while (0)

/* Leaf r of a reduction: the lane whose number has r's five bits in reverse, so that lanes 16 apart meet
 * first. */
#define REDUCTION(name, T, C, NEUTRAL, WIDE)                                                                 \
    LIBRARY T simd_##name##_##T(T x, u32 mask) LABEL("simd_" #name "." #T);                                  \
    LIBRARY T simd_##name##_##T(T x, u32 mask)                                                               \
    {                                                                                                        \
        if (mask == WHOLE) return WIDE(name, T, C);                                                          \
        T neutral = (T)(NEUTRAL), result;                                                                    \
        TREE(T, C, 32u, SIMD_LEAF(T), result);                                                               \
        return result;                                                                                       \
    }                                                                                                        \
    LIBRARY T quad_##name##_##T(T x, u32 mask) LABEL("quad_" #name "." #T);                                  \
    LIBRARY T quad_##name##_##T(T x, u32 mask)                                                               \
    {                                                                                                        \
        T neutral = (T)(NEUTRAL), v[4];                                                                      \
        u32 base = lane_index() & 28;                                                                        \
        for (u32 i = 0; i < 4; i++) {                                                                        \
            T moved = move_##T(mask, x, base + i);                                                           \
            v[i] = takes_part(mask, base + i) ? moved : neutral;                                             \
        }                                                                                                    \
        v[0] = (T)C(v[0], v[2]);                                                                             \
        v[1] = (T)C(v[1], v[3]);                                                                             \
        return (T)C(v[0], v[1]);                                                                             \
    }

#define SIMD_LEAF(T) SIMD_LEAF_##T
#define LEAF_OF(T, r)                                                                                        \
    ({                                                                                                       \
        u32 source = __builtin_bitreverse32(r) >> 27;                                                        \
        T moved = move_##T(mask, x, source);                                                                 \
        takes_part(mask, source) ? moved : neutral;                                                          \
    })
#define SIMD_LEAF_u8(r) LEAF_OF(u8, r)
#define SIMD_LEAF_u16(r) LEAF_OF(u16, r)
#define SIMD_LEAF_u32(r) LEAF_OF(u32, r)
#define SIMD_LEAF_u64(r) LEAF_OF(u64, r)
#define SIMD_LEAF_s8(r) LEAF_OF(s8, r)
#define SIMD_LEAF_s16(r) LEAF_OF(s16, r)
#define SIMD_LEAF_s32(r) LEAF_OF(s32, r)
#define SIMD_LEAF_s64(r) LEAF_OF(s64, r)
#define SIMD_LEAF_f16(r) LEAF_OF(f16, r)
#define SIMD_LEAF_f32(r) LEAF_OF(f32, r)

/* All lanes take part: x is a variable of the function around. Operands are moved into variables before they
 * are combined: C evaluates them more than once, and not in every lane. */
#define BUTTERFLY(name, T, C)                                                                                \
    ({                                                                                                       \
        _Pragma("clang loop unroll(full)") for (u32 d = 16; d; d /= 2)                                       \
        {                                                                                                    \
            T other = exchange_##T(x, d);                                                                    \
            x = (T)C(x, other);                                                                              \
        }                                                                                                    \
        x;                                                                                                   \
    })
#define INSTRUCTION(name, T, C) (T)(REDUX_##name##_##T)
#define REDUX_sum_u32 __nvvm_redux_sync_add((int)x, WHOLE)
#define REDUX_sum_s32 __nvvm_redux_sync_add(x, WHOLE)
#define REDUX_min_u32 __nvvm_redux_sync_umin(x, WHOLE)
#define REDUX_min_s32 __nvvm_redux_sync_min(x, WHOLE)
#define REDUX_max_u32 __nvvm_redux_sync_umax(x, WHOLE)
#define REDUX_max_s32 __nvvm_redux_sync_max(x, WHOLE)
#define REDUX_and_u32 __nvvm_redux_sync_and((int)x, WHOLE)
#define REDUX_or_u32 __nvvm_redux_sync_or((int)x, WHOLE)
#define REDUX_xor_u32 __nvvm_redux_sync_xor((int)x, WHOLE)

#define LOWEST(T) (T)((T) - 1 < 0 ? (u64)1 << (8 * sizeof(T) - 1) : 0)
#define HIGHEST(T) (T)((T) - 1 < 0 ? ((u64)1 << (8 * sizeof(T) - 1)) - 1 : ~(u64)0)

#define ARITHMETIC(T, WIDE, WIDE_PRODUCT)                                                                    \
    REDUCTION(sum, T, SUM, 0, WIDE)                                                                          \
    REDUCTION(product, T, PRODUCT, 1, WIDE_PRODUCT)                                                          \
    REDUCTION(min, T, MIN, HIGHEST(T), WIDE)                                                                 \
    REDUCTION(max, T, MAX, LOWEST(T), WIDE)
#define BITWISE(T, WIDE)                                                                                     \
    REDUCTION(and, T, AND, ~(u64)0, WIDE)                                                                    \
    REDUCTION(or, T, OR, 0, WIDE)                                                                            \
    REDUCTION(xor, T, XOR, 0, WIDE)
ARITHMETIC(u8, BUTTERFLY, BUTTERFLY)
ARITHMETIC(u16, BUTTERFLY, BUTTERFLY)
ARITHMETIC(u32, INSTRUCTION, BUTTERFLY)
ARITHMETIC(u64, BUTTERFLY, BUTTERFLY)
ARITHMETIC(s8, BUTTERFLY, BUTTERFLY)
ARITHMETIC(s16, BUTTERFLY, BUTTERFLY)
ARITHMETIC(s32, INSTRUCTION, BUTTERFLY)
ARITHMETIC(s64, BUTTERFLY, BUTTERFLY)
BITWISE(u8, BUTTERFLY)
BITWISE(u16, BUTTERFLY)
BITWISE(u32, INSTRUCTION)
BITWISE(u64, BUTTERFLY)
#define FLOATING(T)                                                                                          \
    REDUCTION(sum, T, SUM, -0.0f, BUTTERFLY)                                                                 \
    REDUCTION(product, T, PRODUCT, 1, BUTTERFLY)                                                             \
    REDUCTION(min, T, FMIN, __builtin_nanf(""), BUTTERFLY)                                                   \
    REDUCTION(max, T, FMAX, __builtin_nanf(""), BUTTERFLY)
FLOATING(f16)
FLOATING(f32)

/* ---- Prefixes ---- */

/* The window of `width` lanes that ends `behind` lanes before this one: leaf r is the r-th of it counted
 * backwards. What lies before the block begins counts as the neutral element. */
#define WINDOW_LEAVES(T)                                                                                     \
    INLINE T window_##T(T x, u32 mask, u32 behind, u32 width, u32 r, T neutral)                              \
    {                                                                                                        \
        u32 source = lane_index() - (behind + r);                                                            \
        T moved = move_##T(mask, x, source);                                                                 \
        return behind + r <= lane_index() % width && takes_part(mask, source) ? moved : neutral;             \
    }
WINDOW_LEAVES(u8)
WINDOW_LEAVES(u16) WINDOW_LEAVES(u32) WINDOW_LEAVES(u64) WINDOW_LEAVES(s8) WINDOW_LEAVES(s16)
    WINDOW_LEAVES(s32) WINDOW_LEAVES(s64) WINDOW_LEAVES(f16) WINDOW_LEAVES(f32)

#define DEFINE_PREFIX(name, T, C, NEUTRAL, IDENTITY)                                                         \
    INLINE T tree_##name##_##T(T x, u32 mask, u32 behind, u32 width, T neutral)                              \
    {                                                                                                        \
        T s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0;                                                            \
        _Pragma("clang loop unroll(disable)") for (u32 r = 0; r < width; r++)                                \
        {                                                                                                    \
            T v = window_##T(x, mask, behind, width, r, neutral);                                            \
            if (!(r & 1)) {                                                                                  \
                s0 = v;                                                                                      \
                continue;                                                                                    \
            }                                                                                                \
            v = (T)C(v, s0);                                                                                 \
            if (!(r & 2)) {                                                                                  \
                s1 = v;                                                                                      \
                continue;                                                                                    \
            }                                                                                                \
            v = (T)C(v, s1);                                                                                 \
            if (!(r & 4)) {                                                                                  \
                s2 = v;                                                                                      \
                continue;                                                                                    \
            }                                                                                                \
            v = (T)C(v, s2);                                                                                 \
            if (!(r & 8)) {                                                                                  \
                s3 = v;                                                                                      \
                continue;                                                                                    \
            }                                                                                                \
            v = (T)C(v, s3);                                                                                 \
            if (!(r & 16)) {                                                                                 \
                s4 = v;                                                                                      \
                continue;                                                                                    \
            }                                                                                                \
            s4 = (T)C(v, s4);                                                                                \
        }                                                                                                    \
        return width == 32 ? s4 : s2;                                                                        \
    }                                                                                                        \
    INLINE T whole_##name##_##T(T x)                                                                         \
    {                                                                                                        \
        _Pragma("clang loop unroll(full)") for (u32 d = 1; d < 32; d *= 2)                                   \
        {                                                                                                    \
            T moved = move_##T(WHOLE, x, lane_index() - d);                                                  \
            x = lane_index() >= d ? (T)C(moved, x) : x;                                                      \
        }                                                                                                    \
        return x;                                                                                            \
    }                                                                                                        \
    LIBRARY T simd_inclusive_##name##_##T(T x, u32 mask) LABEL("simd_prefix_inclusive_" #name "." #T);       \
    LIBRARY T simd_inclusive_##name##_##T(T x, u32 mask)                                                     \
    {                                                                                                        \
        return mask == WHOLE ? whole_##name##_##T(x) : tree_##name##_##T(x, mask, 0, 32, (T)(NEUTRAL));      \
    }                                                                                                        \
    LIBRARY T simd_exclusive_##name##_##T(T x, u32 mask) LABEL("simd_prefix_exclusive_" #name "." #T);       \
    LIBRARY T simd_exclusive_##name##_##T(T x, u32 mask)                                                     \
    {                                                                                                        \
        T value;                                                                                             \
        if (mask == WHOLE)                                                                                   \
            value = move_##T(WHOLE, whole_##name##_##T(x), lane_index() - 1);                                \
        else                                                                                                 \
            value = tree_##name##_##T(x, mask, 1, 32, (T)(NEUTRAL));                                         \
        return metal_mask(mask) & ((1u << lane_index()) - 1) ? value : (T)(IDENTITY);                        \
    }                                                                                                        \
    LIBRARY T quad_inclusive_##name##_##T(T x, u32 mask) LABEL("quad_prefix_inclusive_" #name "." #T);       \
    LIBRARY T quad_inclusive_##name##_##T(T x, u32 mask)                                                     \
    {                                                                                                        \
        return tree_##name##_##T(x, mask, 0, 4, (T)(NEUTRAL));                                               \
    }                                                                                                        \
    LIBRARY T quad_exclusive_##name##_##T(T x, u32 mask) LABEL("quad_prefix_exclusive_" #name "." #T);       \
    LIBRARY T quad_exclusive_##name##_##T(T x, u32 mask)                                                     \
    {                                                                                                        \
        T value = tree_##name##_##T(x, mask, 1, 4, (T)(NEUTRAL));                                            \
        u32 base = lane_index() & 28;                                                                        \
        return metal_mask(mask) & ((1u << lane_index()) - (1u << base)) ? value : (T)(IDENTITY);             \
    }
#define PREFIX(T, ZERO)                                                                                      \
    DEFINE_PREFIX(sum, T, SUM, ZERO, 0)                                                                      \
    DEFINE_PREFIX(product, T, PRODUCT, 1, 1)
        PREFIX(u8, 0) PREFIX(u16, 0) PREFIX(u32, 0) PREFIX(u64, 0) PREFIX(s8, 0) PREFIX(s16, 0) PREFIX(s32, 0)
            PREFIX(s64, 0) PREFIX(f16, -0.0f) PREFIX(f32, -0.0f)
