kernel void histogram(global const uchar *image, global volatile uint *bins, uint threads)
{
    uint i = get_global_id(0);
    for (uint k = 0; k < 16; k++) atomic_inc(&bins[image[i + k * threads]]);
}

kernel void histogram_local(global const uchar *image, global volatile uint *bins, uint threads)
{
    local uint counts[256];
    uint i = get_global_id(0), t = get_local_id(0);
    counts[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 64; k++) atomic_inc(&counts[image[i + k * threads]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[t], counts[t]);
}
