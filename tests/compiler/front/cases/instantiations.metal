//@ rewrite
//= template __attribute__((annotate("tombac.host_name:copy_float"))) void copy<float>(__attribute__((opencl_global)) float *, uint);
//= typedef decltype(copy<half>) copy_t;
//= template __attribute__((annotate("tombac.host_name:copy_half"))) copy_t copy<half>;
//= template __attribute__((annotate("tombac.host_name:copy_int"))) decltype(copy<int>) copy<int>;
//= template struct other<int>;
//= void use(box<int> b) { b.template get<0>(); }
template <typename T> kernel void copy(device T *a, uint i [[thread_position_in_grid]]) { a[i] = 0; }
template [[host_name("copy_" "float")]] kernel void copy<float>(device float *, uint);
typedef decltype(copy<half>) copy_t;
template [[host_name("copy_half")]] kernel copy_t copy<half>;
template [[host_name("copy_int")]] [[kernel]] decltype(copy<int>) copy<int>;
template struct other<int>;
void use(box<int> b) { b.template get<0>(); }
