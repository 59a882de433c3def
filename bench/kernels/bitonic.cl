kernel void bitonic(global const uint *in, global uint *out)
{
    local uint keys[1024];
    uint group = get_group_id(0), t = get_local_id(0);
    keys[t] = in[group * 1024 + t];
    keys[t + 512] = in[group * 1024 + t + 512];
    for (uint size = 2; size <= 1024; size *= 2) {
        for (uint distance = size / 2; distance > 0; distance /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            uint low = 2 * t - (t & (distance - 1)), high = low + distance;
            uint a = keys[low], b = keys[high];
            bool descending = (low & size) != 0;
            if ((a > b) != descending) {
                keys[low] = b;
                keys[high] = a;
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[group * 1024 + t] = keys[t];
    out[group * 1024 + t + 512] = keys[t + 512];
}
