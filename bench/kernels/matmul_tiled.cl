#define MULTIPLY(SIZE) \
kernel void matmul_tiled##SIZE(global const float *A, global const float *B, global float *C, uint n) \
{ \
    local float a[SIZE * SIZE], b[SIZE * SIZE]; \
    uint tx = get_local_id(0), ty = get_local_id(1); \
    uint row = get_group_id(1) * SIZE + ty, column = get_group_id(0) * SIZE + tx; \
    float sum = 0.0f; \
    for (uint first = 0; first < n; first += SIZE) { \
        a[ty * SIZE + tx] = A[row * n + first + tx]; \
        b[ty * SIZE + tx] = B[(first + ty) * n + column]; \
        barrier(CLK_LOCAL_MEM_FENCE); \
        for (uint k = 0; k < SIZE; k++) sum += a[ty * SIZE + k] * b[k * SIZE + tx]; \
        barrier(CLK_LOCAL_MEM_FENCE); \
    } \
    C[row * n + column] = sum; \
}
MULTIPLY(16)
MULTIPLY(32)
