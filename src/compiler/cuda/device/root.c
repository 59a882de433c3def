/* The inverse of a square root, with the bits of IEEE's root and IEEE's division.
 *
 * sqrt.rn and rcp.rn are some ten instructions each with a branch to a slow path, which keeps loops from being
 * unrolled. Here one approximation y of 1 / sqrt(x) serves both: s = x y is corrected to the rounded root t as
 * ptxas does it (s + y/2 (x - s^2)), and y to the rounded inverse of t, with d = 1 - t y, to y (1 + d + 3/2 d^2).
 * Half of d^2 is too much, which does not matter but where t is just below a power of two: there 1 / t lies above
 * the middle of two floats by less than d^2 can show once it is rounded to even. Arguments whose residuals would
 * be denormal are scaled. For 0, infinity, NaN and negative numbers s is NaN, and y the result.
 *
 * tests/compiler/cuda/root.c tries every y within NVIDIA's bound for rsqrt.approx.ftz (2^-22.9): a single pair of
 * significands gives another result, which GPUs of compute capability 9.0 do not have, where all 2^32 arguments
 * were tried (math.inverse-roots in tests/conformance does so again). So it is used for these (../root.c). */
#include "device.h"

LIBRARY f32 inverse_root(f32 x) LABEL("inverse_root.f32");
f32 inverse_root(f32 x)
{
    bool small = x < 0x1p-96f;
    f32 scaled = small ? x * 0x1p64f : x;
    f32 y = __nvvm_rsqrt_approx_ftz_f(scaled), s = scaled * y;
    f32 t = __builtin_fmaf(__builtin_fmaf(-s, s, scaled), 0.5f * y, s);
    f32 d = __builtin_fmaf(-t, y, 1.0f);
    f32 inverse = __builtin_fmaf(__builtin_fmaf(1.5f * d, d, d), y, y);
    inverse = small ? inverse * 0x1p32f : inverse;
    return s != s ? y : inverse;
}
