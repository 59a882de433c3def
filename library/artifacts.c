/* The compiled kernels, made from library/kernels by tombac_add_kernels (CMakeLists.txt). */
#include "call.h"

#include "compact.h"
#include "convolve.h"
#include "fft.h"
#include "fill.h"
#include "histogram.h"
#include "map.h"
#include "matmul.h"
#include "nbody.h"
#include "reduce.h"
#include "scan.h"
#include "sort.h"
#include "stencil.h"
#include "transpose.h"

#define ARTIFACT(NAME) {#NAME, NAME##_artifact, sizeof NAME##_artifact}
const call_artifact call_artifacts[] = {ARTIFACT(compact), ARTIFACT(convolve), ARTIFACT(fft), ARTIFACT(fill),
    ARTIFACT(histogram), ARTIFACT(map), ARTIFACT(matmul), ARTIFACT(nbody), ARTIFACT(reduce), ARTIFACT(scan),
    ARTIFACT(sort), ARTIFACT(stencil), ARTIFACT(transpose)};
const size_t call_artifact_count = sizeof call_artifacts / sizeof *call_artifacts;
