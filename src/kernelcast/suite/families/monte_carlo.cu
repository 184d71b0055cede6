// Random numbers and what is estimated with them.

// Spreads consecutive numbers over all words; never 0 for less than 2^32 - 1.
__device__ __forceinline__ unsigned seeded(unsigned i) {
    unsigned h = (i + 1) * 2654435769u;
    h ^= h >> 16;
    h *= 2246822507u;
    h ^= h >> 13;
    return h ? h : 1u;
}

__device__ __forceinline__ unsigned xorshift(unsigned* state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

// Points in the quarter circle; 12 bits per coordinate, so that all sums are exact.
__device__ __forceinline__ bool in_circle(unsigned a, unsigned b) {
    float x = (a >> 20) * (1.0f / 4096.0f), y = (b >> 20) * (1.0f / 4096.0f);
    return x * x + y * y < 1.0f;
}

extern "C" __global__ void monte_carlo_pi_xorshift(int n, int samples,
                                                   unsigned* __restrict__ hits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned state = seeded(i), count = 0;
    for (int s = 0; s < samples; s++) {
        unsigned a = xorshift(&state), b = xorshift(&state);
        if (in_circle(a, b)) count++;
    }
    hits[i] = count;
}

// Four words from a counter and a key by Philox 4x32 with ten rounds (Salmon et al. 2011).
__device__ uint4 philox(unsigned counter, unsigned draw, unsigned key) {
    uint4 c = make_uint4(counter, draw, 0, 0);
    unsigned k0 = key, k1 = 0;
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = make_uint4(high1 ^ c.y ^ k0, low1, high0 ^ c.w ^ k1, low0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

extern "C" __global__ void monte_carlo_pi_philox(int n, int samples, unsigned key,
                                                 unsigned* __restrict__ hits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned count = 0;
    if (i < n)
        for (int s = 0; s < samples; s++) {
            uint4 r = philox(i, s, key);
            count += in_circle(r.x, r.y) + in_circle(r.z, r.w);
        }
    for (int step = 16; step > 0; step /= 2) count += __shfl_down_sync(0xffffffff, count, step);
    if (threadIdx.x % 32 == 0 && count) atomicAdd(hits, count);
}

// A European call: normal numbers by Box and Muller, one mean payoff per thread.
extern "C" __global__ void monte_carlo_option(int n, int samples, float drift, float spread,
                                              float strike, float* __restrict__ payoff) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned state = seeded(i);
    float sum = 0.0f;
    for (int s = 0; s < samples; s++) {
        float u = ((xorshift(&state) >> 8) + 1) * (1.0f / 16777216.0f);
        float v = (xorshift(&state) >> 8) * (1.0f / 16777216.0f);
        float z = sqrtf(-2.0f * logf(u)) * cosf(6.28318531f * v);
        sum += fmaxf(expf(drift + spread * z) - strike, 0.0f);
    }
    payoff[i] = sum / samples;
}

// Steps until a walk leaves (-limit, limit): every lane ends when it ends.
extern "C" __global__ void monte_carlo_walk(int n, int limit, int most, int* __restrict__ steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned state = seeded(i);
    int at = 0, step = 0;
    while (at > -limit && at < limit && step < most) {
        at += xorshift(&state) >> 31 ? 1 : -1;
        step++;
    }
    steps[i] = step;
}
