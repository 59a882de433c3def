/* What the passes stand on: memory that is freed at once, leaving on failure, a map from pointers to numbers,
 * bit sets. */
#ifndef TB_COMPILER_CPU_SUPPORT_H
#define TB_COMPILER_CPU_SUPPORT_H

#include "base/error.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cpu_chunk cpu_chunk;

typedef struct cpu_job {
    jmp_buf leave; /* set before the first pass */
    tombac_status status;
    tombac_error **error;
    cpu_chunk *chunks;
} cpu_job;

/* Ends the job: makes the error, jumps to `leave`. */
_Noreturn void cpu_fail(cpu_job *job, tombac_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Zeroed memory that lives until cpu_job_free; out of memory ends the job. */
void *cpu_alloc(cpu_job *job, size_t count, size_t size);
void cpu_job_free(cpu_job *job);

/* From pointers (never NULL) to numbers. */
typedef struct cpu_map {
    const void **keys;
    int *numbers;
    size_t room, used;
} cpu_map;
void cpu_map_put(cpu_job *job, cpu_map *map, const void *key, int number);
int cpu_map_get(const cpu_map *map, const void *key); /* -1: absent */

/* Bit sets of a size that the owner knows. */
static inline size_t cpu_set_words(int bits)
{
    return ((size_t)bits + 63) / 64;
}
static inline uint64_t *cpu_set_new(cpu_job *job, int bits)
{
    return cpu_alloc(job, cpu_set_words(bits) + 1, 8);
}
static inline bool cpu_set_has(const uint64_t *set, int i)
{
    return set[i / 64] >> (i % 64) & 1;
}
static inline void cpu_set_add(uint64_t *set, int i)
{
    set[i / 64] |= (uint64_t)1 << (i % 64);
}

/* log2 of the largest power of two that divides x, at most 62; 63 says that x is zero. */
static inline int cpu_trailing_zeros(uint64_t x)
{
    int zeros = x ? __builtin_ctzll(x) : 63;
    return x && zeros > 62 ? 62 : zeros;
}

#endif
