/* Kernels whose threads wait for each other, as ordinary functions: results, and what must be reported. With a word as
 * argument the program does what must fail. */
#include <tombac/kernel.h>
#include <tombac/ndrange.h>

typedef struct pair {
    float first;
    ushort second;
} pair;

/* Through threadgroup memory of both kinds; a structure by value. */
kernel void reverse_both(const int *in, int *out, threadgroup_memory(int) sized, pair p)
{
    threadgroup int fixed[64];
    uint t = thread_index_in_threadgroup(), n = threads_per_threadgroup().x, i = thread_position_in_grid().x;
    int *end = fixed + n - 1;
    fixed[t] = in[i];
    sized[t] = in[i] * (int)p.first;
    threadgroup_barrier(mem_threadgroup);
    out[i] = end[-(int)t] + sized[n - 1 - t] * p.second;
}

/* A private array lives across barriers; those that ended do not keep others from a barrier. */
kernel void rounds(uint *out, uint count)
{
    local_memory(uint, first, 1);
    uint own[5] = {thread_index_in_threadgroup() + 1};
    for (uint k = 1; k < 5; k++) {
        if (local_index() == 0) first[0] = own[k - 1];
        synchronize();
        own[k] = own[k - 1] + first[0];
        synchronize();
        if (k == 3 && local_index() >= count) return;
    }
    out[thread_index_in_grid()] = own[4];
}

/* The odd lanes, then all; then the even ones where the odd ones ended. */
kernel void branches(uint *out)
{
    uint i = thread_index_in_threadgroup(), *o = out + i * 3;
    if (i % 2) o[0] = (uint)popcount(simd_active_threads_mask());
    o[1] = simd_sum(i);
    if (i % 2) return;
    o[2] = simd_sum(1u);
}

static void add_up(uint *x)
{
    *x = simd_sum(*x);
}

kernel void divergent(uint *x)
{
    if (thread_index_in_threadgroup() < 3) {
        threadgroup_barrier(mem_device);
        x[0]++;
    } else {
        threadgroup_barrier(mem_device);
        x[1]++;
    }
}

kernel void two_functions(uint *x)
{
    if (thread_index_in_simdgroup() % 2) x[1] = simd_sum(2u);
    add_up(x);
}

kernel void two_ways(uint *x)
{
    if (thread_index_in_simdgroup() % 2)
        add_up(x);
    else
        add_up(x + 1);
}

kernel void half_matrix(float *x)
{
    simdgroup_float8x8 m = simdgroup_filled_float8x8(2.0f);
    if (thread_index_in_simdgroup() < 16) simdgroup_multiply(&m, m, m);
    simdgroup_store(m, x, 8);
}

kernel void overflow(uint *x)
{
    volatile char big[300000];
    big[x[0]] = 1;
    simdgroup_barrier(mem_none);
    x[1] = (uint)big[x[0]];
}

static int failures;
static void expect(bool right, const char *what)
{
    if (right) return;
    printf("wrong: %s\n", what);
    failures++;
}

static void fail_as_asked(const char *what)
{
    uint x[2] = {0, 0};
    float m[64];
    if (!strcmp(what, "divergent")) tombac_run_threads(5, 1, 1, 5, 1, 1, divergent, x);
    if (!strcmp(what, "functions")) tombac_run_threads(4, 1, 1, 4, 1, 1, two_functions, x);
    if (!strcmp(what, "ways")) tombac_run_threads(4, 1, 1, 4, 1, 1, two_ways, x);
    if (!strcmp(what, "matrix")) tombac_run_threads(32, 1, 1, 32, 1, 1, half_matrix, m);
    if (!strcmp(what, "size")) tombac_run_threads(2000, 1, 1, 2000, 1, 1, divergent, x);
    if (!strcmp(what, "stack")) tombac_run_threads(1, 1, 1, 1, 1, 1, overflow, x);
    if (!strcmp(what, "loop")) tombac_for_each_thread(4, 1, 1, 4, 1, 1) divergent(x);
}

int main(int argument_count, char **arguments)
{
    if (argument_count > 1) {
        fail_as_asked(arguments[1]);
        return 0;
    }
    int in[150], out[150], shared[64];
    for (int i = 0; i < 150; i++) in[i] = i * i;
    tombac_run_threads(150, 1, 1, 64, 1, 1, reverse_both, in, out, shared, ((pair){2.0f, 10}));
    for (int i = 0; i < 150; i++) {
        int first = i / 64 * 64, size = first + 64 <= 150 ? 64 : 150 - first;
        expect(out[i] == 21 * in[first + size - 1 - (i - first)], "reversed");
    }
    uint made[40] = {0};
    tombac_run_threads(40, 1, 1, 20, 1, 1, rounds, made, 7);
    for (uint i = 0; i < 40; i++) expect(made[i] == (i % 20 < 7 ? i % 20 + 16 : 0), "rounds");
    uint seen[20 * 3] = {0};
    tombac_run_threads(20, 1, 1, 20, 1, 1, branches, seen);
    for (uint i = 0; i < 20; i++) {
        expect(seen[3 * i] == (i % 2 ? 10 : 0), "odd lanes");
        expect(seen[3 * i + 1] == 190 && seen[3 * i + 2] == (i % 2 ? 0 : 10), "all lanes, even lanes");
    }
    tombac_run_threads(0, 1, 1, 20, 1, 1, branches, seen);
    return failures != 0;
}
