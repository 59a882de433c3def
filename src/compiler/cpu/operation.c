/* Names of operations -> what they are; see docs/operations.md, whose tables these follow. */
#include "compiler/cpu/operation.h"

#include "artifact/abi.h"

#include <stddef.h>
#include <string.h>

typedef struct entry {
    const char *name;
    cpu_operation operation;
} entry;

static const entry plain[] = {
    {"lane", {.kind = OP_LANE}},
    {"simdgroup", {.kind = OP_SIMDGROUP}},
    {"thread_index", {.kind = OP_THREAD_INDEX}},
    {"thread_position_x", {.kind = OP_POSITION, .axis = 0}},
    {"thread_position_y", {.kind = OP_POSITION, .axis = 1}},
    {"thread_position_z", {.kind = OP_POSITION, .axis = 2}},
    {"threadgroup_memory", {.kind = OP_THREADGROUP_MEMORY}},
    {"matrix_multiply_accumulate", {.kind = OP_MATRIX_MULTIPLY}},
    {"matrix_row", {.kind = OP_MATRIX_ROW}},
    {"matrix_column", {.kind = OP_MATRIX_COLUMN}},
    {"cpu_all_lanes", {.kind = OP_ALL_LANES}},
    {"threadgroup_barrier", {.kind = OP_BARRIER}},
    {"simdgroup_barrier", {.kind = OP_SIMDGROUP_BARRIER}},
    {"fence", {.kind = OP_FENCE}},
    {"log_begin", {.kind = OP_LOG_BEGIN}},
    {"log_argument", {.kind = OP_LOG_ARGUMENT}},
    {"log_end", {.kind = OP_LOG_END}},
    {"assert_fail", {.kind = OP_ASSERT_FAIL}},
    {"unsupported", {.kind = OP_UNSUPPORTED}},
};

static const entry collective[] = {
    {"sum", {.kind = OP_REDUCE, .combine = COMBINE_SUM}},
    {"product", {.kind = OP_REDUCE, .combine = COMBINE_PRODUCT}},
    {"min", {.kind = OP_REDUCE, .combine = COMBINE_MIN}},
    {"max", {.kind = OP_REDUCE, .combine = COMBINE_MAX}},
    {"and", {.kind = OP_REDUCE, .combine = COMBINE_AND}},
    {"or", {.kind = OP_REDUCE, .combine = COMBINE_OR}},
    {"xor", {.kind = OP_REDUCE, .combine = COMBINE_XOR}},
    {"prefix_inclusive_sum", {.kind = OP_SCAN, .combine = COMBINE_SUM, .inclusive = true}},
    {"prefix_exclusive_sum", {.kind = OP_SCAN, .combine = COMBINE_SUM}},
    {"prefix_inclusive_product", {.kind = OP_SCAN, .combine = COMBINE_PRODUCT, .inclusive = true}},
    {"prefix_exclusive_product", {.kind = OP_SCAN, .combine = COMBINE_PRODUCT}},
    {"shuffle", {.kind = OP_SHUFFLE}},
    {"broadcast", {.kind = OP_BROADCAST}},
    {"shuffle_up", {.kind = OP_SHUFFLE_UP}},
    {"shuffle_down", {.kind = OP_SHUFFLE_DOWN}},
    {"shuffle_xor", {.kind = OP_SHUFFLE_XOR}},
    {"shuffle_rotate_up", {.kind = OP_ROTATE_UP}},
    {"shuffle_rotate_down", {.kind = OP_ROTATE_DOWN}},
    {"shuffle_and_fill_up", {.kind = OP_FILL_UP}},
    {"shuffle_and_fill_down", {.kind = OP_FILL_DOWN}},
    {"broadcast_first", {.kind = OP_BROADCAST_FIRST}},
    {"ballot", {.kind = OP_BALLOT}},
    {"active_threads_mask", {.kind = OP_ACTIVE}},
    {"all", {.kind = OP_ALL}},
    {"any", {.kind = OP_ANY}},
    {"is_first", {.kind = OP_IS_FIRST}},
};

#define FIELD3(F)                                                                                            \
    {#F "_x", {.kind = OP_FIELD, .offset = offsetof(tb_dispatch, F)}},                                       \
        {#F "_y", {.kind = OP_FIELD, .offset = offsetof(tb_dispatch, F) + 4}},                               \
    {                                                                                                        \
        #F "_z", {.kind = OP_FIELD, .offset = offsetof(tb_dispatch, F) + 8}                                  \
    }
#define FIELD1(F)                                                                                            \
    {                                                                                                        \
        #F,                                                                                                  \
        {                                                                                                    \
            .kind = OP_FIELD, .offset = offsetof(tb_dispatch, F)                                             \
        }                                                                                                    \
    }

static const entry field[] = {
    FIELD3(threads_per_grid),
    FIELD3(threadgroups_per_grid),
    FIELD3(dispatch_threads_per_threadgroup),
    FIELD3(grid_origin),
    FIELD1(dispatch_simdgroups_per_threadgroup),
    FIELD3(threadgroup_position_in_grid),
    FIELD3(threads_per_threadgroup),
    FIELD1(simdgroups_per_threadgroup),
    FIELD1(thread_count),
};

static const cpu_operation *look_up(const entry *table, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(table[i].name) == length && !memcmp(table[i].name, name, length))
            return &table[i].operation;
    return NULL;
}
#define LOOK_UP(TABLE, NAME, LENGTH) look_up(TABLE, sizeof TABLE / sizeof *TABLE, NAME, LENGTH)

cpu_operation cpu_operation_of(LLVMValueRef call)
{
    static const char prefix[] = "__tombac_";
    cpu_operation none = {.kind = OP_NONE}, unknown = {.kind = OP_UNKNOWN};
    LLVMValueRef callee = LLVMGetCalledValue(call);
    if (!LLVMIsAFunction(callee)) return none;
    size_t length;
    const char *name = LLVMGetValueName2(callee, &length);
    if (length < sizeof prefix || memcmp(name, prefix, sizeof prefix - 1)) return none;
    name += sizeof prefix - 1;
    const char *dot = strrchr(name, '.');
    length = dot ? (size_t)(dot - name) : strlen(name);

    bool quad = length > 5 && !memcmp(name, "quad_", 5), simd = length > 5 && !memcmp(name, "simd_", 5);
    const cpu_operation *found =
        quad || simd ? LOOK_UP(collective, name + 5, length - 5) : LOOK_UP(plain, name, length);
    if (!found) found = LOOK_UP(field, name, length);
    if (!found) return unknown;
    cpu_operation operation = *found;
    operation.width = quad ? 4 : 32;
    if (dot) {
        operation.is_signed = dot[1] == 's';
        operation.is_float = dot[1] == 'f';
    }
    return operation;
}

bool cpu_operation_is_pure(cpu_operation_kind kind)
{
    return kind >= OP_LANE && kind <= OP_ALL_LANES;
}
