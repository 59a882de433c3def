/* The conformance suite: kernels with expected values that every device must give.
 *
 * A family is a pair FAMILY.metal (kernels) and FAMILY.c (plain C models of Metal's meaning, written from the
 * Metal specification and docs/operations.md, and the comparison). FAMILY.c has one function that adds the
 * family's tests, cases made by loops over types, sizes and shapes included; a test builds a call, runs it,
 * and checks what came back.
 *
 * The runner (runner.c) runs tests in a child process, so that a crash or a hang fails one test and not the
 * suite. */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include "tombac/tombac.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- Tests ---- */

typedef struct cf_suite cf_suite; /* all tests */
typedef struct cf_test cf_test;   /* the running one */

typedef struct cf_parameters {
    int v[6];
} cf_parameters;
#define CF_P(...) ((cf_parameters){{__VA_ARGS__}})

typedef void cf_function(cf_test *test, const int *p);

/* Adds a test; the name is FAMILY.WHAT.CASE. */
void cf_add(cf_suite *suite, cf_function *function, cf_parameters p, const char *name_format, ...)
    __attribute__((format(printf, 4, 5)));

/* Families, one function each. */
#define CF_FAMILIES(F)                                                                                       \
    F(positions) F(language) F(constants) F(threadgroup) F(barriers) F(simd) F(shuffle) F(matrix) F(atomics) F(math) F(integer)   \
    F(half) F(memory) F(tensor) F(product) F(logging) F(errors) F(races) F(unset) F(operators) F(generic) F(functions) F(library) F(ckernel) F(indices) F(bounds) F(wide)
#define CF_DECLARE(name) void cf_family_##name(cf_suite *suite);
CF_FAMILIES(CF_DECLARE)

/* ---- Inside a test ---- */

/* Marks the test as failed; the first message stays. */
void cf_fail(cf_test *test, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool cf_failed(const cf_test *test);
tombac_device *cf_device(cf_test *test);
/* Zeroed memory that lives until the test ends. Never NULL: running out ends the process. */
void *cf_alloc(cf_test *test, size_t size);
/* SplitMix64: the next value of the sequence. */
uint64_t cf_random(uint64_t *state);

/* ---- Calls ---- */

typedef enum cf_binding_kind { CF_BUFFER, CF_BYTES, CF_THREADGROUP, CF_TENSOR } cf_binding_kind;

typedef struct cf_binding {
    cf_binding_kind kind;
    uint32_t index;
    void *data; /* a buffer's content before, and after the run */
    size_t size;
    tombac_tensor tensor; /* of CF_TENSOR; points to the caller's arrays */
} cf_binding;

enum { CF_MAX_BINDINGS = 12, CF_MAX_CONSTANTS = 12 };

typedef struct cf_call {
    const char *file; /* FAMILY.metal, or a whole path */
    const char *kernel;
    tombac_math math;
    const char *standard;
    tombac_size3 grid, group;
    bool whole_groups; /* grid counts threadgroups (dispatchThreadgroups) */
    tombac_constant constants[CF_MAX_CONSTANTS];
    size_t constant_count;
    cf_binding bindings[CF_MAX_BINDINGS];
    size_t binding_count;
    bool uses_unset;      /* the device "check" is to report a use of what nothing set; else it must not */
    char *log;            /* after the run: what the kernel printed */
    char error_file[256]; /* after a failure: what the error is about */
    unsigned error_line;
} cf_call;

void cf_buffer(cf_call *call, uint32_t index, void *data, size_t size);
/* Strides NULL: packed. The arrays must live until the call was run. */
void cf_tensor(cf_call *call, uint32_t index, tombac_tensor tensor, void *data, size_t size);
void cf_bytes(cf_call *call, uint32_t index, const void *data, size_t size);
void cf_threadgroup(cf_call *call, uint32_t index, size_t size);
void cf_constant(cf_call *call, const char *name, const void *data, size_t size);
void cf_constant_at(cf_call *call, uint32_t index, const void *data, size_t size);

/* Compiles, binds, launches, waits, copies buffers back. Buffers lie between guard bytes that must survive
 * (device "check" finds strays itself). On failure the test is failed and false returned. */
bool cf_run(cf_test *test, cf_call *call);
/* The same, but a failing call is what the test wants: returns the status, the message in `message`. */
tombac_status cf_try(cf_test *test, cf_call *call, char *message, size_t size);

/* ---- Comparisons ---- */

/* Compares `count` scalars bit by bit (two NaN are equal). `what` names the array in the message. */
bool cf_equal(cf_test *test, tombac_type type, const void *expected, const void *got, size_t count,
    const char *what_format, ...) __attribute__((format(printf, 6, 7)));
/* Compares floats with exact values in double: an error of at most `ulps` units in the last place of the
 * float nearest to the exact value, or at most `absolute`. Where the exact value is below the normal range, a
 * zero is accepted. */
bool cf_close(cf_test *test, const double *expected, const float *got, size_t count, double ulps,
    double absolute, const char *what_format, ...) __attribute__((format(printf, 7, 8)));

/* ---- Independent models of small floating-point types (models.c) ---- */

/* The nearest binary16 / bfloat16 (ties to even), and back. */
uint16_t cf_half_from_double(double x);
double cf_half_to_double(uint16_t bits);
uint16_t cf_bfloat_from_double(double x);
double cf_bfloat_to_double(uint16_t bits);
/* a * b + c as if rounded once to odd in double: rounding the result to a narrow type is then right. */
double cf_fma_odd(double a, double b, double c);
uint32_t cf_float_bits(float x);
float cf_float_of_bits(uint32_t bits);

#endif
