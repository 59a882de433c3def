/* Targets of compiled kernels; see target.h. */
#include "runtime/target.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
enum { LEVELS = sizeof levels / sizeof *levels };

static size_t host_level(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return 3;
    if (__builtin_cpu_supports("x86-64-v3")) return 2;
    if (__builtin_cpu_supports("x86-64-v2")) return 1;
    return 0;
}

const char *rt_target_host(void)
{
    return levels[host_level()];
}

bool rt_target_runs(const char *target)
{
    for (size_t i = 0; i < LEVELS; i++) {
        if (strcmp(levels[i], target) == 0) return i <= host_level();
    }
    return false;
}

/* 90 of "sm_90"; 0 for other names, also for those with a letter behind, whose code runs on that GPU only. */
static unsigned long capability(const char *target)
{
    char *end;
    if (strncmp(target, "sm_", 3) != 0 || target[3] < '0' || target[3] > '9') return 0;
    unsigned long number = strtoul(target + 3, &end, 10);
    return *end ? 0 : number;
}

bool rt_target_serves(const char *target, const char *device)
{
    unsigned long code = capability(target);
    return strcmp(target, device) == 0 || (code && code <= capability(device));
}

bool rt_target_is_better(const char *target, const char *other)
{
    unsigned long a = capability(target), b = capability(other);
    return a && b ? a > b : strcmp(target, other) > 0; /* levels order as their names do */
}
