/* The functions under test, from the library's own bitcode compiled for this machine, and their references. */
#ifndef TB_TESTS_MATH_LIBRARY_H
#define TB_TESTS_MATH_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PRECISE, FAST };

typedef float (*unary_function)(float);
typedef float (*binary_function)(float, float);

typedef struct tested_function {
    const char *name;
    int arity;
    unary_function unary[2]; /* by mode */
    binary_function binary[2];
    double bound[2];        /* ulp */
    double slope, absolute; /* of fast: see functions.def */
    float low, high;
} tested_function;

extern const tested_function tested_functions[];
extern const size_t tested_function_count;

/* The exact result rounded to a double (infinite from 2^128 on), by MPFR with 80 bits. Zeros have the sign
 * that IEEE 754 and C prescribe. */
double reference(size_t function, float x, float y);
/* The same within a few units of a double's last place, much faster; false if there is none for this
 * function. */
bool quick_reference(size_t function, float x, float y, double *result);
void reference_free(void);

/* |got - expected| in units of the last place that a float of the expected size has; infinity for NaN in
 * place of a number and for a zero with the wrong sign where strict. Results below `least_size` count as if
 * they were that large. */
double ulp_error(float got, double expected, double least_size, bool strict);

/* Exact functions. */
#define MODES(type, name, parameters)                                                                        \
    type precise_##name parameters __asm__("__tombac_precise_" #name ".f32");                                \
    type fast_##name parameters __asm__("__tombac_fast_" #name ".f32");
MODES(float, frexp, (float, int *))
MODES(int, ilogb, (float))
MODES(float, ldexp, (float, int))
MODES(float, modf, (float, float *))
MODES(float, nextafter, (float, float))
MODES(float, sincos, (float, float *))

#endif
