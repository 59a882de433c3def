// Says something, and in the second kernel makes a mistake after it.
#include <metal_stdlib>
#include <metal_logging>
using namespace metal;

kernel void hello(device int *a [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    os_log_default.log("thread %u has %d", i, a[i]);
}

kernel void last_words(device int *a [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    os_log_default.log("before the end");
    a[i + 100] = 1;
}
