/* What code runs where: the x86-64 psABI levels that compiled kernels are made for, and NVIDIA's compute capabilities. */
#ifndef RT_TARGET_H
#define RT_TARGET_H

#include <stdbool.h>

/* The highest level of this machine: "x86-64" to "x86-64-v4". */
const char *rt_target_host(void);
/* Whether code for `target` (one of these names) runs here; false for unknown names. */
bool rt_target_runs(const char *target);

/* The same for the target of a device, as "sm_90": code for an older GPU runs on newer ones. */
bool rt_target_serves(const char *target, const char *device);
/* Whether code for the first makes better use of a device that runs both. */
bool rt_target_is_better(const char *target, const char *other);

#endif
