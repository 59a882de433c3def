/* The calls of docs/operations.md as this engine knows them. */
#ifndef TB_COMPILER_CPU_OPERATION_H
#define TB_COMPILER_CPU_OPERATION_H

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum cpu_operation_kind {
    OP_NONE,
    /* positions */
    OP_LANE,
    OP_SIMDGROUP,
    OP_THREAD_INDEX,
    OP_POSITION,
    OP_FIELD,
    OP_THREADGROUP_MEMORY,
    /* collectives over a SIMD-group or quad-group */
    OP_REDUCE,
    OP_SCAN,
    OP_SHUFFLE,
    OP_BROADCAST,
    OP_SHUFFLE_UP,
    OP_SHUFFLE_DOWN,
    OP_SHUFFLE_XOR,
    OP_ROTATE_UP,
    OP_ROTATE_DOWN,
    OP_FILL_UP,
    OP_FILL_DOWN,
    OP_BROADCAST_FIRST,
    OP_BALLOT,
    OP_ACTIVE,
    OP_ALL,
    OP_ANY,
    OP_IS_FIRST,
    /* matrices */
    OP_MATRIX_MULTIPLY,
    OP_MATRIX_ROW,
    OP_MATRIX_COLUMN,
    OP_ALL_LANES, /* CPU_ALL_LANES */
    /* memory and synchronisation */
    OP_BARRIER,
    OP_SIMDGROUP_BARRIER,
    OP_FENCE,
    /* the host is called, thread by thread */
    OP_LOG_BEGIN,
    OP_LOG_ARGUMENT,
    OP_LOG_END,
    OP_ASSERT_FAIL,
    OP_UNSUPPORTED,
    OP_UNKNOWN /* named __tombac_..., but not on the page */
} cpu_operation_kind;

typedef enum cpu_combine {
    COMBINE_SUM,
    COMBINE_PRODUCT,
    COMBINE_MIN,
    COMBINE_MAX,
    COMBINE_AND,
    COMBINE_OR,
    COMBINE_XOR
} cpu_combine;

/* Made by split.c, not by the library: takes a comparison; true only if it holds in all lanes, active or not. */
#define CPU_ALL_LANES "__tombac_cpu_all_lanes"

typedef struct cpu_operation {
    cpu_operation_kind kind;
    cpu_combine combine;      /* OP_REDUCE, OP_SCAN */
    bool inclusive;           /* OP_SCAN */
    bool is_signed, is_float; /* the type after the dot */
    uint8_t width;            /* 32 or 4: lanes that take part */
    uint8_t axis;             /* OP_POSITION */
    uint16_t offset;          /* OP_FIELD: in tb_dispatch */
} cpu_operation;

/* What a call instruction does; OP_NONE for calls of anything else. */
cpu_operation cpu_operation_of(LLVMValueRef call);
/* Neither reads nor writes memory, and no other thread can tell whether it ran. */
bool cpu_operation_is_pure(cpu_operation_kind kind);
static inline bool cpu_operation_is_collective(cpu_operation_kind kind)
{
    return kind >= OP_REDUCE && kind <= OP_IS_FIRST;
}

#endif
