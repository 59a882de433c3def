/* What code this processor runs: the x86-64 psABI levels that compiled kernels are made for. */
#ifndef RT_TARGET_H
#define RT_TARGET_H

#include <stdbool.h>

/* The highest level of this machine: "x86-64" to "x86-64-v4". */
const char *rt_target_host(void);
/* Whether code for `target` (one of these names) runs here; false for unknown names. */
bool rt_target_runs(const char *target);

#endif
