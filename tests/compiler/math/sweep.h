/* Measuring a function's error over many arguments. */
#ifndef TB_TESTS_MATH_SWEEP_H
#define TB_TESTS_MATH_SWEEP_H

#include "library.h"

typedef struct measurement {
    double ulp;               /* worst, of precise: over everything; of fast: where arguments and result are normal */
    float ulp_at[2];
    double absolute;          /* fast only: worst absolute error in [low, high] */
    float absolute_at;
    bool good;                /* within the bounds of functions.def */
    float bad_at[2];          /* the first arguments out of bounds, with what came and what should have */
    float bad_got;
    double bad_expected;
} measurement;

typedef enum sweep_size { SWEEP_SAMPLES, SWEEP_EXHAUSTIVE } sweep_size;

/* Both modes at once, results by mode. Samples: every k-th float, evenly spread arguments in [low, high], special values (all pairs of
 * them for two arguments). Exhaustive: all 2^32 floats; for two arguments 2^28 pairs. */
void sweep(size_t function, sweep_size size, measurement results[2]);

#endif
