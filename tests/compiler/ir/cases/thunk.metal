#include <metal_stdlib>
using namespace metal;

// Every attribute in every type: what the source names is what is called, and nothing else. dump() keeps all values alive.
static void dump(device uint *out, uint a, uint b = 0, uint c = 0) { out[0] = a; out[1] = b; out[2] = c; }

// RUN grid: emit --what ir --kernel grid
// CHECK grid: call i32 @__tombac_threadgroup_position_in_grid_x\(\)
// CHECK grid: call i32 @__tombac_dispatch_threads_per_threadgroup_x\(\), !range
// CHECK grid: call i32 @__tombac_thread_position_x\(\), !range
// CHECK grid: mul i32
// CHECK grid: add i32
// NOT grid: position_in_grid_y|alloca
kernel void grid(device uint *out, uint i [[thread_position_in_grid]]) { dump(out, i); }

// RUN grid3: emit --what ir --kernel grid3
// CHECK grid3: call i32 @__tombac_thread_position_x
// CHECK grid3: call i32 @__tombac_thread_position_y
// CHECK grid3: call i32 @__tombac_thread_position_z
// NOT grid3: alloca
kernel void grid3(device uint *out, uint3 i [[thread_position_in_grid]]) { dump(out, i.x, i.y, i.z); }

// RUN short3: emit --what ir --kernel short3s
// CHECK short3: call i32 @__tombac_threads_per_threadgroup_x\(\), !range
// CHECK short3: trunc .*i32 %\d+ to i16
// CHECK short3: call i32 @__tombac_threads_per_threadgroup_y
// CHECK short3: call i32 @__tombac_threads_per_threadgroup_z
// NOT short3: alloca|i8
kernel void short3s(device uint *out, ushort3 n [[threads_per_threadgroup]]) { dump(out, n.x, n.y, n.z); }

// RUN two: emit --what ir --kernel two
// CHECK two: call i32 @__tombac_threadgroup_position_in_grid_x
// CHECK two: call i32 @__tombac_threadgroup_position_in_grid_y
// CHECK two: call i32 @__tombac_threadgroups_per_grid_x
// CHECK two: call i32 @__tombac_threadgroups_per_grid_y
// NOT two: _z\(\)|alloca
kernel void two(device uint *out, uint2 g [[threadgroup_position_in_grid]], ushort2 n [[threadgroups_per_grid]])
{
    dump(out, g.x + g.y, n.x, n.y);
}

// RUN lanes: emit --what ir --kernel lanes
// CHECK lanes: call i32 @__tombac_lane\(\), !range
// CHECK lanes: call i32 @__tombac_simdgroup\(\), !range
// CHECK lanes: call i32 @__tombac_thread_index\(\), !range
// CHECK lanes: call i32 @__tombac_simdgroups_per_threadgroup\(\), !range
// CHECK lanes: i32 32
kernel void lanes(device uint *out, ushort lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
    uint index [[thread_index_in_threadgroup]], ushort n [[simdgroups_per_threadgroup]], uint w [[threads_per_simdgroup]])
{
    dump(out, lane + sg, index, n + w);
}

// RUN quads: emit --what ir --kernel quads
// CHECK quads: and i32 %\d+, 3
// CHECK quads: lshr i32 %\d+, 2
kernel void quads(device uint *out, uint q [[thread_index_in_quadgroup]], uint g [[quadgroup_index_in_threadgroup]])
{
    dump(out, q, g);
}

// RUN sizes: emit --what ir --kernel sizes
// CHECK sizes: @__tombac_threads_per_grid_x
// CHECK sizes: @__tombac_dispatch_threads_per_threadgroup_x
// CHECK sizes: @__tombac_dispatch_simdgroups_per_threadgroup
kernel void sizes(device uint *out, uint t [[threads_per_grid]], uint l [[dispatch_threads_per_threadgroup]],
    uint s [[dispatch_simdgroups_per_threadgroup]])
{
    dump(out, t, l, s);
}
