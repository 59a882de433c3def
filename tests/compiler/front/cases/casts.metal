//@ rewrite
//= auto a = ((__attribute__((opencl_global)) float *)(p + 1));
//= auto b = ((const __attribute__((opencl_global)) vec<int, 2> *)(f(q)));
//= auto c = static_cast<float>(x) + reinterpret_cast< int *>(y)[0];
//= volatile __attribute__((opencl_global)) int *d; __attribute__((opencl_global)) int *e; int coherent_count;
auto a = static_cast<device float *>(p + 1);
auto b = reinterpret_cast<const device vec<int, 2> *>(f(q));
auto c = static_cast<float>(x) + reinterpret_cast<thread int *>(y)[0];
volatile coherent(device) device int *d; coherent device int *e; int coherent_count;
