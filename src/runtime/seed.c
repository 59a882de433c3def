/* Seeds for random numbers (tombac/random.h): from the system, which never gives the same twice in practice. */
#include "tombac/tombac.h"

#include <sys/random.h>
#include <time.h>

/* D. Stafford's mixer "mix13", which splitmix64 ends with. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t tombac_fresh_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return seed;
    /* Early in the start of a system, or where system calls are filtered. */
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return mix((uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec + mix((uint64_t)(uintptr_t)&seed));
}
