/* black_scholes.metal in C. */
#include <math.h>
#include <tombac/kernel.h>

static float distribution(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial =
        k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228f * expf(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

kernel void black_scholes(const float *price, const float *strike, const float *years, float *call, float *put,
    float rate, float volatility)
{
    uint i = thread_position_in_grid().x;
    float s = price[i], x = strike[i], t = years[i];
    float deviation = volatility * sqrtf(t);
    float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / deviation;
    float n1 = distribution(d1), n2 = distribution(d1 - deviation);
    float discounted = x * expf(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
