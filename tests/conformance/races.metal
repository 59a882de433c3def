// Pairs of accesses to the same memory. Kernels named wrong_... have a data race, which the device "check" must find; one of its
// two accesses is at the line that says "here". The others have none, however close they come. All are run by two SIMD-groups in each of two threadgroups.
#include <metal_stdlib>
using namespace metal;

#define TG threadgroup_barrier(mem_flags::mem_threadgroup)
#define ARGUMENTS device uint *out [[buffer(0)]], device uint *work [[buffer(1)]], device atomic_uint *count [[buffer(2)]],       \
    uint l [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]], uint g [[threadgroup_position_in_grid]],          \
    uint groups [[threadgroups_per_grid]], uint lane [[thread_index_in_simdgroup]], uint i [[thread_position_in_grid]]

// ---- Threadgroup memory ----

kernel void exchange(ARGUMENTS)
{
    threadgroup uint tile[64];
    tile[l] = l;
    TG;
    out[i] = tile[(l + 1) % n];
}
kernel void wrong_exchange(ARGUMENTS)
{
    threadgroup uint tile[64];
    tile[l] = l + 1;
    out[i] = tile[(l + 32) % n]; // here
}

// A read, then another thread's write: the second barrier of a loop.
kernel void rounds(ARGUMENTS)
{
    threadgroup uint tile[64];
    uint v = l;
    for (uint k = 0; k < 3; k++) {
        tile[l] = v + k;
        TG;
        v = tile[(l + 5) % n];
        TG;
    }
    out[i] = v;
}
kernel void wrong_rounds(ARGUMENTS)
{
    threadgroup uint tile[64];
    uint v = l;
    for (uint k = 0; k < 3; k++) {
        tile[l] = v + k + 1; // here
        TG;
        v = tile[(l + 5) % n];
    }
    out[i] = v;
}

// Threads of a SIMD-group are not in step: they need a barrier of their own.
kernel void in_simdgroup(ARGUMENTS)
{
    threadgroup uint tile[64];
    tile[l] = l;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[l ^ 1];
}
kernel void wrong_in_simdgroup(ARGUMENTS)
{
    threadgroup uint tile[64];
    tile[l] = l + 1;
    out[i] = tile[l ^ 1] + simd_sum(l); // here
}
kernel void wrong_across_simdgroups(ARGUMENTS)
{
    threadgroup uint tile[64];
    tile[l] = l + 1;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[l ^ 32]; // here
}

// Barriers that order other memory, or none.
kernel void wrong_flags_device(ARGUMENTS)
{
    threadgroup uint tile[64];
    tile[l] = l + 1;
    threadgroup_barrier(mem_flags::mem_device);
    out[i] = tile[(l + 1) % n]; // here
}
kernel void wrong_flags_none(ARGUMENTS)
{
    threadgroup uint tile[64];
    tile[l] = l + 1;
    threadgroup_barrier(mem_flags::mem_none);
    out[i] = tile[(l + 1) % n]; // here
}

// Writes of one value by several threads; of different values.
kernel void flag(ARGUMENTS)
{
    threadgroup uint any;
    if (l == 0) any = 0;
    TG;
    if (l % 7 == 3) any = 1;
    TG;
    out[i] = any;
}
kernel void wrong_flag(ARGUMENTS)
{
    threadgroup uint any;
    if (l == 0) any = 0;
    TG;
    if (l % 7 == 3) any = l; // here
    TG;
    out[i] = any;
}

// Cleared for atomic operations.
kernel void counters(ARGUMENTS)
{
    threadgroup atomic_uint bins[8];
    if (l < 8) atomic_store_explicit(&bins[l], 0, memory_order_relaxed);
    TG;
    atomic_fetch_add_explicit(&bins[l * 5 % 8], 1, memory_order_relaxed);
    TG;
    if (l < 8) out[8 * g + l] = atomic_load_explicit(&bins[l], memory_order_relaxed);
}
kernel void wrong_counters(ARGUMENTS)
{
    threadgroup uint bins[8];
    if (l < 8) bins[l] = 0;
    atomic_fetch_add_explicit((threadgroup atomic_uint *)&bins[l * 5 % 8], 1, memory_order_relaxed); // here
    TG;
    if (l < 8) out[8 * g + l] = bins[l];
}

// Neighbours in one word; parts that overlap.
kernel void bytes(ARGUMENTS)
{
    threadgroup uchar tile[64];
    tile[l] = uchar(l);
    TG;
    ((device uchar *)work)[i] = uchar(tile[n - 1 - l] + 1);
    out[i] = l;
}
kernel void wrong_bytes(ARGUMENTS)
{
    threadgroup uchar tile[68];
    *(threadgroup ushort *)&tile[l & ~1u] = ushort(1 + l); // here
    TG;
    out[i] = tile[l];
}

// Through a called function, and by whole vectors.
static void put(threadgroup float4 *to, uint at, float4 v) { to[at] = v; }
static float get(threadgroup const float *from, uint at) { return from[at]; }
kernel void vectors(ARGUMENTS)
{
    threadgroup float4 tile[64];
    put(tile, l, float4(l));
    TG;
    out[i] = uint(get((threadgroup float *)tile, (4 * l + 6) % (4 * n)));
}
kernel void wrong_vectors(ARGUMENTS)
{
    threadgroup float4 tile[64];
    put(tile, l, float4(l + 1));
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = uint(get((threadgroup float *)tile, (4 * l + 130) % (4 * n)));
}

// Matrices: what a SIMD-group stores, it may load after a barrier.
kernel void matrices(ARGUMENTS)
{
    threadgroup float tile[2][64];
    simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(2.0f);
    simdgroup_store(m, tile[l / 32], 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_load(m, tile[l / 32], 8, 0, true);
    out[i] = uint(m.thread_elements()[0]);
}

// ---- Device memory ----

kernel void own(ARGUMENTS)
{
    for (uint k = 0; k < 3; k++) work[i] += k;
    out[i] = work[i];
}
kernel void device_exchange(ARGUMENTS)
{
    work[i] = i;
    threadgroup_barrier(mem_flags::mem_device);
    out[i] = work[g * n + (l + 1) % n];
}
kernel void wrong_device_exchange(ARGUMENTS)
{
    work[i] = i + 1;
    TG;
    out[i] = work[g * n + (l + 1) % n]; // here
}
kernel void wrong_threadgroups(ARGUMENTS)
{
    work[i] = i + 1;
    threadgroup_barrier(mem_flags::mem_device);
    out[i] = work[(i + n) % (n * groups)]; // here
}
kernel void wrong_same_element(ARGUMENTS)
{
    work[i / 2] = i; // here
    out[i] = 0;
}

// The last threadgroup reads what the others wrote: a barrier before the atomic operation and one behind it.
kernel void last(ARGUMENTS)
{
    threadgroup uint place;
    work[i] = i;
    threadgroup_barrier(mem_flags::mem_device);
    if (l == 0) place = atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    out[i] = place;
    if (place == groups - 1) out[i] = work[(i + n) % (n * groups)];
}
kernel void wrong_last(ARGUMENTS)
{
    threadgroup uint place;
    work[i] = i + 1;
    if (l == 0) place = atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    out[i] = place;
    if (place == groups - 1) out[i] = work[(i + n) % (n * groups)]; // here
}

// Fences in the place of barriers.
kernel void fences(ARGUMENTS)
{
    uint sum = simd_sum(i), place = 0;
    out[i] = sum;
    if (lane == 0) {
        work[i / 32] = sum + 1;
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        place = atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        if (place == n * groups / 32 - 1)
            for (uint k = 0; k < n * groups / 32; k++) out[i] += work[k];
    }
}

// Sums by atomic operations need nothing else.
kernel void sums(ARGUMENTS)
{
    atomic_fetch_add_explicit(count, i, memory_order_relaxed);
    atomic_fetch_max_explicit(&count[1 + l % 3], i, memory_order_relaxed);
    out[i] = i;
}
