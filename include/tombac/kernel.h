/* <tombac/kernel.h>: the one header of a kernel written in C (C23).
 *
 *     #include <tombac/kernel.h>
 *
 *     kernel void saxpy(float a, const float *x, float *y, uint n)
 *     {
 *         uint i = thread_position_in_grid().x;
 *         if (i < n) y[i] += a * x[i];
 *     }
 *
 * The same file is read in three ways. Tombac's compiler preprocesses it with the macros alone, so that what
 * comes out is the user's own text, and then compiles that text with the declarations for the device. A host
 * compiler (gcc, clang) takes kernel/host.h: a kernel is then an ordinary function, and the positions are those
 * of the loop tombac_for_each_thread that calls it. docs/kernels-in-c.md is the tutorial. */
#if defined(__TOMBAC_MACROS_ONLY__)
#include "kernel/macros.h"
#elif defined(__TOMBAC_DEVICE__)
#pragma once
#include "kernel/types.h"
#include "kernel/position.h"
#include "kernel/integer.h"
#include "kernel/math.h"
#include "kernel/vector.h"
#include "kernel/atomic.h"
#include "kernel/group.h"
#include "kernel/matrix.h"
#include "kernel/log.h"
#include "kernel/slice.h"
#else
#include "kernel/host.h"
#endif
