#include "runtime/driver/cpu/tally.h"

#include "artifact/abi.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 18, ALIGNMENT = 64 }; /* bytes; what a worker's second-level cache holds beside other data */

/* ---- Which ---- */

static bool have_common_memory(const rt_binding *a, const rt_binding *b)
{
    if (!a->buffer || !b->buffer) return false;
    uintptr_t x = (uintptr_t)a->buffer, y = (uintptr_t)b->buffer;
    return x < y ? y - x < a->buffer_size : x - y < b->buffer_size;
}

static bool stands_alone(const rt_manifest *manifest, const rt_run *request, size_t argument)
{
    for (size_t i = 0; i < manifest->argument_count; i++)
        if (i != argument && have_common_memory(&request->bindings[argument], &request->bindings[i])) return false;
    return true;
}

/* Each worker looks at all words in the end, and updates those that are not zero; each thread would update one at least. */
static bool pays(const rt_run *request, size_t size, unsigned workers)
{
    uint64_t threads = 1, words = (uint64_t)size / 4 * workers;
    for (int i = 0; i < 3; i++)
        if (__builtin_mul_overflow(threads, request->dispatch.threads_per_grid[i], &threads)) return true;
    return words <= threads / 2;
}

uint32_t cpu_tallies_choose(const uint8_t *by, const rt_manifest *manifest, const rt_run *request, unsigned workers)
{
    uint32_t chosen = 0;
    for (size_t i = 0; by && i < manifest->argument_count && i < TB_CPU_TALLIES_MAX; i++) {
        const rt_binding *binding = &request->bindings[i];
        if (by[i] == TB_CPU_TALLY_NONE || manifest->arguments[i].kind != TOMBAC_ARGUMENT_BUFFER || !binding->memory) continue;
        if (!binding->address || binding->buffer_size > LARGEST || (uintptr_t)binding->buffer % 4) continue;
        if (pays(request, binding->buffer_size, workers) && stands_alone(manifest, request, i)) chosen |= (uint32_t)1 << i;
    }
    return chosen;
}

/* ---- A worker's block ---- */

static char *block(const cpu_tally *tally, const rt_binding *binding)
{
    return tally->memory + (uintptr_t)binding->buffer % ALIGNMENT; /* code may rely on the buffer's alignment */
}

void *cpu_tally_begin(cpu_tally *tally, const rt_binding *binding)
{
    size_t size = (binding->buffer_size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (tally->size < size) {
        cpu_tally_free(tally);
        tally->memory = aligned_alloc(ALIGNMENT, size);
        if (!tally->memory) return NULL;
        memset(tally->memory, 0, size);
        tally->size = size;
    }
    return block(tally, binding) + ((char *)binding->address - (char *)binding->buffer);
}

static void combine(_Atomic uint32_t *word, uint32_t counted, uint8_t by)
{
    uint32_t old;
    switch (by) {
    case TB_CPU_TALLY_ADD: atomic_fetch_add_explicit(word, counted, memory_order_relaxed); return;
    case TB_CPU_TALLY_OR: atomic_fetch_or_explicit(word, counted, memory_order_relaxed); return;
    case TB_CPU_TALLY_XOR: atomic_fetch_xor_explicit(word, counted, memory_order_relaxed); return;
    default:
        old = atomic_load_explicit(word, memory_order_relaxed);
        while (old < counted &&
               !atomic_compare_exchange_weak_explicit(word, &old, counted, memory_order_relaxed, memory_order_relaxed)) {
        }
    }
}

void cpu_tally_end(cpu_tally *tally, const rt_binding *binding, uint8_t by)
{
    uint32_t *counted = (uint32_t *)(void *)block(tally, binding);
    _Atomic uint32_t *words = binding->buffer;
    for (size_t i = 0; i < binding->buffer_size / 4; i++)
        if (counted[i]) combine(&words[i], counted[i], by);
    memset(counted, 0, binding->buffer_size);
}

void cpu_tally_free(cpu_tally *tally)
{
    free(tally->memory);
    *tally = (cpu_tally){0};
}
