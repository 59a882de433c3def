// Every thread-position and size attribute, in every type that Metal allows for it. A thread writes one record of 44 words
// at its position in the grid; the grid's size comes as a constant, so that the index does not depend on what is tested.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint RECORD = 44;

static uint3 widen(uint v) { return uint3(v, 0, 0); }
static uint3 widen(uint2 v) { return uint3(v, 0); }
static uint3 widen(uint3 v) { return v; }
static uint3 widen(ushort v) { return uint3(v, 0, 0); }
static uint3 widen(ushort2 v) { return uint3(v.x, v.y, 0); }
static uint3 widen(ushort3 v) { return uint3(v); }

static void put(device uint *record, uint slot, uint3 v)
{
    record[3 * slot + 0] = v.x;
    record[3 * slot + 1] = v.y;
    record[3 * slot + 2] = v.z;
}

// Attributes on the parameters of a function that is no kernel mean nothing.
static uint helper(uint a [[thread_index_in_simdgroup]], ushort b [[simdgroup_index_in_threadgroup]]) { return a * 100 + b; }

#define POSITIONS(NAME, V, S)                                                                               \
    kernel void NAME(device uint *out [[buffer(0)]], constant uint3 &grid [[buffer(1)]],                     \
        V position [[thread_position_in_grid]], V threads [[threads_per_grid]],                             \
        V local [[thread_position_in_threadgroup]], V size [[threads_per_threadgroup]],                     \
        V launched [[dispatch_threads_per_threadgroup]], V group [[threadgroup_position_in_grid]],          \
        V groups [[threadgroups_per_grid]],                                                                 \
        S index [[thread_index_in_threadgroup]], S lane [[thread_index_in_simdgroup]],                      \
        S simdgroup [[simdgroup_index_in_threadgroup]], S simdgroups [[simdgroups_per_threadgroup]],        \
        S width [[threads_per_simdgroup]], S execution_width [[thread_execution_width]],                    \
        S launched_simdgroups [[dispatch_simdgroups_per_threadgroup]],                                      \
        S quad_lane [[thread_index_in_quadgroup]], S quad [[quadgroup_index_in_threadgroup]],               \
        S quads [[quadgroups_per_threadgroup]])                                                             \
    {                                                                                                       \
        uint3 p = widen(position);                                                                          \
        device uint *r = out + RECORD * (p.x + grid.x * (p.y + grid.y * p.z));                              \
        put(r, 0, p);                                                                                       \
        put(r, 1, widen(threads));                                                                          \
        put(r, 2, widen(local));                                                                            \
        put(r, 3, widen(size));                                                                             \
        put(r, 4, widen(launched));                                                                         \
        put(r, 5, widen(group));                                                                            \
        put(r, 6, widen(groups));                                                                           \
        r[21] = index;                                                                                      \
        r[22] = lane;                                                                                       \
        r[23] = simdgroup;                                                                                  \
        r[24] = simdgroups;                                                                                 \
        r[25] = width;                                                                                      \
        r[26] = execution_width;                                                                            \
        r[27] = launched_simdgroups;                                                                        \
        r[28] = quad_lane;                                                                                  \
        r[29] = quad;                                                                                       \
        r[30] = quads;                                                                                      \
        r[31] = helper(7, 3);                                                                               \
        r[32] = uint(position.x * 3u + local.x);                                                            \
        r[33] = sizeof(position) * 100 + sizeof(index);                                                     \
    }

#define POSITIONS_1D(NAME, V, S)                                                                            \
    kernel void NAME(device uint *out, constant uint3 &grid,                                                \
        V position [[thread_position_in_grid]], V threads [[threads_per_grid]],                             \
        V local [[thread_position_in_threadgroup]], V size [[threads_per_threadgroup]],                     \
        V launched [[dispatch_threads_per_threadgroup]], V group [[threadgroup_position_in_grid]],          \
        V groups [[threadgroups_per_grid]],                                                                 \
        S index [[thread_index_in_threadgroup]], S lane [[thread_index_in_simdgroup]],                      \
        S simdgroup [[simdgroup_index_in_threadgroup]], S simdgroups [[simdgroups_per_threadgroup]],        \
        S width [[threads_per_simdgroup]], S execution_width [[thread_execution_width]],                    \
        S launched_simdgroups [[dispatch_simdgroups_per_threadgroup]],                                      \
        S quad_lane [[thread_index_in_quadgroup]], S quad [[quadgroup_index_in_threadgroup]],               \
        S quads [[quadgroups_per_threadgroup]])                                                             \
    {                                                                                                       \
        device uint *r = out + RECORD * uint(position);                                                     \
        put(r, 0, widen(position));                                                                         \
        put(r, 1, widen(threads));                                                                          \
        put(r, 2, widen(local));                                                                            \
        put(r, 3, widen(size));                                                                             \
        put(r, 4, widen(launched));                                                                         \
        put(r, 5, widen(group));                                                                            \
        put(r, 6, widen(groups));                                                                           \
        r[21] = index;                                                                                      \
        r[22] = lane;                                                                                       \
        r[23] = simdgroup;                                                                                  \
        r[24] = simdgroups;                                                                                 \
        r[25] = width;                                                                                      \
        r[26] = execution_width;                                                                            \
        r[27] = launched_simdgroups;                                                                        \
        r[28] = quad_lane;                                                                                  \
        r[29] = quad;                                                                                       \
        r[30] = quads;                                                                                      \
        r[31] = helper(grid.x - grid.x + 7, 3);                                                             \
        r[32] = uint(position) * 3u + uint(local);                                                          \
        r[33] = sizeof(position) * 100 + sizeof(index);                                                     \
    }

POSITIONS_1D(positions_uint, uint, uint)
POSITIONS_1D(positions_ushort, ushort, ushort)
POSITIONS(positions_uint2, uint2, ushort)
POSITIONS(positions_ushort2, ushort2, uint)
POSITIONS(positions_uint3, uint3, uint)
POSITIONS(positions_ushort3, ushort3, ushort)

// Attributes that a template and its explicit instantiation carry; positions of two types in one kernel.
template <typename T>
kernel void positions_template(device T *out [[buffer(0)]], uint3 position [[thread_position_in_grid]],
    ushort3 local [[thread_position_in_threadgroup]], constant uint3 &grid [[buffer(1)]], ushort lane [[thread_index_in_simdgroup]])
{
    uint i = position.x + grid.x * (position.y + grid.y * position.z);
    out[i] = T(local.x + 10 * local.y + 100 * local.z + 10000 * lane);
}
template [[host_name("positions_template_float")]] kernel void positions_template<float>(device float *out [[buffer(0)]],
    uint3 position [[thread_position_in_grid]], ushort3 local [[thread_position_in_threadgroup]],
    constant uint3 &grid [[buffer(1)]], ushort lane [[thread_index_in_simdgroup]]);
typedef decltype(positions_template<uint>) positions_template_t;
template [[host_name("positions_template_uint")]] kernel positions_template_t positions_template<uint>;
