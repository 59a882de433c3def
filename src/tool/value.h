/* Values as the command line gives them.
 *
 *     @FILE.npy                       an array from a file
 *     TYPE:@FILE.npy                  the same, converted to TYPE
 *     TYPE[SHAPE]                     zeros
 *     TYPE[SHAPE]:INITIAL             INITIAL: iota  iota(START[,STEP])  fill(V)  rand(SEED[,LOW,HIGH]) zeros
 * {V, V, ...} TYPE:V   TYPE:{V, V, ...}       a scalar, a list V        {V, V, ...}            the same in
 * the type that the kernel declares {MEMBER: V, ...}                a struct, or a list of them in braces
 *
 * TYPE is bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32, or a vector as in f32x4; left out before [SHAPE]
 * it is the kernel's. SHAPE is sizes with x between.
 *
 * rand is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014) with the seed
 * as its first state; scalar i takes output i. A float is the output's upper bits, as many as its significand
 * has, as a fraction in [0, 1); an integer is its upper bits, a bool the uppermost. With LOW and HIGH: floats
 * LOW + fraction x (HIGH - LOW), in double; integers LOW + the upper half of output x (HIGH - LOW + 1), so
 * HIGH included. */
#ifndef TB_TOOL_VALUE_H
#define TB_TOOL_VALUE_H

#include "tool/array.h"

#include <jansson.h>

/* What a value is for. */
typedef struct tool_slot {
    const char *what;      /* for messages: "argument 'a'" */
    const char *type_name; /* "float4" */
    tombac_type type;      /* TOMBAC_TYPE_OTHER where it is no scalar or vector */
    uint32_t vector_length;
    bool packed;
    size_t element_size;   /* 0: unknown */
    const json_t *members; /* of a struct, else NULL */
} tool_slot;

/* A struct becomes an array of its bytes, in u8. */
tombac_status tool_value_parse(
    const tool_slot *slot, const char *text, tool_array *array, tombac_error **error);
/* Reads a file's array for the slot: u2 stands for bf16 and u1 for bool where the slot is of that type. */
tombac_status tool_value_read(
    const tool_slot *slot, const char *path, tool_array *array, tombac_error **error);
/* True if `text` begins like a value of the above rather than like the name of a file. */
bool tool_value_is_expression(const char *text);

#endif
