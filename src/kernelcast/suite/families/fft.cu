// Fourier transforms of powers of two, by Stockham's order: no bits are reversed.

__device__ __forceinline__ float2 turned(float2 z, float angle) {
    float s = sinf(angle), c = cosf(angle);
    return make_float2(z.x * c - z.y * s, z.x * s + z.y * c);
}

// One step over all n elements: transforms of length p become transforms of length 2 p.
extern "C" __global__ void fft_radix2_step(int n, int p, const float2* __restrict__ x,
                                           float2* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 2) return;
    int k = i & (p - 1), j = 2 * i - k;
    float2 a = x[i], b = turned(x[i + n / 2], -3.14159265f * k / p);
    y[j] = make_float2(a.x + b.x, a.y + b.y);
    y[j + p] = make_float2(a.x - b.x, a.y - b.y);
}

// A whole transform per block, two elements per thread.
template <int N>
__global__ void fft_shared(const float2* __restrict__ x, float2* __restrict__ y) {
    __shared__ float2 cells[2][N];
    int i = threadIdx.x, from = 0;
    cells[0][i] = x[blockIdx.x * N + i];
    cells[0][i + N / 2] = x[blockIdx.x * N + i + N / 2];
    __syncthreads();
    for (int p = 1; p < N; p *= 2) {
        int k = i & (p - 1), j = 2 * i - k;
        float s, c;
        __sincosf(-3.14159265f * k / p, &s, &c);
        float2 a = cells[from][i], b = cells[from][i + N / 2];
        b = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
        cells[1 - from][j] = make_float2(a.x + b.x, a.y + b.y);
        cells[1 - from][j + p] = make_float2(a.x - b.x, a.y - b.y);
        from = 1 - from;
        __syncthreads();
    }
    y[blockIdx.x * N + i] = cells[from][i];
    y[blockIdx.x * N + i + N / 2] = cells[from][i + N / 2];
}

// The defining sum, one frequency per thread; the whole turns of the angle are left out.
extern "C" __global__ void fft_direct(int n, const float2* __restrict__ x,
                                      float2* __restrict__ y) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int i = 0; i < n; i++) {
        float2 z = turned(x[i], -6.28318531f * (int)((long long)k * i % n) / n);
        sum.x += z.x;
        sum.y += z.y;
    }
    y[k] = sum;
}
