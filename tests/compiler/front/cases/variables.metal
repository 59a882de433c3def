//@ rewrite
//= static __attribute__((opencl_local)) float tile[32];
//= static __attribute__((opencl_local)) vec<float, 4> a, b[2];
//= static alignas(16) __attribute__((opencl_local)) char bytes[64];
//= static __attribute__((opencl_local)) int zero[2] = {0, 0};
//= __attribute__((opencl_local)) float *p = tile;
//= __attribute__((opencl_local)) float (*q)[4] = 0;
//= static __attribute__((opencl_global_host)) const int steps[2] = {1, 2};
//= static constexpr __attribute__((opencl_global_host)) const float half_pi = 1.5f;
//= void g(__attribute__((opencl_global_host)) const float *x, __attribute__((opencl_global)) int (*y)[4], __attribute__((opencl_local)) T<int> *z);
//= void h(__attribute__((opencl_local)) float (&x)[4], float w[3]);
void f()
{
    threadgroup float tile[32];
    threadgroup vec<float, 4> a, b[2];
    alignas(16) threadgroup char bytes[64];
    threadgroup int zero[2] = {0, 0};
    threadgroup float *p = tile;
    threadgroup float (*q)[4] = 0;
    constant int steps[2] = {1, 2};
    constexpr constant float half_pi = 1.5;
}
void g(constant float x[3], device int y[3][4], threadgroup T<int> z[2]);
void h(threadgroup float (&x)[4], thread float w[3]);
