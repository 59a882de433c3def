/* Runs vectorised kernels and the scalar reference over many threadgroup shapes and compares every word.
 *
 *     compare REFERENCE.so VECTOR.so COUNT
 *
 * Kernels are k0 ... k(COUNT - 1) of generate.py: k0 in the reference, k0_threadgroup and k0_context in the
 * vector library. */
#include "artifact/abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 8192, SLACK = 64, ARGUMENTS = 5 };

typedef uint32_t words[8 * WORDS + 2 * SLACK];
static uint32_t input[WORDS + 2 * SLACK];
static uint8_t bytes[WORDS];
static words expected[2], actual[2];
static _Alignas(64) char context[32 * 65536], memory[TB_MAX_THREADGROUP_MEMORY + 128];

static const uint32_t shapes[][3] = {{128, 1, 1}, {100, 1, 1}, {32, 4, 1}, {16, 8, 1}, {8, 8, 2}, {48, 2, 1},
    {5, 5, 3}, {64, 3, 1}, {31, 1, 1}, {4, 9, 1}};

typedef struct libraries {
    void *reference, *vector;
    uint32_t *index, *position;
    const tb_dispatch **dispatch;
} libraries;

typedef void scalar_kernel(const uint32_t *, uint32_t *, uint32_t *, const uint8_t *, const uint32_t *);

static void *find(void *library, const char *format, int k)
{
    char name[64];
    snprintf(name, sizeof name, format, k);
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return symbol;
}

static void run_scalar(const libraries *l, scalar_kernel *kernel, const tb_dispatch *d, uint32_t n)
{
    const uint32_t *size = d->threads_per_threadgroup;
    *l->dispatch = d;
    for (uint32_t i = 0; i < d->thread_count; i++) {
        *l->index = i;
        l->position[0] = i % size[0];
        l->position[1] = i / size[0] % size[1];
        l->position[2] = i / size[0] / size[1];
        kernel(input + SLACK, expected[0] + SLACK, expected[1] + SLACK, bytes, &n);
    }
}

static const uint32_t stop; /* nobody ever sets it */

/* What kernels refer to. */
__attribute__((visibility("default"), noreturn)) void tombac_cpu_stop(const char *file, uint32_t line);
void tombac_cpu_stop(const char *file, uint32_t line)
{
    fprintf(stderr, "stopped at %s:%u\n", file ? file : "?", line);
    exit(2);
}

static int run_shape(const libraries *l, int k, const uint32_t *size, uint32_t n)
{
    scalar_kernel *scalar = (scalar_kernel *)find(l->reference, "k%d", k);
    tb_cpu_entry *entry = (tb_cpu_entry *)find(l->vector, "k%d_threadgroup", k);
    if (*(int *)find(l->vector, "k%d_context", k) > 65536) return fprintf(stderr, "context too large\n"), 1;
    memset(expected, 0, sizeof expected);
    memset(actual, 0, sizeof actual);
    for (uint32_t group = 0; group < 2; group++) {
        tb_dispatch d = {.threadgroup_position_in_grid = {group, group, 0}};
        for (int a = 0; a < 3; a++)
            d.threads_per_threadgroup[a] = d.dispatch_threads_per_threadgroup[a] = size[a];
        d.thread_count = size[0] * size[1] * size[2];
        d.simdgroups_per_threadgroup = d.dispatch_simdgroups_per_threadgroup = (d.thread_count + 31) / 32;
        run_scalar(l, scalar, &d, n);
        void *arguments[ARGUMENTS] = {input + SLACK, actual[0] + SLACK, actual[1] + SLACK, bytes, &n};
        memset(context, 0xaa, sizeof context);
        entry(&d, arguments, &(tb_cpu_group){.threadgroup_memory = memory, .context = context, .stop = &stop});
    }
    int wrong = 0, first = -1;
    for (size_t i = 0; i < sizeof expected / 4; i++)
        if (((uint32_t *)expected)[i] != ((uint32_t *)actual)[i] && wrong++ == 0) first = (int)i;
    if (wrong)
        printf("k%d with %ux%ux%u threads, n = %u: %d words differ, first at %d\n", k, size[0], size[1],
            size[2], n, wrong, first);
    return wrong != 0;
}

int main(int count, char **arguments)
{
    if (count != 4) return 2;
    libraries l = {dlopen(arguments[1], RTLD_NOW), dlopen(arguments[2], RTLD_NOW), NULL, NULL, NULL};
    if (!l.reference || !l.vector) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    l.index = find(l.reference, "reference_index", 0);
    l.position = find(l.reference, "reference_position", 0);
    l.dispatch = find(l.reference, "reference_dispatch", 0);
    srand(5);
    for (int i = 0; i < WORDS + 2 * SLACK; i++) input[i] = (uint32_t)rand() % 4096;
    for (int i = 0; i < WORDS; i++) bytes[i] = (uint8_t)rand();
    int bad = 0;
    for (int k = 0; k < atoi(arguments[3]); k++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (uint32_t n = 0; n < 9; n += 4) bad += run_shape(&l, k, shapes[s], n);
    return bad != 0;
}
