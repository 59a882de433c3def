/* Processor levels; see target.h. */
#include "runtime/target.h"

#include <stddef.h>
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
