// European option prices by Black and Scholes.
__device__ static inline float distribution(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial =
        k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228f * expf(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void __launch_bounds__(256)
    black_scholes(const float *__restrict__ price, const float *__restrict__ strike, const float *__restrict__ years,
        float *__restrict__ call, float *__restrict__ put, float rate, float volatility)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = price[i], x = strike[i], t = years[i];
    float deviation = volatility * sqrtf(t);
    float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / deviation;
    float n1 = distribution(d1), n2 = distribution(d1 - deviation);
    float discounted = x * expf(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
