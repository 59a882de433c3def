//@ check
//? unsupported
//: 5:15: error: 'vertices' is a function of another pipeline stage; only kernels are supported
#include <metal_stdlib>
vertex float4 vertices(uint i [[vertex_id]]) { return 0; }
