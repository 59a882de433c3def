//@ rewrite
//= [[clang::sycl_external, clang::annotate("tombac.kernel:one")]] void one(__attribute__((opencl_global)) int *a ) { }
//= [[clang::sycl_external, clang::annotate("tombac.kernel:two")]] void two(__attribute__((opencl_global)) int *a);
//= [[clang::sycl_external, clang::annotate("tombac.kernel:two")]] void two(__attribute__((opencl_global)) int *a) { }
//= [[clang::sycl_external, clang::annotate("tombac.kernel:three")]] void three() { }
//= [[clang::sycl_external, clang::annotate("tombac.kernel:shown")]] void four() { }
//= template <typename T> [[clang::sycl_external, clang::annotate("tombac.kernel:five")]] void five(__attribute__((opencl_global)) T *a ) { }
//= inline namespace __tombac_anonymous { [[clang::sycl_external, clang::annotate("tombac.kernel:six")]] void six() { } }
//= extern "C" [[clang::sycl_external, clang::annotate("tombac.kernel:seven")]] void seven() { }
//= int vertex_count(int n, int kernel_size) { return n + kernel_size; }
//= [[, maybe_unused]] int kept;
kernel void one(device int *a [[buffer(0)]]) { }
static kernel void two(device int *a);
static kernel void two(device int *a) { }
[[kernel, max_total_threads_per_threadgroup(64)]] inline void three() { }
[[host_name("shown")]] kernel void four() { }
template <typename T> [[kernel]] void five(device T *a [[buffer(0)]]) { }
namespace { kernel void six() { } }
extern "C" kernel void seven() { }
int vertex_count(int n, int kernel_size) { return n + kernel_size; }
[[user(x), maybe_unused]] int kept;
