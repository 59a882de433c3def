/* Kernels of test_portable.c. */
#include <math.h>
#include <stdatomic.h>
#include <tombac/kernel.h>
#include <tombac/ndrange.h>
#include <tombac/random.h>

kernel void axpy(ndrange range, float a, read_only(float) x, float *y)
{
    work_items(range) y[global_index(range)] += a * x[global_index(range)];
}

/* Every index of every item, by its linear index. */
kernel void indices(ndrange range, uint *global, uint *local, uint *group, uint *sizes, atomic_uint *ran)
{
    work_items(range)
    {
        size_t i = global_index(range);
        uint3 g = global_id(), l = local_id(), w = group_id(), size = group_size(), count = group_count();
        global[3 * i] = g.x;
        global[3 * i + 1] = g.y;
        global[3 * i + 2] = g.z;
        local[4 * i] = l.x;
        local[4 * i + 1] = l.y;
        local[4 * i + 2] = l.z;
        local[4 * i + 3] = local_index();
        group[4 * i] = w.x;
        group[4 * i + 1] = w.y;
        group[4 * i + 2] = w.z;
        group[4 * i + 3] = group_index();
        sizes[6 * i] = size.x;
        sizes[6 * i + 1] = size.y;
        sizes[6 * i + 2] = size.z;
        sizes[6 * i + 3] = count.x;
        sizes[6 * i + 4] = count.y;
        sizes[6 * i + 5] = count.z;
        atomic_fetch_add_explicit(ran, 1u, memory_order_relaxed);
    }
}

kernel threads_required(256) void reverse_groups(ndrange range, read_only(float) in, float *out)
{
    local_memory(float, tile, 256);
    tile[local_index()] = -1.0f;
    synchronize();
    work_items(range) tile[local_index()] = in[global_index(range)];
    synchronize();
    work_items(range) out[global_index(range)] = tile[group_items() - 1 - local_index()];
}

/* Sums of growing distances; each round reads what others wrote before the barrier. Two arrays. */
kernel void barrier_in_loop(ndrange range, const uint *in, uint *out)
{
    local_memory(uint, now, 64);
    local_memory(uint, next, 64);
    now[local_index()] = 0;
    work_items(range) now[local_index()] = in[global_index(range)];
    synchronize();
    for (uint distance = 1; distance < 64; distance *= 2) {
        next[local_index()] =
            now[local_index()] + (local_index() >= distance ? now[local_index() - distance] : 0);
        synchronize();
        now[local_index()] = next[local_index()];
        synchronize();
    }
    work_items(range) out[global_index(range)] = now[local_index()];
}

/* An item's own array lives across barriers, also in a loop. */
kernel void private_arrays(ndrange range, const uint *in, uint *out)
{
    uint own[4] = {0};
    local_memory(uint, first, 1);
    work_items(range) own[0] = in[global_index(range)];
    for (uint round = 1; round < 4; round++) {
        if (local_index() == 0) first[0] = own[round - 1];
        synchronize();
        own[round] = own[round - 1] + first[0];
        synchronize();
    }
    work_items(range) for (uint k = 0; k < 4; k++) out[4 * global_index(range) + k] = own[k];
}

/* An item that returns early, before no barrier. */
kernel void early_return(ndrange range, uint *out)
{
    if (!in_range(range) || global_index(range) % 3 == 1) return;
    out[global_index(range)] = 7;
}

kernel void local_argument(ndrange range, const uint *in, uint *out, threadgroup_memory(uint) shared)
{
    shared[local_index()] = 0;
    work_items(range) shared[local_index()] = in[global_index(range)];
    synchronize();
    work_items(range) out[global_index(range)] = shared[local_index() ^ 1];
}

kernel void counts(ndrange range, atomic_uint *words, atomic_int *signs, atomic_float *floats)
{
    work_items(range)
    {
        atomic_fetch_add_explicit(words, 1u, memory_order_relaxed);
        atomic_fetch_max_explicit(signs, (int)global_index(range), memory_order_relaxed);
        atomic_fetch_add_explicit(floats, 0.5f, memory_order_relaxed);
    }
}

kernel void prints(ndrange range)
{
    work_items(range) printf("item %u of %u\n", (uint)global_index(range), range.x);
}

/* Takes its time, so that what does not wait for it comes too early. */
kernel void slow_add(ndrange range, uint *x, uint rounds, uint add)
{
    work_items(range)
    {
        uint value = x[global_index(range)];
        for (uint k = 0; k < rounds; k++) value = value * 1664525u + 1013904223u;
        x[global_index(range)] = value * 3 + add;
    }
}

kernel void fails(ndrange range, uint *x)
{
    assert(x[0] == 12345 && "a failure that was wanted");
    work_items(range) x[0] = 1;
}

kernel void draws(ndrange range, ulong random_seed, uint *out)
{
    work_items(range)
    {
        random_stream r = random_start(random_seed, global_index(range));
        out[global_index(range)] = random_uint(&r);
    }
}

kernel void to_integers(ndrange range, read_only(float) x, int *out, half *halves)
{
    work_items(range)
    {
        size_t i = global_index(range);
        out[4 * i] = (int)floorf(x[i]);
        out[4 * i + 1] = (int)ceilf(x[i]);
        out[4 * i + 2] = (int)rintf(x[i]);
        out[4 * i + 3] = (int)truncf(x[i]);
        halves[i] = (half)x[i];
    }
}
