/* Each workgroup reverses its part of 256 elements by way of local memory; the last part may be shorter. */
#include <tombac/kernel.h>
#include <tombac/ndrange.h>

kernel threads_required(256) void reverse(ndrange range, read_only(float) in, float *out)
{
    local_memory(float, tile, 256);
    uint first = group_index() * 256, items = min(256u, range.x - first);
    work_items(range) tile[local_index()] = in[global_index(range)];
    synchronize();
    work_items(range) out[global_index(range)] = tile[items - 1 - local_index()];
}
