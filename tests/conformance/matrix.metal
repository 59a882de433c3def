// simdgroup_matrix: loads and stores with every option, the layout of its elements, products, and matrix multiplication kernels.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// Load from device memory with stride, origin and transposition; store the same way elsewhere.
template <typename T>
kernel void move(device T *out [[buffer(0)]], const device T *in [[buffer(1)]], constant uint *how [[buffer(2)]],
    threadgroup T *tile [[threadgroup(0)]], ushort lane [[thread_index_in_simdgroup]], uint l [[thread_index_in_threadgroup]],
    uint s [[simdgroup_index_in_threadgroup]])
{
    ulong in_stride = how[0], out_stride = how[1];
    ulong2 in_origin = ulong2(how[2], how[3]), out_origin = ulong2(how[4], how[5]);
    bool in_transposed = how[6] & 1, out_transposed = how[6] & 2, through_tile = how[6] & 4;
    const device T *source = in + s * 2048;
    device T *target = out + s * 2048;
    simdgroup_matrix<T, 8, 8> m;
    simdgroup_load(m, source, in_stride, in_origin, in_transposed);
    if (through_tile) {
        threadgroup T *mine = tile + s * 128;
        simdgroup_store(m, mine, 12, ulong2(2, 0), false);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_matrix<T, 8, 8> n;
        simdgroup_load(n, mine, 12, ulong2(2, 0), true);
        m = n;
    }
    simdgroup_store(m, target, out_stride, out_origin, out_transposed);
}
#define MOVE(T)                                                                                               \
    template [[host_name("move_" #T)]] kernel void move<T>(device T *out [[buffer(0)]], const device T *in [[buffer(1)]], \
        constant uint *how [[buffer(2)]], threadgroup T *tile [[threadgroup(0)]], ushort lane [[thread_index_in_simdgroup]], \
        uint l [[thread_index_in_threadgroup]], uint s [[simdgroup_index_in_threadgroup]]);
MOVE(float)
MOVE(half)
MOVE(bfloat)

// Defaults: stride 8, no origin, not transposed. The two elements of each lane; writing them back.
kernel void elements(device float *out [[buffer(0)]], device float *layout [[buffer(1)]], const device float *in [[buffer(2)]],
    ushort lane [[thread_index_in_simdgroup]])
{
    simdgroup_float8x8 m;
    simdgroup_load(m, in);
    thread auto &e = m.thread_elements();
    layout[2 * lane] = e[0];
    layout[2 * lane + 1] = e[1];
    m.thread_elements()[0] = e[0] * 10;
    m.thread_elements()[1] += lane;
    simdgroup_store(m, out);
}

kernel void fills(device float *out [[buffer(0)]])
{
    simdgroup_float8x8 a = make_filled_simdgroup_matrix<float, 8, 8>(2.5f);
    simdgroup_float8x8 b(3.0f);
    simdgroup_half8x8 c = make_filled_simdgroup_matrix<half, 8>(half(0.5));
    simdgroup_store(a, out);
    simdgroup_store(b, out + 64);
    simdgroup_float8x8 sum;
    simdgroup_multiply_accumulate(sum, c, c, a);
    simdgroup_store(sum, out + 128);
}

// D = A B, D = A B + C, operator *, accumulation in place; operands of all type mixes with C's type.
template <typename A, typename B, typename C>
kernel void multiply(device C *out [[buffer(0)]], const device A *a [[buffer(1)]], const device B *b [[buffer(2)]],
    const device C *c [[buffer(3)]])
{
    simdgroup_matrix<A, 8, 8> ma;
    simdgroup_matrix<B, 8, 8> mb;
    simdgroup_matrix<C, 8, 8> mc, md;
    simdgroup_load(ma, a, 8);
    simdgroup_load(mb, b, 8);
    simdgroup_load(mc, c, 8);
    simdgroup_multiply(md, ma, mb);
    simdgroup_store(md, out, 8);
    simdgroup_multiply_accumulate(md, ma, mb, mc);
    simdgroup_store(md, out + 64, 8);
    simdgroup_multiply_accumulate(mc, ma, mb, mc);
    simdgroup_multiply_accumulate(mc, ma, mb, mc);
    simdgroup_store(mc, out + 128, 8);
}
#define MULTIPLY(A, B, C)                                                                                     \
    template [[host_name("multiply_" #A "_" #B "_" #C)]] kernel void multiply<A, B, C>(device C *out [[buffer(0)]], \
        const device A *a [[buffer(1)]], const device B *b [[buffer(2)]], const device C *c [[buffer(3)]]);
MULTIPLY(float, float, float)
MULTIPLY(half, half, half)
MULTIPLY(half, half, float)
MULTIPLY(half, float, float)
MULTIPLY(float, half, float)
MULTIPLY(bfloat, bfloat, float)
MULTIPLY(bfloat, bfloat, bfloat)
MULTIPLY(bfloat, float, float)

kernel void product(device float *out [[buffer(0)]], const device float *a [[buffer(1)]], const device float *b [[buffer(2)]])
{
    simdgroup_float8x8 ma, mb;
    simdgroup_load(ma, a);
    simdgroup_load(mb, b);
    simdgroup_store(ma * mb, out);
}

// C[M][N] = A[M][K] B[K][N], one SIMD-group per 8x8 tile, K in steps of 8 from device memory.
// The matrices and the product of Apple's headers as kernels use them that keep a matrix themselves: a lane's two elements lie
// at the beginning of all 64.
#pragma METAL internals : enable
template <typename T> struct kept {
    typedef vec<T, 64> storage_type;
    storage_type t;
    METAL_FUNC thread vec<T, 2> *thread_elements() thread { return reinterpret_cast<thread vec<T, 2> *>(&t); }
    METAL_FUNC kept() thread = default;
    METAL_FUNC kept(vec<T, 2> elements) thread { *(this->thread_elements()) = elements; }
};
kernel void product_kept(device float *out [[buffer(0)]], const device float *a [[buffer(1)]], const device float *b [[buffer(2)]])
{
    simdgroup_float8x8 x, y;
    simdgroup_load(x, a);
    simdgroup_load(y, b);
    kept<float> p(x.thread_elements()), q(y.thread_elements()), sum(vec<float, 2>(0));
    sum.t = __metal_simdgroup_matrix_8x8_multiply_accumulate(p.t, q.t, sum.t, typename kept<float>::storage_type());
    x.thread_elements() = *sum.thread_elements();
    simdgroup_store(x, out);
}

kernel void gemm(device float *out [[buffer(0)]], const device float *a [[buffer(1)]], const device float *b [[buffer(2)]],
    constant uint3 &mnk [[buffer(3)]], uint2 g [[threadgroup_position_in_grid]], ushort s [[simdgroup_index_in_threadgroup]])
{
    uint row = g.y * 8, column = (g.x * 2 + s) * 8;
    if (column >= mnk.y) return;
    simdgroup_float8x8 sum(0);
    for (uint k = 0; k < mnk.z; k += 8) {
        simdgroup_float8x8 ma, mb;
        simdgroup_load(ma, a + row * mnk.z + k, mnk.z);
        simdgroup_load(mb, b + k * mnk.y + column, mnk.y);
        simdgroup_multiply_accumulate(sum, ma, mb, sum);
    }
    simdgroup_store(sum, out + row * mnk.y + column, mnk.y);
}

// 176 products in straight-line code, so many that an engine may call a function for each: 32 x 32 tiles of a product of
// 88 terms, a half left operand, and a right one that lies transposed or is an element-wise sum.
kernel void many(device float *out [[buffer(0)]], const device half *a [[buffer(1)]], const device float *b [[buffer(2)]],
    ushort s [[simdgroup_index_in_threadgroup]])
{
    simdgroup_float8x8 sum[4][4];
    a += s * 32 * 88;
#pragma unroll
    for (int i = 0; i < 16; i++) sum[i / 4][i % 4] = make_filled_simdgroup_matrix<float, 8, 8>(float(i));
#pragma unroll
    for (int k = 0; k < 11; k++) {
        simdgroup_half8x8 left[4];
        simdgroup_float8x8 right[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            simdgroup_load(left[i], a + i * 8 * 88 + k * 8, 88);
            simdgroup_load(right[i], b + i * 8 * 88 + k * 8, 88, ulong2(0, 0), true);
            if (k % 2) right[i].thread_elements()[0] += 1.0f;
        }
#pragma unroll
        for (int i = 0; i < 16; i++)
            simdgroup_multiply_accumulate(sum[i / 4][i % 4], left[i / 4], right[i % 4], sum[i / 4][i % 4]);
    }
#pragma unroll
    for (int i = 0; i < 16; i++) simdgroup_store(sum[i / 4][i % 4], out + s * 1024 + i / 4 * 256 + i % 4 * 8, 32);
}

// The same as gemm with half tiles staged in threadgroup memory, B given transposed, a 2x2 block of tiles per SIMD-group.
kernel void gemm_staged(device float *out [[buffer(0)]], const device half *a [[buffer(1)]], const device half *b [[buffer(2)]],
    constant uint3 &mnk [[buffer(3)]], threadgroup half *tiles [[threadgroup(0)]], uint2 g [[threadgroup_position_in_grid]],
    ushort l [[thread_index_in_threadgroup]], ushort s [[simdgroup_index_in_threadgroup]])
{
    threadgroup half *ta = tiles, *tb = tiles + 32 * 16;
    uint row = g.y * 32, column = g.x * 32;
    simdgroup_float8x8 sum[2][2];
    for (ushort i = 0; i < 4; i++) sum[i / 2][i % 2] = make_filled_simdgroup_matrix<float, 8>(0.f);
    for (uint k = 0; k < mnk.z; k += 16) {
        for (ushort i = l; i < 32 * 16; i += 128) {
            uint r = row + i / 16, c = column + i / 16, kk = k + i % 16;
            ta[i] = r < mnk.x && kk < mnk.z ? a[r * mnk.z + kk] : half(0);
            tb[i] = c < mnk.y && kk < mnk.z ? b[c * mnk.z + kk] : half(0);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (ushort kk = 0; kk < 16; kk += 8) {
            simdgroup_half8x8 ma[2], mb[2];
            for (ushort i = 0; i < 2; i++) {
                simdgroup_load(ma[i], ta + ((s / 2) * 16 + i * 8) * 16 + kk, 16, 0, false);
                simdgroup_load(mb[i], tb + ((s % 2) * 16 + i * 8) * 16 + kk, 16, 0, true);
            }
            simdgroup_barrier(mem_flags::mem_none);
            for (ushort i = 0; i < 4; i++) simdgroup_multiply_accumulate(sum[i / 2][i % 2], ma[i / 2], mb[i % 2], sum[i / 2][i % 2]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (ushort i = 0; i < 4; i++) {
        uint r = row + (s / 2) * 16 + (i / 2) * 8, c = column + (s % 2) * 16 + (i % 2) * 8;
        if (r + 8 <= mnk.x && c + 8 <= mnk.y) simdgroup_store(sum[i / 2][i % 2], out + r * mnk.y + c, mnk.y);
    }
}

// A product of 64 x DEPTH and DEPTH x 64 halves in tiles as fast kernels copy them: each thread has segments of 32 bytes of rows, of A in
// two buffers that follow each other closely, of B in rows that are padded.
kernel void gemm_segments(device float *out [[buffer(0)]], const device half *a [[buffer(1)]], const device half *b [[buffer(2)]],
    constant uint &steps [[buffer(3)]], ushort l [[thread_index_in_threadgroup]], ushort s [[simdgroup_index_in_threadgroup]])
{
    constexpr int DEPTH = 256, TILE = 32, WIDTH = 72;
    threadgroup half ta[2 * 64 * TILE], tb[TILE * WIDTH];
    const device uint4 *from_a = (const device uint4 *)(a + l / 2 * DEPTH + l % 2 * 16);
    const device uint4 *from_b = (const device uint4 *)(b + l / 4 * 64 + l % 4 * 16);
    threadgroup uint4 *to_b = (threadgroup uint4 *)(tb + l / 4 * WIDTH + l % 4 * 16);
    simdgroup_float8x8 sum[4][4];
    for (ushort i = 0; i < 16; i++) sum[i / 4][i % 4] = make_filled_simdgroup_matrix<float, 8>(0.f);
    uint buffer = 0;
    for (uint k = 0; k < steps; k++) {
        threadgroup half *tile = ta + buffer * 64 * TILE;
        threadgroup uint4 *to_a = (threadgroup uint4 *)(tile + l / 2 * TILE + l % 2 * 16);
        for (ushort i = 0; i < 2; i++) to_a[i] = from_a[i];
        for (ushort i = 0; i < 2; i++) to_b[i] = from_b[i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (ushort kk = 0; kk < TILE; kk += 8) {
            simdgroup_half8x8 ma[4], mb[4];
            for (ushort i = 0; i < 4; i++) simdgroup_load(ma[i], tile + (s / 2 * 32 + i * 8) * TILE + kk, TILE);
            for (ushort i = 0; i < 4; i++) simdgroup_load(mb[i], tb + kk * WIDTH + s % 2 * 32 + i * 8, WIDTH);
            for (ushort i = 0; i < 16; i++)
                simdgroup_multiply_accumulate(sum[i / 4][i % 4], ma[i / 4], mb[i % 4], sum[i / 4][i % 4]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        from_a += TILE / 8;
        from_b += TILE * 64 / 8;
        buffer ^= 1;
    }
    for (ushort i = 0; i < 16; i++)
        simdgroup_store(sum[i / 4][i % 4], out + (s / 2 * 32 + i / 4 * 8) * 64 + s % 2 * 32 + i % 4 * 8, 64);
}

// 16 x 64 floats by 64 x 64 halves, all from device memory: of each row of the right operand a SIMD-group takes two pieces of a line.
kernel void pieces(device float *out [[buffer(0)]], const device float *a [[buffer(1)]], const device half *b [[buffer(2)]],
    ushort s [[simdgroup_index_in_threadgroup]])
{
    simdgroup_float8x8 sum[2][2];
    for (ushort i = 0; i < 4; i++) sum[i / 2][i % 2] = make_filled_simdgroup_matrix<float, 8>(0.f);
    for (ushort k = 0; k < 64; k += 8) {
        simdgroup_float8x8 left[2];
        simdgroup_half8x8 right[2];
        for (ushort i = 0; i < 2; i++) simdgroup_load(left[i], a + i * 8 * 64 + k, 64);
        for (ushort i = 0; i < 2; i++) simdgroup_load(right[i], b + k * 64 + s * 8 + i * 32, 64);
        for (ushort i = 0; i < 4; i++) simdgroup_multiply_accumulate(sum[i / 2][i % 2], left[i / 2], right[i % 2], sum[i / 2][i % 2]);
    }
    for (ushort i = 0; i < 4; i++) simdgroup_store(sum[i / 2][i % 2], out + i / 2 * 8 * 64 + s * 8 + i % 2 * 32, 64);
}
