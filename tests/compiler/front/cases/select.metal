//@ rewrite copy_half
//= template <typename T> [[clang::sycl_external, clang::annotate("tombac.kernel:copy")]] void copy(__attribute__((opencl_global)) T *a, uint i ) { a[i] = 0; }
//= template __attribute__((annotate("tombac.host_name:copy_half"))) void copy<half>(__attribute__((opencl_global)) half *, uint);
//= int helper() { return 1; }
//! copy_float
//! plain
//! unroll
//! stage
template <typename T> kernel void copy(device T *a, uint i [[thread_position_in_grid]]) { a[i] = 0; }
template [[host_name("copy_float")]] kernel void copy<float>(device float *, uint);
template [[host_name("copy_half")]] kernel void copy<half>(device half *, uint);
kernel void plain(device int *a)
{
#pragma unroll
    for (int i = 0; i < 4; i++) a[i] = 0;
}
vertex float4 stage(uint i [[vertex_id]]) { return 0; }
int helper() { return 1; }
