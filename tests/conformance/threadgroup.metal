// Threadgroup memory and barriers in the control flow that real kernels (and other implementations' bug reports) have.
#include <metal_stdlib>
using namespace metal;

// Static memory: reversal inside the threadgroup; partial threadgroups too.
kernel void reverse(device uint *out [[buffer(0)]], const device uint *in [[buffer(1)]], uint i [[thread_position_in_grid]],
    uint l [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]])
{
    threadgroup uint tile[1024];
    tile[l] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[n - 1 - l];
}

// Several static arrays of several types do not overlap, nor does dynamic memory.
struct pair_t {
    float a;
    ushort b[3];
};
kernel void several(device uint *out [[buffer(0)]], threadgroup uint *dynamic [[threadgroup(0)]],
    threadgroup float2 *second [[threadgroup(1)]], uint l [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]])
{
    threadgroup uchar bytes[128];
    threadgroup float4 vectors[128];
    threadgroup pair_t pairs[128];
    threadgroup half halves[3][128];
    bytes[l] = uchar(l + 1);
    vectors[l] = float4(l, l + 1, l + 2, l + 3);
    pairs[l].a = -float(l);
    for (ushort k = 0; k < 3; k++) {
        pairs[l].b[k] = ushort(1000 * k + l);
        halves[k][l] = half(k * 256 + l);
    }
    dynamic[l] = 7 * l;
    second[l] = float2(l, -float(l));
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint m = (l + 1) % n;
    device uint *o = out + 8 * l;
    o[0] = bytes[m];
    o[1] = uint(vectors[m].x + vectors[m].w);
    o[2] = uint(-pairs[m].a);
    o[3] = pairs[m].b[0] + pairs[m].b[1] + pairs[m].b[2];
    o[4] = uint(halves[0][m] + halves[2][m]);
    o[5] = dynamic[m];
    o[6] = uint(second[m].x - second[m].y);
    o[7] = uint(sizeof(pair_t));
}

// A tree reduction: a barrier in a loop whose body only some threads execute.
kernel void tree(device uint *out [[buffer(0)]], const device uint *in [[buffer(1)]], threadgroup uint *scratch [[threadgroup(0)]],
    uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]],
    uint g [[threadgroup_position_in_grid]])
{
    scratch[l] = in[i];
    for (uint s = 512; s > 0; s >>= 1) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (l < s && l + s < n) scratch[l] += scratch[l + s];
    }
    if (l == 0) out[g] = scratch[0];
}

// Two levels: SIMD-groups, then their results, as softmax and norm kernels do it.
kernel void two_levels(device float *out [[buffer(0)]], const device float *in [[buffer(1)]], constant uint &length [[buffer(2)]],
    threadgroup float *scratch [[threadgroup(0)]], uint row [[threadgroup_position_in_grid]],
    ushort l [[thread_position_in_threadgroup]], ushort s [[simdgroup_index_in_threadgroup]],
    ushort lane [[thread_index_in_simdgroup]], ushort n [[threads_per_threadgroup]])
{
    float sum = 0;
    for (uint i = l; i < length; i += n) sum += in[row * length + i];
    sum = simd_sum(sum);
    if (n > 32) {
        if (s == 0) scratch[lane] = 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (lane == 0) scratch[s] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum = simd_sum(scratch[lane]);
    }
    for (uint i = l; i < length; i += n) out[row * length + i] = in[row * length + i] - sum;
}

// Early return before a barrier: whole SIMD-groups and parts of them leave; those that stay meet.
kernel void early_return(device uint *out [[buffer(0)]], constant uint &limit [[buffer(1)]], constant uint &rounds [[buffer(2)]],
    uint l [[thread_index_in_threadgroup]])
{
    threadgroup uint tile[256];
    if (l >= limit) return;
    uint v = l;
    for (uint r = 0; r < rounds; r++) {
        tile[l] = v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v = tile[(l + 1) % limit] + r;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[l] = v;
}

// Barriers in called functions, under uniform conditions, in nested loops with uniform trip counts and several exits.
static void rotate(threadgroup uint *tile, thread uint &v, uint l, uint n, uint by)
{
    tile[l] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    v = tile[(l + by) % n];
    threadgroup_barrier(mem_flags::mem_threadgroup);
}
kernel void uniform_flow(device uint *out [[buffer(0)]], constant uint *program [[buffer(1)]], constant uint &steps [[buffer(2)]],
    uint l [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]])
{
    threadgroup uint tile[256];
    uint v = l * l + 3;
    for (uint i = 0; i < steps; i++) {
        uint op = program[i];
        if (op == 0) break;
        if (op == 1) continue;
        if (op < 10) {
            rotate(tile, v, l, n, op);
        } else if (op < 20) {
            for (uint j = 10; j < op; j++) {
                rotate(tile, v, l, n, 1);
                if (j == 14) break;
                v += j;
            }
        } else {
            switch (op) {
                case 20: rotate(tile, v, l, n, 5); v ^= 0x55; break;
                case 21: v += l; // falls through
                case 22: rotate(tile, v, l, n, 2); break;
                default: v *= 3;
            }
        }
    }
    out[l] = v;
}

// A barrier in a loop that all threads leave after equally many rounds, although bounds differ by thread.
kernel void shifted_bounds(device uint *out [[buffer(0)]], constant uint &rounds [[buffer(1)]],
    uint l [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]])
{
    threadgroup uint tile[256];
    uint v = 0;
    for (uint t = l; t < rounds * n + l; t += n) {
        tile[l] = t;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v = v * 3 + tile[n - 1 - l];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[l] = v;
}

// Private values and arrays live across barriers; the array is indexed by data, so it cannot live in registers.
kernel void private_arrays(device uint *out [[buffer(0)]], const device uchar *at [[buffer(1)]],
    uint l [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]])
{
    threadgroup uint tile[256];
    uint table[16];
    for (uint k = 0; k < 16; k++) table[k] = l * 16 + k;
    float4 kept = float4(l, 2 * l, 3 * l, 4 * l);
    ulong wide = ulong(l) << 33;
    bool odd = l & 1;
    for (uint round = 0; round < 4; round++) {
        tile[l] = table[at[l * 4 + round] & 15];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        table[at[l * 4 + round] >> 4] += tile[(l + round + 1) % n];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    uint sum = 0;
    for (uint k = 0; k < 16; k++) sum = sum * 31 + table[k];
    out[3 * l] = sum;
    out[3 * l + 1] = uint(kept.x + kept.y + kept.z + kept.w);
    out[3 * l + 2] = uint(wide >> 32) + odd;
}

// A barrier right before the end, one before a return, one between two loops, one first of all.
kernel void barrier_places(device uint *out [[buffer(0)]], constant uint &way [[buffer(1)]],
    uint l [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]])
{
    threadgroup_barrier(mem_flags::mem_none);
    threadgroup uint tile[256];
    uint v = l;
    for (uint i = 0; i < l % 4; i++) v += i * 10;
    tile[l] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (way == 1) {
        out[l] = tile[n - 1 - l];
        threadgroup_barrier(mem_flags::mem_device);
        return;
    }
    for (uint i = 0; i < (l + 1) % 3; i++) v += tile[(l + i) % n];
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    tile[l] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    do {
        v = tile[(l + 3) % n];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    } while (way == 99);
    out[l] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

// One barrier of the source, of which every SIMD-group runs a copy of its own: what it adds is a template's argument, as are
// the edges of a matrix' last tile.
template <uint STEP> uint rounds(threadgroup uint *tile, uint count, uint l, uint n)
{
    uint v = l;
    for (uint i = 0; i < count; i++) {
        tile[l] = v + STEP;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v = tile[(l + 33) % n] + v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    return v;
}
kernel void barrier_copies(device uint *out [[buffer(0)]], constant uint &count [[buffer(1)]],
    threadgroup uint *tile [[threadgroup(0)]], uint l [[thread_index_in_threadgroup]],
    uint s [[simdgroup_index_in_threadgroup]], uint n [[threads_per_threadgroup]])
{
    uint v;
    if (s % 3 == 0) v = rounds<1>(tile, count, l, n);
    else if (s % 3 == 1) v = rounds<7>(tile, count, l, n);
    else v = rounds<100>(tile, count, l, n);
    out[l] = v;
}

// Device memory behind a device barrier, inside one threadgroup; SIMD-group barriers inside one SIMD-group.
kernel void device_exchange(device uint *out [[buffer(0)]], device uint *work [[buffer(1)]],
    uint l [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]])
{
    work[l] = 5 * l;
    threadgroup_barrier(mem_flags::mem_device);
    out[l] = work[(l + 7) % n];
}
kernel void simdgroup_exchange(device uint *out [[buffer(0)]], uint l [[thread_index_in_threadgroup]],
    ushort lane [[thread_index_in_simdgroup]], uint n [[threads_per_threadgroup]])
{
    threadgroup uint tile[256];
    uint first = l - lane, width = min(32u, n - first), v = l;
    for (uint r = 0; r < 3; r++) {
        tile[l] = v;
        simdgroup_barrier(mem_flags::mem_threadgroup);
        v = tile[first + (lane + 1) % width] + r;
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[l] = v;
}

// A tiled transpose in two dimensions with padding, and a threadgroup struct with an array.
struct tile_t {
    float cell[16][17];
    uint used;
};
kernel void transpose_tiles(device float *out [[buffer(0)]], const device float *in [[buffer(1)]],
    constant uint2 &size [[buffer(2)]], uint2 g [[threadgroup_position_in_grid]], uint2 l [[thread_position_in_threadgroup]])
{
    threadgroup tile_t tile;
    uint x = g.x * 16 + l.x, y = g.y * 16 + l.y;
    if (x < size.x && y < size.y) tile.cell[l.y][l.x] = in[y * size.x + x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint tx = g.y * 16 + l.x, ty = g.x * 16 + l.y;
    if (tx < size.y && ty < size.x) out[ty * size.y + tx] = tile.cell[l.x][l.y];
}

// Bitonic sort of one threadgroup's values: nested loops with a barrier in the inner one.
kernel void bitonic(device int *data [[buffer(0)]], threadgroup int *tile [[threadgroup(0)]],
    uint l [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]])
{
    tile[l] = data[l];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 2; k <= n; k <<= 1)
        for (uint j = k >> 1; j > 0; j >>= 1) {
            uint other = l ^ j;
            if (other > l) {
                bool up = (l & k) == 0;
                if ((tile[l] > tile[other]) == up) {
                    int swap = tile[l];
                    tile[l] = tile[other];
                    tile[other] = swap;
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    data[l] = tile[l];
}
