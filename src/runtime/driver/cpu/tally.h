/* Tallies: buffers that a launch only counts in are counted in memory of each worker's own, without locks and without
 * processors that take the same words from each other; what a worker has counted is combined with the buffer when the worker
 * leaves the launch. artifact/abi.h says which kernels allow it (TB_CPU_TALLIES); compiler/cpu/tally.c, why nobody can tell.
 *
 * Here is decided whether a launch allows it too: no other argument has memory in common with the buffer, and the buffer is so
 * small, measured by the number of threads, that combining costs less than locks would. */
#ifndef RT_DRIVER_CPU_TALLY_H
#define RT_DRIVER_CPU_TALLY_H

#include "runtime/driver/driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A worker's block for one argument: all zeros between launches. */
typedef struct cpu_tally {
    char *memory;
    size_t size;
} cpu_tally;

/* The arguments that each of `workers` workers shall count for itself, as bits. `by` is the object's table, or NULL. */
uint32_t cpu_tallies_choose(const uint8_t *by, const rt_manifest *manifest, const rt_run *request, unsigned workers);
/* The address that stands for the binding's in the worker's block; NULL if there is no memory for it. */
void *cpu_tally_begin(cpu_tally *tally, const rt_binding *binding);
/* Combines the block with the buffer and clears it. */
void cpu_tally_end(cpu_tally *tally, const rt_binding *binding, uint8_t by);
void cpu_tally_free(cpu_tally *tally);

#endif
