#include <metal_stdlib>
using namespace metal;

// Static threadgroup variables: one arena, 16-byte aligned: 4 * 4 bytes, then 8 floats.
// RUN arena: emit --what ir --kernel arena
// CHECK arena: define void @tombac.kernel\(ptr addrspace\(1\) %0, ptr addrspace\(3\) %1\)
// CHECK arena: call align 64 ptr addrspace\(3\) @__tombac_threadgroup_memory\(\)
// CHECK arena: i64 16
// NOT arena: addrspace\(3\) global
// RUN arena-size: emit --what reflection --kernel arena
// CHECK arena-size: "static_threadgroup_memory": 48
// CHECK arena-size: "threadgroup_barriers": true
// CHECK arena-size: "simdgroup_operations": false
kernel void arena(device float *out, threadgroup float *dynamic [[threadgroup(0)]], uint i [[thread_index_in_threadgroup]])
{
    threadgroup int a[4];
    threadgroup float b[8];
    a[i & 3] = (int)i;
    b[i & 7] = out[i];
    dynamic[i] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = a[(i + 1) & 3] + b[(i + 1) & 7] + dynamic[i + 1];
}

// The math mode chooses the library's functions, which are inlined.
// RUN fast: emit --what ir --math fast --kernel maths
// NOT fast: @__tombac_.*exp
// CHECK fast: define void @tombac.kernel
// RUN safe: emit --what ir --math safe --kernel maths
// NOT safe: @__tombac_.*exp
// CHECK safe: define void @tombac.kernel
kernel void maths(device float *out, uint i [[thread_position_in_grid]]) { out[i] = exp(out[i]) + pow(out[i], 3.0f); }

// No division traps, no shift goes beyond the width, conversions saturate.
// RUN defined: emit --what ir --kernel defined
// CHECK defined: icmp eq i32 %\d+, 0
// CHECK defined: icmp eq i32 %\d+, -1
// CHECK defined: select i1 .*, i32 1, i32
// CHECK defined: sdiv i32
// CHECK defined: select i1 .*, i32 0, i32
// CHECK defined: and i32 %\d+, 31
// CHECK defined: shl i32
// CHECK defined: llvm.fptosi.sat.i32.f32
kernel void defined(device int *out, device float *f, uint i [[thread_position_in_grid]])
{
    out[0] = out[1] / out[2];
    out[3] = out[4] << out[5];
    out[6] = (int)f[0];
}

// A function that calls itself at its end is a loop; any other recursion is refused.
static int halve(int v) { return v > 3 ? halve(v / 2) : v; }
// RUN tail: emit --what ir --kernel tail
// CHECK tail: define void @tombac.kernel
// NOT tail: @.*halve
kernel void tail(device int *out) { out[0] = halve(out[0]); }

static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
// RUN recursion FAILS 4: emit --what ir --kernel recursion
// CHECK recursion: fibonacci.* is recursive
kernel void recursion(device int *out) { out[0] = fibonacci(out[0]); }

// Layouts come from the compiler's own debug information.
struct inner { packed_float3 p; uchar flags[5]; };
struct outer { float3 position; inner parts[2]; half h; ulong big; };
// RUN layout: emit --what reflection --kernel layout
// CHECK layout: "name": "s",\s*"kind": "buffer"
// CHECK layout: "type": "outer"
// CHECK layout: "size": 80,\s*"alignment": 16
// CHECK layout: "name": "position",\s*"offset": 0,\s*"size": 16,\s*"type": "float3",\s*"scalar": "f32",\s*"vector_length": 3
// CHECK layout: "name": "parts",\s*"offset": 16,\s*"size": 40,\s*"type": "inner"
// CHECK layout: "count": 2
// CHECK layout: "type": "packed_float3"
// CHECK layout: "name": "flags",\s*"offset": 12,\s*"size": 5,\s*"type": "uchar"
// CHECK layout: "count": 5
// CHECK layout: "name": "h",\s*"offset": 56
// CHECK layout: "name": "big",\s*"offset": 64
// CHECK layout: "name": "n",\s*"kind": "constant",\s*"index": 1,\s*"writable": false,\s*"reference": true
// CHECK layout: "name": "counter"
// CHECK layout: "type": "atomic_uint",\s*"scalar": "u32"
kernel void layout(device outer *s [[buffer(0)]], constant uint &n [[buffer(1)]], device atomic_uint *counter [[buffer(2)]])
{
    s[n].h = 1;
    atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed);
}
