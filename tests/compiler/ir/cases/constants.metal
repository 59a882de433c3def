#include <metal_stdlib>
using namespace metal;

constant int scale [[function_constant(0)]];
constant bool has_mask [[function_constant(1)]];
constant float4 weights [[function_constant(2)]];
constant int scale_or_seven = is_function_constant_defined(scale) ? scale : 7;
constant int derived = scale * 2 + 1;
constant bool no_mask = !has_mask;

// RUN by-name: emit --what ir --kernel plain --constant scale=0x05000000
// CHECK by-name: store i32 5,
// NOT by-name: load
// RUN by-index: emit --what ir --kernel plain --constant 0=0xfdffffff
// CHECK by-index: store i32 -3,
// RUN missing FAILS 2: emit --what ir --kernel plain
// CHECK missing: the kernel reads function constant 'scale', which has no value
// RUN size FAILS 2: emit --what ir --kernel plain --constant scale=0x0500
// CHECK size: function constant 'scale' is 4 bytes \(int\), but 2 were given
// RUN unknown FAILS 2: emit --what ir --kernel plain --constant scael=0x05000000
// CHECK unknown: there is no function constant 'scael'
// RUN unknown-index FAILS 2: emit --what ir --kernel plain --constant 9=0x05000000
// CHECK unknown-index: there is no function constant with index 9
kernel void plain(device int *out [[buffer(0)]]) { out[0] = scale; }

// RUN default: emit --what ir --kernel defaulted
// CHECK default: store i32 7,
// RUN default-set: emit --what ir --kernel defaulted --constant scale=0x09000000
// CHECK default-set: store i32 9,
kernel void defaulted(device int *out [[buffer(0)]]) { out[0] = scale_or_seven; }

// 2 * 20 + 1
// RUN derived: emit --what ir --kernel derives --constant scale=0x14000000
// CHECK derived: store i32 41,
// RUN derived-missing FAILS 4: emit --what ir --kernel derives
// CHECK derived-missing: the kernel reads 'derived', whose value is not known at compile time
kernel void derives(device int *out [[buffer(0)]]) { out[0] = derived; }

// A branch that a constant rules out leaves nothing behind, not even the constants that only it reads.
// RUN mask: emit --what ir --kernel masked --constant has_mask=0x01
// CHECK mask: define void @tombac.kernel\(ptr addrspace\(1\) %0, ptr addrspace\(1\) %1, ptr addrspace\(1\) %2\)
// CHECK mask: getelementptr .*ptr addrspace\(1\) %1
// NOT mask: ptr addrspace\(1\) %2, i64
// RUN no-mask: emit --what ir --kernel masked --constant has_mask=0x00
// CHECK no-mask: noalias nonnull readonly dereferenceable\(4\) %2
// CHECK no-mask: load float, ptr addrspace\(1\) %2
// NOT no-mask: getelementptr .*ptr addrspace\(1\) %1
// RUN active: emit --what reflection --kernel masked --constant has_mask=0x00
// CHECK active: "name": "mask"[^}]*"active": false
// CHECK active: "name": "fill"[^}]*"active": true
// CHECK active: "name": "has_mask"[^}]*"used": true,\s*"set": true
// RUN undecided FAILS 2: emit --what reflection --kernel masked
// CHECK undecided: function constant 'has_mask' decides whether argument 'mask' exists, but it has no value
kernel void masked(device float *out [[buffer(0)]], device const float *mask [[buffer(1), function_constant(has_mask)]],
    constant float &fill [[buffer(2), function_constant(no_mask)]], uint i [[thread_position_in_grid]])
{
    if (has_mask) out[i] = mask[i];
    else out[i] = fill;
}

// 1.0f, 2.0f, 3.0f, 4.0f in memory order
// RUN vector: emit --what ir --kernel vectors --constant weights=0x0000803f000000400000404000008040
// CHECK vector: store float 3.0+e\+00
kernel void vectors(device float *out [[buffer(0)]]) { out[0] = weights.z; }
