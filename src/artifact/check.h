/* What code of the "check" engine and its driver agree on, beside the entry in abi.h: the operations, the record that stands
 * at every place where threads wait for each other, and the functions that the code calls.
 *
 * A convergence point (site) is a place in the kernel's code with a number. Threads of a SIMD-group that wait at the site
 * with the lowest number are released together: they are the active lanes of its operation. Operands and results travel as
 * 64-bit patterns, zero-extended; floats as their bits. */
#ifndef TB_ARTIFACT_CHECK_H
#define TB_ARTIFACT_CHECK_H

#include "artifact/abi.h"

/* Collective operations that exist for SIMD-groups and quad-groups: __tombac_simd_NAME and __tombac_quad_NAME. */
#define TB_CHECK_COLLECTIVES(X)                                                                                            \
    X(sum) X(product) X(min) X(max) X(and) X(or) X(xor)                                                                    \
    X(prefix_inclusive_sum) X(prefix_exclusive_sum) X(prefix_inclusive_product) X(prefix_exclusive_product)                \
    X(broadcast) X(shuffle) X(shuffle_up) X(shuffle_down) X(shuffle_xor) X(shuffle_rotate_up) X(shuffle_rotate_down)       \
    X(shuffle_and_fill_up) X(shuffle_and_fill_down) X(broadcast_first)                                                     \
    X(ballot) X(active_threads_mask) X(all) X(any) X(is_first)

typedef enum tb_check_operation {
#define X(name) TB_CHECK_##name,
    TB_CHECK_COLLECTIVES(X)
#undef X
    TB_CHECK_MATRIX_MULTIPLY, /* operands: a0 | a1 << 32, b0 | b1 << 32, c0 | c1 << 32; the result likewise */
    TB_CHECK_SIMDGROUP_BARRIER,
    TB_CHECK_THREADGROUP_BARRIER,
    TB_CHECK_CONVERGE, /* the latch of a loop with sites inside: wait for the threads that are still in the body */
    TB_CHECK_OPERATION_COUNT
} tb_check_operation;

#define TB_CHECK_TYPES(X) X(u8) X(u16) X(u32) X(u64) X(s8) X(s16) X(s32) X(s64) X(f16) X(f32)
typedef enum tb_check_type {
    TB_CHECK_NO_TYPE,
#define X(name) TB_CHECK_##name,
    TB_CHECK_TYPES(X)
#undef X
    TB_CHECK_TYPE_COUNT
} tb_check_type;

typedef struct tb_check_place {
    const char *file; /* NULL: unknown */
    uint32_t line;
} tb_check_place;

typedef struct tb_check_site {
    tb_check_place place;
    uint32_t order;     /* position in the kernel's block order, unique per site */
    uint8_t operation;  /* tb_check_operation */
    uint8_t type;       /* tb_check_type */
    uint8_t width;      /* 32 or 4 lanes */
    uint8_t flags;      /* of barriers */
} tb_check_site;

/* What an access is tested against (bounds.c of the compiler). */
typedef enum tb_check_object_kind {
    TB_CHECK_OBJECT_PRIVATE, TB_CHECK_OBJECT_THREADGROUP, TB_CHECK_OBJECT_ARGUMENT, TB_CHECK_OBJECT_CONSTANT,
    TB_CHECK_OBJECT_NULL /* no object: a null pointer */
} tb_check_object_kind;
typedef struct tb_check_object {
    const char *name;  /* NULL: not known, or the argument's */
    uint32_t kind;     /* tb_check_object_kind */
    uint32_t argument; /* which one */
} tb_check_object;
/* Or'ed to an object's number: offset and size are those of an array inside of it. */
#define TB_CHECK_INNER (UINT32_C(1) << 31)

/* A global variable of every object. */
#define TB_CHECK_INFO "tombac_check_info"
typedef struct tb_check_table {
    const void *address;
    uint64_t size;
} tb_check_table;
typedef struct tb_check_info {
    uint32_t stack_size; /* bytes that one thread's private variables need; the driver adds room for calls */
    uint32_t has_sites;  /* 0: threads never wait for each other */
    const tb_check_table *tables; /* program-scope constants, which kernels may read through device pointers */
    uint64_t table_count;
    const tb_check_object *objects; /* number 1 is the first */
    uint64_t object_count;
    uint32_t watches_unset; /* 1: the code calls tombac_check_shadow and its like */
    uint32_t unused;
} tb_check_info;

typedef enum tb_check_access {
    TB_CHECK_LOAD, TB_CHECK_STORE, TB_CHECK_ATOMIC
} tb_check_access;
/* Or'ed to an access and its space in tombac_check_race: an atomic load; an operation with an order beyond relaxed. */
#define TB_CHECK_ONLY_READS (UINT32_C(1) << 16)
#define TB_CHECK_ORDERED (UINT32_C(1) << 17)
/* Or'ed to a store in tombac_check_shadow: it copies an object as it is. */
#define TB_CHECK_COPY (UINT32_C(1) << 18)
/* Bytes of the largest single access in code that calls tombac_check_shadow. */
#define TB_CHECK_MAX_SHADOW 1024
/* GENERIC: a pointer whose memory is not known when the kernel is compiled. */
typedef enum tb_check_space { TB_CHECK_GENERIC = 0, TB_CHECK_DEVICE = 1, TB_CHECK_THREADGROUP = 3 } tb_check_space;
/* What is reported when the launch ends; FRESH_READ: of threadgroup memory that nothing wrote, found by the driver;
 * UNSET_USE: of a value that comes from a variable that nothing set. */
typedef enum tb_check_fault {
    TB_CHECK_DIVISION_BY_ZERO, TB_CHECK_DIVISION_OVERFLOW, TB_CHECK_SIGNED_OVERFLOW, TB_CHECK_FRESH_READ,
    TB_CHECK_UNSET_USE,
    TB_CHECK_FAULT_COUNT
} tb_check_fault;

/* Functions of the driver. Those marked * do not return to the kernel: they end the launch.
 *
 *   u64  tombac_check_wait(thread, const tb_check_site *, u64 a, u64 b, u64 c, u64 d)
 *   void tombac_check_tick(thread, const tb_check_place *)         countdown reached 0 in a loop
 *   void tombac_check_touch(thread, u64 address, u64 size, u32 access | space << 8, const tb_check_place *)
 *   void tombac_check_race(thread, u64 address, u64 size, u32 access | space << 8 | ..., const tb_check_place *)
 *                                                                  called if the thread's `races` is set
 *   void tombac_check_fence(thread)
 *   void tombac_check_bound(thread, u64 offset, u64 size, u64 limit, u32 access, u32 object, const tb_check_place *)
 *                                                                  an access that is not within its object's `limit` bytes;
 *                                                                  object 0: a private variable
 *   void tombac_check_fault(thread, u32 fault, const tb_check_place *)
 *   void *tombac_check_shadow(thread, u64 address, u64 size, u32 access | TB_CHECK_COPY, const tb_check_place *)
 *                                                                  where the shadow of an access is to be read or written: 1 for
 *                                                                  each bit that nothing set; the access follows
 *   void tombac_check_shadow_fill(thread, u64 address, u64 size, u32 byte)
 *   void tombac_check_shadow_copy(thread, u64 to, u64 from, u64 size, const tb_check_place *)   after the copy
 *   void tombac_check_log_begin(thread, u32 level, const char *format)
 *   void tombac_check_log_argument(thread, u32 kind, u64 bits)
 *   void tombac_check_log_end(thread)
 *   void tombac_check_assert(thread, const char *condition, const char *file, u32 line) *
 *   void tombac_check_unsupported(thread, const char *what, const tb_check_place *) *
 *   void tombac_check_unreachable(thread, const tb_check_place *) * */

#endif
