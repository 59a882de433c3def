/* What the benchmark's parts share: cases, peers, and results.
 *
 * A case is one Metal kernel with its data and its grid; buffers are [[buffer(0)]] and on, scalars the
 * indices after them. A peer is another way to compute the same from the same data. Every peer works on its
 * own copy of the buffers. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_BUFFERS = 5, MAX_SCALARS = 5, MAX_ROUNDS = 101, MAX_COPIES = 64 };

typedef union bench_scalar {
    float f;
    uint32_t u;
    int32_t i;
} bench_scalar;

typedef enum bench_element {
    ELEMENT_F32,
    ELEMENT_F16,
    ELEMENT_U32,
    ELEMENT_I32,
    ELEMENT_U8,
    ELEMENT_Q4_0
} bench_element;

/* Reals are uniform from low up to high, integers from low to high. ELEMENT_Q4_0 counts blocks of 18 bytes.
 */
typedef struct bench_buffer {
    bench_element element;
    size_t count;
    double low, high;
    bool zero;    /* filled with zeros instead */
    bool checked; /* compared with the reference's */
} bench_buffer;

typedef void bench_loop(void *const *buffers, const bench_scalar *scalars);

typedef struct bench_case {
    const char *name, *file, *kernel; /* kernels/FILE.metal and FILE.cl hold KERNEL */
    bench_buffer buffers[MAX_BUFFERS];
    unsigned buffer_count, scalar_count;
    bench_scalar scalars[MAX_SCALARS];
    uint32_t threads[3], group[3];
    double operations, bytes; /* what one run does at least: arithmetic, and memory read and written once */
    double tolerance;         /* right if |found - expected| <= tolerance * (1 + |expected|) */
    double may_differ; /* share of elements that need not be right, where rounding decides a loop's length */
    bool opencl, blas; /* has these peers */
} bench_case;

extern const bench_case bench_cases[];
extern const size_t bench_case_count;

/* The plain C loop of a case, as compiled with strict and with fast floating point. Never NULL for a case of
 * the table. */
bench_loop *bench_loop_strict(const char *name);
bench_loop *bench_loop_fast(const char *name);

/* ---- Data (data.c) ---- */

size_t bench_buffer_size(const bench_buffer *buffer);
/* Fills `memory` with the case's data for buffer `index`: the same for every caller. */
void bench_fill(const bench_case *c, unsigned index, void *memory);
/* The number of elements of a checked buffer that are wrong; the first one's index in *first. */
size_t bench_count_wrong(
    const bench_case *c, unsigned index, const void *found, const void *expected, size_t *first);

/* ---- Peers ---- */

typedef struct bench_peer bench_peer;
struct bench_peer {
    const char *name;
    bool threaded; /* has an all-cores form */
    /* Makes the peer ready for a case, for one thread or all cores. NULL: cannot; *why says it in a few
     * words. */
    void *(*open)(const bench_case *c, unsigned threads, const char **why);
    /* One run, start to end; false if it failed. */
    bool (*run)(void *state);
    /* The content of a buffer: set before a run, read after it. */
    bool (*write)(void *state, unsigned index, const void *data, size_t size);
    bool (*read)(void *state, unsigned index, void *data, size_t size);
    void (*close)(void *state);
};

extern const bench_peer bench_peer_tombac, bench_peer_loop, bench_peer_loop_fast, bench_peer_opencl,
    bench_peer_blas, bench_peer_tombac_c;

/* ---- Results ---- */

typedef struct bench_result {
    const char *missing; /* why there are no figures, or NULL */
    double minimum, median;
} bench_result;

enum { PEER_COUNT = 6 };
/* results[p][0]: one thread, [1]: all cores. */
typedef struct bench_row {
    const bench_case *c;
    bench_result results[PEER_COUNT][2];
    double copies; /* what independent copies gain; 0: not measured */
} bench_row;

extern const bench_peer *const bench_peers[PEER_COUNT];

typedef struct bench_settings {
    unsigned rounds, cores, copies; /* copies: that are measured at a time, 1: none */
    double sample_seconds; /* a sample repeats a run for at least so long */
    bool processor_time;   /* of all threads, instead of wall clock: for machines that are not quiet */
    const char *filter;
    const char *json;
} bench_settings;

/* Measures one case; false if a result was wrong or Tombac could not run it (said on standard error). */
bool bench_measure(const bench_case *c, const bench_settings *settings, bench_row *row);
/* How many times the work of one copy of Tombac on one thread settings->copies of them do in the same time (copies.c); 0: not
 * measured. */
double bench_copies(const bench_case *c, const bench_settings *settings);
/* Prints a line of the table, its head before, and the summary after. */
void bench_print_head(const bench_settings *settings);
void bench_print_row(const bench_row *row);
void bench_print_summary(const bench_row *rows, size_t count);
bool bench_write_json(const bench_settings *settings, const bench_row *rows, size_t count);
/* The processor's name, "unknown" where the system does not tell. */
const char *bench_processor(void);

#endif
