/* Random numbers (<tombac/random.h>): every draw, and seeds that nobody gave. */
#include <tombac/kernel.h>
#include <tombac/random.h>

enum { DRAWS = 6 };

kernel void integers(uint *words, ulong *longs, ulong random_seed)
{
    uint i = thread_position_in_grid().x;
    random_stream r = random_start(random_seed, i + (1ul << 40));
    words += i * DRAWS;
    longs += i * DRAWS;
    for (uint k = 0; k < DRAWS; k++) {
        words[k] = random_uint(&r);
        longs[k] = random_ulong(&r);
        words[k] ^= random_below(&r, 3000000000u);
        random_skip(&r, i * k);
    }
}

kernel void reals(float *floats, half *halves, float *normals, float *exponentials, ulong random_seed)
{
    uint i = thread_position_in_grid().x;
    random_stream r = random_start(random_seed, i);
    for (uint k = i * DRAWS; k < (i + 1) * DRAWS; k++) {
        floats[k] = random_float(&r);
        halves[k] = random_half(&r);
        normals[k] = random_normal(&r);
        exponentials[k] = random_exponential(&r);
    }
}
