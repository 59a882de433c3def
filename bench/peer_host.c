/* Peers that work on the program's own memory: the C loops, and OpenBLAS, which is looked for when the
 * program runs. */
#include "bench.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* From cblas.h: order, transpositions, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc. */
typedef void sgemm(
    int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };

typedef struct state {
    const bench_case *c;
    bench_loop *loop;
    sgemm *multiply;
    void *buffers[MAX_BUFFERS];
} state;

static void close_host(void *opaque)
{
    state *s = opaque;
    for (unsigned i = 0; i < MAX_BUFFERS; i++) free(s->buffers[i]);
    free(s);
}

static state *open_host(const bench_case *c, const char **why)
{
    state *s = calloc(1, sizeof *s);
    *why = "out of memory";
    if (!s) return NULL;
    s->c = c;
    for (unsigned i = 0; i < c->buffer_count; i++) {
        size_t size = (bench_buffer_size(&c->buffers[i]) + 63) / 64 * 64;
        s->buffers[i] = aligned_alloc(64, size);
        if (!s->buffers[i]) {
            close_host(s);
            return NULL;
        }
    }
    return s;
}

static void *open_strict(const bench_case *c, unsigned threads, const char **why)
{
    state *s = open_host(c, why);
    if (s) s->loop = bench_loop_strict(c->name);
    return s;
}

static void *open_fast(const bench_case *c, unsigned threads, const char **why)
{
    state *s = open_host(c, why);
    if (s) s->loop = bench_loop_fast(c->name);
    return s;
}

static bool run_loop(void *opaque)
{
    state *s = opaque;
    s->loop(s->buffers, s->c->scalars);
    return true;
}

/* OpenBLAS takes its oldest code on processors that it does not know, and the environment may ask for slow
 * code for other programs' sake: name the code that this processor can run. The result is checked anyway. */
static void choose_blas_code(void)
{
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 1);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        setenv("OPENBLAS_CORETYPE", "HASWELL", 1);
}

static void *open_blas(const bench_case *c, unsigned threads, const char **why)
{
    *why = "no matrix product";
    if (!c->blas) return NULL;
    choose_blas_code();
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    *why = "no OpenBLAS";
    if (!library) return NULL;
    /* The library stays loaded: its threads do not survive unloading. */
    void (*set_threads)(int);
    sgemm *multiply;
    *(void **)&multiply = dlsym(library, "cblas_sgemm");
    *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
    if (!multiply || !set_threads) return NULL;
    set_threads((int)threads);
    state *s = open_host(c, why);
    if (s) s->multiply = multiply;
    return s;
}

static bool run_blas(void *opaque)
{
    state *s = opaque;
    int n = s->c->scalars[0].i;
    s->multiply(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1.0f, s->buffers[0], n, s->buffers[1], n,
        0.0f, s->buffers[2], n);
    return true;
}

static bool write_host(void *opaque, unsigned index, const void *data, size_t size)
{
    memcpy(((state *)opaque)->buffers[index], data, size);
    return true;
}

static bool read_host(void *opaque, unsigned index, void *data, size_t size)
{
    memcpy(data, ((state *)opaque)->buffers[index], size);
    return true;
}

const bench_peer bench_peer_loop = {"C", false, open_strict, run_loop, write_host, read_host, close_host};
const bench_peer bench_peer_loop_fast = {
    "C fast", false, open_fast, run_loop, write_host, read_host, close_host};
const bench_peer bench_peer_blas = {"OpenBLAS", true, open_blas, run_blas, write_host, read_host, close_host};
