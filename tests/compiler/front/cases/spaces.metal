//@ rewrite
//= float f(__attribute__((opencl_global)) const float *a, __attribute__((opencl_global_host)) const int &b, __attribute__((opencl_local)) half *c, float *d);
//= __attribute__((opencl_global_host)) const float table[2] = {1.0f, 2.0f};
//= int local = 1, global = 2, generic = 3;
//! thread
float f(device const float *a, constant int &b, threadgroup half *c, thread float *d);
constant float table[2] = {1.0, 2.0};
int local = 1, global = 2, generic = 3;
