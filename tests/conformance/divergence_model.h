/* Which threads of a SIMD-group are active at a site of divergence.h, by Metal's structured control flow:
 * threads that part at a branch meet again behind it, threads in a loop iterate together until each has left.
 */
#ifndef CONFORMANCE_DIVERGENCE_MODEL_H
#define CONFORMANCE_DIVERGENCE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { CF_SHAPES = 10, CF_MAX_SITES = 7 };

static inline int cf_site_count(int shape)
{
    static const int counts[CF_SHAPES] = {1, 3, 4, 6, 1, 5, 4, 7, 3, 3};
    return counts[shape];
}

static inline const char *cf_shape_name(int shape)
{
    static const char *const names[CF_SHAPES] = {"uniform", "if-else", "nested", "trip-counts",
        "early-return", "break-continue", "switch", "nested-loops", "return-in-loop", "do-while"};
    return names[shape];
}

static inline bool cf_breaks_before(unsigned v, unsigned site)
{
    for (unsigned i = 0; i <= site; i++) {
        if ((v + i) % 3 == 0) continue;
        if (v % 7 == i) return true;
    }
    return false;
}

static inline bool cf_active(int shape, unsigned site, unsigned v)
{
    switch (shape) {
    case 1: return site == 2 || (site == 0) == ((v & 1) != 0);
    case 2: return site == 3 || ((v & 1) && (site == 0 || (site == 1) == ((v & 2) != 0)));
    case 3: return site == 5 || site < v % 6;
    case 4: return v % 3 != 0;
    case 5: return site == 4 || ((v + site) % 3 != 0 && !cf_breaks_before(v, site));
    case 6: return site == 3 || v % 4 == site;
    case 7: return site == 6 || (site / 3 < v % 3 && site % 3 < (v + site / 3) % 4);
    case 8: return v % 5 > site || v % 5 > 2;
    case 9: return site == 0 || site < v % 4;
    default: return true;
    }
}

/* The mask of the SIMD-group that starts at thread `first` of a threadgroup of `count` threads with control
 * values `v`. */
static inline uint32_t cf_active_mask(
    int shape, unsigned site, const uint8_t *v, unsigned first, unsigned count)
{
    uint32_t mask = 0;
    for (unsigned lane = 0; lane < 32 && first + lane < count; lane++)
        if (cf_active(shape, site, v[first + lane])) mask |= 1u << lane;
    return mask;
}

#endif
