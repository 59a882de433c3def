/* What Tombac does not support, and what is no Metal, is an error that names it: clang's -verify compares the messages. */
using namespace metal;
typedef __attribute__((opencl_global)) char *Memory;

[[clang::sycl_external]] void textures(Memory m)
{
    texture2d<float> t; // expected-error@metal_texture:* {{texture2d is not supported by Tombac}} expected-note {{}}
    texture_buffer<float, access::read> b; // expected-error@metal_texture:* {{texture_buffer is not supported by Tombac}} expected-note {{}}
    constexpr sampler s(coord::normalized, filter::linear); // expected-error@metal_texture:* {{sampler is not supported by Tombac}} expected-note {{}} expected-note@metal_texture:* {{}}
}
[[clang::sycl_external]] void others(Memory m)
{
    raytracing::intersector<> i; // expected-error@metal_raytracing:* {{intersector is not supported by Tombac}} expected-note {{}}
    visible_function_table<void()> v; // expected-error@metal_visible_function_table:* {{visible_function_table is not supported by Tombac}} expected-note {{}}
    simdgroup_matrix<int, 8, 8> a; // expected-error@metal_simdgroup_matrix:* {{simdgroup_matrix holds half, bfloat or float}} expected-note {{}}
    simdgroup_matrix<float, 16, 8> c; // expected-error@metal_simdgroup_matrix:* {{simdgroup_matrix has 8 columns and 8 rows}} expected-note {{}}
    atomic<short> h; // expected-error@metal_atomic:* {{atomic<T> exists for int, uint, bool, float, long and ulong}} expected-note {{}}
    os_log_default.log("%v4f", float4(1)); // expected-error@metal_logging:* {{os_log takes scalars, strings and pointers}} expected-note@metal_logging:* 0+ {{}} expected-note {{}}
    float4 f(1);
    f.template swzl<0, 0>() = float2(1); // expected-error@metal_types:* {{must not name a component twice}} expected-note@*:* 0+ {{}}
    f = int4(1);      // expected-error {{no viable overloaded '='}} expected-note@*:* 0+ {{}}
    f = f + int4(1);  // expected-error {{invalid operands to binary expression}} expected-note@*:* 0+ {{}}
    f = exp(int4(1)); // expected-error@*:* 1+ {{}} expected-note@*:* 0+ {{}}
    int local = 0;
    typedef __attribute__((opencl_global_host)) const char *Table;
    addrspace_cast<Table>(&local); // expected-error@__tombac/generic.h:* {{addrspace_cast does not know constant memory}} expected-note 0+ {{}} expected-note@*:* 0+ {{}}
}
