// ckernel/random.c written in Metal.
#include <metal_stdlib>
#include <tombac/random.h>
using namespace metal;

constant constexpr uint DRAWS = 6;

kernel void integers(device uint *words, device ulong *longs, constant ulong &random_seed, uint i [[thread_position_in_grid]])
{
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

kernel void reals(device float *floats, device half *halves, device float *normals, device float *exponentials,
    constant ulong &random_seed, uint i [[thread_position_in_grid]])
{
    random_stream r = random_start(random_seed, i);
    for (uint k = i * DRAWS; k < (i + 1) * DRAWS; k++) {
        floats[k] = random_float(&r);
        halves[k] = random_half(&r);
        normals[k] = random_normal(&r);
        exponentials[k] = random_exponential(&r);
    }
}
