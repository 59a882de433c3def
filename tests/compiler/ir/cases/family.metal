// Which GPU family and versions a kernel is for is known when it is compiled: branches for others are left out, and a function
// that the family does not have is an error where it is left in.
//
// RUN branch: emit -w -std=metal3.1 -D__TOMBAC_APPLE_FAMILY__=7 --kernel branch --what ir
// CHECK branch: define void @tombac\.kernel
// CHECK branch: store i32 7
// CHECK branch: store i32 310
// CHECK branch: store i32 260
// NOT branch: atomicrmw
// RUN newest: emit -w --kernel branch --what ir
// CHECK newest: atomicrmw volatile umax
// CHECK newest: store i32 9
// RUN refused FAILS 3: compile -w -D__TOMBAC_APPLE_FAMILY__=7 --kernel always --engine check -o /dev/null
// CHECK refused: family\.metal:36: error: 64-bit atomic min/max requires Apple8 or newer
// RUN accepted: compile -w -D__TOMBAC_APPLE_FAMILY__=8 --kernel always --engine check -o /dev/null
// NOT accepted: error
// RUN unknown FAILS 2: check -D__TOMBAC_APPLE_FAMILY__=3
// CHECK unknown: the Apple GPU families are 7 to 9
#include <metal_stdlib>
using namespace metal;

static_assert(tombac::metal_version() == __METAL_VERSION__ && tombac::apple_family() == __TOMBAC_APPLE_FAMILY__, "");

kernel void branch(device atomic_ulong *best, device uint *facts, uint i [[thread_position_in_grid]])
{
    if (tombac::apple_family() >= 8)
        atomic_max_explicit(best, ulong(i), memory_order_relaxed);
    facts[0] = tombac::apple_family();
    facts[1] = tombac::metal_version();
    if (tombac::air_version() > 250) facts[2] = tombac::air_version();
}

kernel void always(device atomic_ulong *best, uint i [[thread_position_in_grid]])
{
    if (i > 3)
        atomic_min_explicit(best, ulong(i), memory_order_relaxed);
}
