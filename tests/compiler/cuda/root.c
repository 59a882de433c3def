/* The device library's inverse root (src/compiler/cuda/device/root.c) for every significand, and every value that
 * rsqrt.approx.ftz may give within its documented error of 2^-22.9: all but one pair give the float that IEEE's root
 * and IEEE's division give. The formula is written out again; that the library has this one is seen on GPUs. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static float of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t to_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

__attribute__((target("fma"))) static float inverse(float x, float y)
{
    float s = x * y, t = fmaf(fmaf(-s, s, x), 0.5f * y, s);
    float d = fmaf(-t, y, 1.0f);
    return fmaf(fmaf(1.5f * d, d, d), y, y);
}

static void fail(float x, float y, float expected)
{
    printf("x %a, y %a: %a instead of %a\n", (double)x, (double)y, (double)inverse(x, y), (double)expected);
}

int main(void)
{
    unsigned tried = 0, wrong = 0;
    if (!__builtin_cpu_supports("fma")) return 77; /* skipped */
    for (uint32_t bits = to_bits(1.0f); bits < to_bits(4.0f); bits++) {
        float x = of_bits(bits), expected = 1.0f / sqrtf(x);
        double exact = 1 / sqrt((double)x), low = exact * (1 - exp2(-22.9)), high = exact * (1 + exp2(-22.9));
        float y = (float)low;
        if ((double)y < low) y = nextafterf(y, 2.0f);
        for (; (double)y <= high; y = of_bits(to_bits(y) + 1)) {
            tried++;
            if (inverse(x, y) == expected) continue;
            fail(x, y, expected);
            wrong += x == 0x1.f82294p+0f && y == 0x1.6cda12p-1f ? 0 : 1;
        }
    }
    printf("%u tried, %u wrong\n", tried, wrong);
    return wrong || tried < 1u << 25;
}
