/* One loop for each type: load an element of every array, combine, store; see reduce.h. A NaN loses to a
 * number in minima and maxima, as in C's fmin. */
#include "runtime/reduce.h"

#include <stdint.h>
#include <string.h>

static float from_bfloat(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* To nearest, ties to even; NaNs stay NaNs. */
static uint16_t to_bfloat(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define SAME(x) (x)
/* TYPE as stored, WIDE to compute in, WRAP to add in without overflow. */
#define REDUCTION(NAME, TYPE, WIDE, WRAP, LOAD, STORE)                                                       \
    static void reduce_##NAME(                                                                               \
        tombac_reduction how, const void *const *from, size_t arrays, void *to, size_t count)                \
    {                                                                                                        \
        TYPE *out = to;                                                                                      \
        for (size_t i = 0; i < count; i++) {                                                                 \
            WIDE all = LOAD(((const TYPE *)from[0])[i]);                                                     \
            for (size_t k = 1; k < arrays; k++) {                                                            \
                WIDE one = LOAD(((const TYPE *)from[k])[i]);                                                 \
                bool less = one<all, more = one> all, lost = all != all;                                     \
                if (how == TOMBAC_REDUCE_SUM)                                                                \
                    all = (WIDE)((WRAP)all + (WRAP)one);                                                     \
                else if (lost || (how == TOMBAC_REDUCE_MIN ? less : more))                                   \
                    all = one;                                                                               \
            }                                                                                                \
            out[i] = (TYPE)STORE(all);                                                                       \
        }                                                                                                    \
    }

REDUCTION(i8, int8_t, int8_t, uint32_t, SAME, SAME)
REDUCTION(u8, uint8_t, uint8_t, uint32_t, SAME, SAME)
REDUCTION(i16, int16_t, int16_t, uint32_t, SAME, SAME)
REDUCTION(u16, uint16_t, uint16_t, uint32_t, SAME, SAME)
REDUCTION(i32, int32_t, int32_t, uint32_t, SAME, SAME)
REDUCTION(u32, uint32_t, uint32_t, uint32_t, SAME, SAME)
REDUCTION(i64, int64_t, int64_t, uint64_t, SAME, SAME)
REDUCTION(u64, uint64_t, uint64_t, uint64_t, SAME, SAME)
REDUCTION(f16, _Float16, float, float, (float), SAME)
REDUCTION(bf16, uint16_t, float, float, from_bfloat, to_bfloat)
REDUCTION(f32, float, float, float, SAME, SAME)

void rt_reduce(tombac_type type, tombac_reduction reduction, const void *const *from, size_t arrays, void *to,
    size_t count)
{
    switch (type) {
    case TOMBAC_TYPE_I8: reduce_i8(reduction, from, arrays, to, count); break;
    case TOMBAC_TYPE_U8: reduce_u8(reduction, from, arrays, to, count); break;
    case TOMBAC_TYPE_I16: reduce_i16(reduction, from, arrays, to, count); break;
    case TOMBAC_TYPE_U16: reduce_u16(reduction, from, arrays, to, count); break;
    case TOMBAC_TYPE_I32: reduce_i32(reduction, from, arrays, to, count); break;
    case TOMBAC_TYPE_U32: reduce_u32(reduction, from, arrays, to, count); break;
    case TOMBAC_TYPE_I64: reduce_i64(reduction, from, arrays, to, count); break;
    case TOMBAC_TYPE_U64: reduce_u64(reduction, from, arrays, to, count); break;
    case TOMBAC_TYPE_F16: reduce_f16(reduction, from, arrays, to, count); break;
    case TOMBAC_TYPE_BF16: reduce_bf16(reduction, from, arrays, to, count); break;
    case TOMBAC_TYPE_F32: reduce_f32(reduction, from, arrays, to, count); break;
    case TOMBAC_TYPE_BOOL:
    case TOMBAC_TYPE_OTHER: break;
    }
}
