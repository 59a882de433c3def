#define D 64
#define KEYS 32
kernel void flash_attention(global const float *Q, global const float *K, global const float *V, global float *O, uint keys,
                            uint queries)
{
    local float q[4][D], k[D][KEYS], v[KEYS][D], p[4][KEYS];
    uint t = get_local_id(0), lane = t % 32, part = t / 32, head = get_group_id(1);
    uint query = get_group_id(0) * 4 + part;
    K += head * keys * D;
    V += head * keys * D;
    for (uint d = lane; d < D; d += 32) q[part][d] = Q[(head * queries + query) * D + d] * 0.125f;

    float top = -INFINITY, sum = 0.0f, out0 = 0.0f, out1 = 0.0f;
    for (uint first = 0; first < keys; first += KEYS) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = t; i < KEYS * D; i += 128) {
            k[i % D][i / D] = K[first * D + i];
            v[i / D][i % D] = V[first * D + i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        float score = 0.0f;
        for (uint d = 0; d < D; d++) score += q[part][d] * k[d][lane];
        p[part][lane] = score;
        barrier(CLK_LOCAL_MEM_FENCE);
        float new_top = top;
        for (uint j = 0; j < KEYS; j++) new_top = fmax(new_top, p[part][j]);
        barrier(CLK_LOCAL_MEM_FENCE);
        float shrink = exp(top - new_top);
        p[part][lane] = exp(score - new_top);
        barrier(CLK_LOCAL_MEM_FENCE);
        sum *= shrink;
        out0 *= shrink;
        out1 *= shrink;
        for (uint j = 0; j < KEYS; j++) {
            float weight = p[part][j];
            sum += weight;
            out0 += weight * v[j][lane];
            out1 += weight * v[j][lane + 32];
        }
        top = new_top;
    }
    global float *o = O + (head * queries + query) * D;
    o[lane] = out0 / sum;
    o[lane + 32] = out1 / sum;
}
