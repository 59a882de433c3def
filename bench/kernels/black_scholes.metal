// European option prices by Black and Scholes, the normal distribution by Abramowitz and Stegun 26.2.17.
#include <metal_stdlib>
using namespace metal;

static inline float distribution(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float polynomial =
        k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228f * exp(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

kernel void black_scholes(device const float *price [[buffer(0)]],
                          device const float *strike [[buffer(1)]],
                          device const float *years [[buffer(2)]],
                          device float *call [[buffer(3)]],
                          device float *put [[buffer(4)]],
                          constant float &rate [[buffer(5)]],
                          constant float &volatility [[buffer(6)]],
                          uint i [[thread_position_in_grid]])
{
    float s = price[i], x = strike[i], t = years[i];
    float deviation = volatility * sqrt(t);
    float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / deviation;
    float n1 = distribution(d1), n2 = distribution(d1 - deviation);
    float discounted = x * exp(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
