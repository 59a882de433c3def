// os_log and assertions.
#include <metal_stdlib>
#include <metal_logging>
using namespace metal;

constant os_log named("org.example.tombac", "conformance");

kernel void formats(constant int *v [[buffer(0)]], constant float *f [[buffer(1)]])
{
    os_log_default.log("plain text");
    os_log_default.log_info("int %d unsigned %u hexadecimal %x", v[0], uint(v[1]), v[2]);
    os_log_default.log_debug("padded [%5d] [%-5d] [%05d]", v[0], v[0], v[0]);
    os_log_default.log_error("float %f %.3f %e %g", f[0], f[1], f[2], f[3]);
    os_log_default.log_fault("percent %% char %c long %ld unsigned long %lu", char(v[3]), long(v[0]) << 33, ulong(v[1]) << 33);
    named.log("text %s end", "inside");
    half h = half(f[0]);
    short s = short(v[0]);
    named.log_info("half %f short %d bool %d", h, s, v[0] < 0);
}

kernel void every_thread(constant uint &modulus [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    for (uint k = 0; k < i % modulus; k++) os_log_default.log("thread %u round %u", i, k);
}

kernel void silent(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    if (i > 1000) os_log_default.log("never %u", i);
    out[i] = i;
}

kernel void assertion(device uint *out [[buffer(0)]], constant uint &limit [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    out[i] = i;
    assert(i < limit);
}
