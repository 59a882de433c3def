/* Measuring a function's error over many arguments. */
#ifndef TB_TESTS_MATH_SWEEP_H
#define TB_TESTS_MATH_SWEEP_H

#include "library.h"

typedef struct measurement {
    double ulp; /* worst, of precise: over everything; of fast: where arguments and result are normal */
    float ulp_at[2];
    double absolute; /* fast only: worst absolute error in [low, high] */
    float absolute_at;
    bool good;       /* within the bounds of functions.def */
    float bad_at[2]; /* the first arguments out of bounds, with what came and what should have */
    float bad_got;
    double bad_expected;
} measurement;

#define SWEEP_STEP 9973 /* a prime: 431,000 floats */

/* Both modes at once, results by mode: every step-th of all 2^32 floats (1: all), evenly spread arguments in
 * [low, high], special values; for two arguments 2^32 / step random pairs, and all pairs of special values.
 */
void sweep(size_t function, uint64_t step, measurement results[2]);

#endif
