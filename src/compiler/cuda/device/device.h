/* What the files of the device library share: types, the SIMD-group's shuffles, the records of a launch.
 *
 * The library is C, compiled to bitcode for NVPTX (lib/tombac/cuda.bc) and linked into every kernel that the
 * cuda engine compiles. Its functions are the operations of docs/operations.md under the names
 * "tombac_cuda.OPERATION.TYPE"; a collective one takes one operand more, the mask of the lanes that execute
 * it together, which the compiler knows exactly (src/compiler/cuda/linearise.c). All lanes of the mask
 * execute the call, no others do. */
#ifndef TOMBAC_CUDA_DEVICE_H
#define TOMBAC_CUDA_DEVICE_H

#include "artifact/cuda.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef _Float16 f16;
typedef float f32;

#define WHOLE 0xffffffffu
#define INLINE static inline __attribute__((always_inline, convergent))
#define LIBRARY __attribute__((always_inline, convergent, visibility("default")))
#define LABEL(name) __asm__("tombac_cuda." name)

/* Lanes are numbered as Metal does. For kernels that multiply matrices the library is compiled with PERMUTED:
 * there the bits of a lane's number are permuted so that Apple's layout of an 8x8 matrix becomes that of the
 * tensor cores: the hardware's lane h holds row h / 4, columns 2 (h % 4) and the next. Masks are always in
 * the hardware's order. */
static inline __attribute__((always_inline)) u32 hardware_lane(void)
{
    return (u32)__nvvm_read_ptx_sreg_tid_x() & 31;
}

#ifdef PERMUTED
static inline __attribute__((always_inline)) u32 metal_of(u32 h)
{
    return (h & 17) | (h & 2) << 2 | (h & 12) >> 1;
}
static inline __attribute__((always_inline)) u32 hardware_of(u32 l)
{
    return (l & 17) | (l & 8) >> 2 | (l & 6) << 1;
}
/* A mask in Metal's order; all its lanes take part. */
INLINE u32 metal_mask(u32 mask)
{
    return (u32)__nvvm_redux_sync_or((int)(1u << metal_of(hardware_lane())), mask);
}
#else
static inline __attribute__((always_inline)) u32 metal_of(u32 h)
{
    return h;
}
static inline __attribute__((always_inline)) u32 hardware_of(u32 l)
{
    return l;
}
INLINE u32 metal_mask(u32 mask)
{
    return mask;
}
#endif

static inline __attribute__((always_inline)) u32 lane_index(void)
{
    return metal_of(hardware_lane());
}

/* x of lane `source` (modulo 32), whatever it holds. */
INLINE u32 move_u32(u32 mask, u32 x, u32 source)
{
    return (u32)__nvvm_shfl_sync_idx_i32(mask, (int)x, (int)hardware_of(source & 31), 31);
}

INLINE u8 move_u8(u32 mask, u8 x, u32 source)
{
    return (u8)move_u32(mask, x, source);
}
INLINE u16 move_u16(u32 mask, u16 x, u32 source)
{
    return (u16)move_u32(mask, x, source);
}
INLINE u64 move_u64(u32 mask, u64 x, u32 source)
{
    return move_u32(mask, (u32)x, source) | (u64)move_u32(mask, (u32)(x >> 32), source) << 32;
}
INLINE s8 move_s8(u32 mask, s8 x, u32 source)
{
    return (s8)move_u32(mask, (u8)x, source);
}
INLINE s16 move_s16(u32 mask, s16 x, u32 source)
{
    return (s16)move_u32(mask, (u16)x, source);
}
INLINE s32 move_s32(u32 mask, s32 x, u32 source)
{
    return (s32)move_u32(mask, (u32)x, source);
}
INLINE s64 move_s64(u32 mask, s64 x, u32 source)
{
    return (s64)move_u64(mask, (u64)x, source);
}
INLINE f32 move_f32(u32 mask, f32 x, u32 source)
{
    return __builtin_bit_cast(f32, move_u32(mask, __builtin_bit_cast(u32, x), source));
}
INLINE f16 move_f16(u32 mask, f16 x, u32 source)
{
    return __builtin_bit_cast(f16, (u16)move_u32(mask, __builtin_bit_cast(u16, x), source));
}

/* x of the lane whose number differs by `distance`; all 32 lanes take part. */
INLINE u32 exchange_u32(u32 x, u32 distance)
{
    return (u32)__nvvm_shfl_sync_bfly_i32(WHOLE, (int)x, (int)hardware_of(distance), 31);
}
INLINE u8 exchange_u8(u8 x, u32 distance)
{
    return (u8)exchange_u32(x, distance);
}
INLINE u16 exchange_u16(u16 x, u32 distance)
{
    return (u16)exchange_u32(x, distance);
}
INLINE u64 exchange_u64(u64 x, u32 distance)
{
    return exchange_u32((u32)x, distance) | (u64)exchange_u32((u32)(x >> 32), distance) << 32;
}
INLINE s8 exchange_s8(s8 x, u32 distance)
{
    return (s8)exchange_u32((u8)x, distance);
}
INLINE s16 exchange_s16(s16 x, u32 distance)
{
    return (s16)exchange_u32((u16)x, distance);
}
INLINE s32 exchange_s32(s32 x, u32 distance)
{
    return (s32)exchange_u32((u32)x, distance);
}
INLINE s64 exchange_s64(s64 x, u32 distance)
{
    return (s64)exchange_u64((u64)x, distance);
}
INLINE f32 exchange_f32(f32 x, u32 distance)
{
    return __builtin_bit_cast(f32, exchange_u32(__builtin_bit_cast(u32, x), distance));
}
INLINE f16 exchange_f16(f16 x, u32 distance)
{
    return __builtin_bit_cast(f16, (u16)exchange_u32(__builtin_bit_cast(u16, x), distance));
}

INLINE bool takes_part(u32 mask, u32 lane)
{
    return mask >> hardware_of(lane & 31) & 1;
}

#endif
