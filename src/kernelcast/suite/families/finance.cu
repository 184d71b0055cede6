// Option prices.

// The distribution function of the normal distribution (Abramowitz and Stegun, 26.2.17).
__device__ __forceinline__ float normal_cdf(float x) {
    float t = 1.0f / (1.0f + 0.2316419f * fabsf(x));
    float tail = 0.39894228f * expf(-0.5f * x * x) * t *
                 (0.31938153f + t * (-0.356563782f + t * (1.781477937f +
                                                         t * (-1.821255978f + t * 1.330274429f))));
    return x > 0.0f ? 1.0f - tail : tail;
}

// Spot and strike come as numbers in [0, 1).
extern "C" __global__ void finance_black_scholes(int n, float rate, float volatility,
                                                 const float* __restrict__ spot,
                                                 const float* __restrict__ strike,
                                                 const float* __restrict__ years,
                                                 float* __restrict__ call,
                                                 float* __restrict__ put) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float s = 5.0f + 25.0f * spot[i], k = 1.0f + 99.0f * strike[i];
        float t = 0.25f + 9.75f * years[i];
        float spread = volatility * sqrtf(t);
        float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / spread;
        float d2 = d1 - spread, discounted = k * expf(-rate * t);
        float price = s * normal_cdf(d1) - discounted * normal_cdf(d2);
        call[i] = price;
        put[i] = price - s + discounted;
    }
}

extern "C" __global__ void finance_black_scholes_double(int n, double rate, double volatility,
                                                        const double* __restrict__ spot,
                                                        const double* __restrict__ strike,
                                                        const double* __restrict__ years,
                                                        double* __restrict__ call,
                                                        double* __restrict__ put) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double s = 5.0 + 25.0 * spot[i], k = 1.0 + 99.0 * strike[i], t = 0.25 + 9.75 * years[i];
        double spread = volatility * sqrt(t);
        double d1 = (log(s / k) + (rate + 0.5 * volatility * volatility) * t) / spread;
        double d2 = d1 - spread, discounted = k * exp(-rate * t);
        double price = 0.5 * (s * erfc(-d1 * 0.70710678118654752) -
                              discounted * erfc(-d2 * 0.70710678118654752));
        call[i] = price;
        put[i] = price - s + discounted;
    }
}

// An American put on a tree of at most 63 steps, its values in an array of the thread's own.
extern "C" __global__ void finance_binomial_put(int n, int steps, float up, float probability,
                                                float discount, const float* __restrict__ spot,
                                                float* __restrict__ price) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value[64];
    float strike = 1.0f, s = 0.5f + spot[i];
    float lowest = s;
    for (int j = 0; j < steps; j++) lowest /= up;
    float leaf = lowest;
    for (int j = 0; j <= steps; j++) {
        value[j] = fmaxf(strike - leaf, 0.0f);
        leaf *= up * up;
    }
    for (int step = steps; step > 0; step--) {
        lowest *= up;
        float here = lowest;
        for (int j = 0; j < step; j++) {
            float held = discount * (probability * value[j + 1] + (1.0f - probability) * value[j]);
            value[j] = fmaxf(held, strike - here);
            here *= up * up;
        }
    }
    price[i] = value[0];
}
