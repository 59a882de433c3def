kernel void saxpy(global const float *x, global float *y, float alpha, uint n)
{
    uint i = get_global_id(0);
    if (i >= n) return;
    y[i] = alpha * x[i] + y[i];
}
