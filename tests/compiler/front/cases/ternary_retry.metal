//@ check k
//! error
// Nothing in the spelling says that these operands are vectors in different address spaces: clang's complaint does.
#include <metal_stdlib>
kernel void k(device float4 &a, constant float4 &b, device float4 *out, uint i [[thread_position_in_grid]])
{
    out[i] = i > 3 ? a : b;
}
