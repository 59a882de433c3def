/* One precompiled header serves every math mode: the flags of a compilation reach the library's inline functions, and only the
 * variant of an operation that the source asks for by name is fixed. FileCheck compares; the modes are those of
 * src/compiler/front/compile.c. */
using namespace metal;
[[clang::sycl_external]] void k(__attribute__((opencl_global)) float *p)
{
    p[0] = mix(p[0], p[1], p[2]);
    p[1] = exp(p[1]) + fast::exp(p[1]) + precise::exp(p[1]);
}
// SAFE: define{{.*}}3mix
// SAFE: fsub float
// SAFE: fmul float
// RELAXED: define{{.*}}3mix
// RELAXED: fmul nsz arcp contract afn float
// FAST: define{{.*}}3mix
// FAST: fmul reassoc nsz arcp contract afn float
// LINES: define{{.*}}@_Z1k{{.*}} !dbg
// LINES-NOT: define{{.*}}3mix{{.*}} !dbg
// CALLS-DAG: call{{.*}}@__tombac_exp.f32
// CALLS-DAG: call{{.*}}@__tombac_fast_exp.f32
// CALLS-DAG: call{{.*}}@__tombac_precise_exp.f32
