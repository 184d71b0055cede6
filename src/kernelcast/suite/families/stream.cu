// Memory bandwidth: loads and stores with an operation or two between them.

extern "C" __global__ void stream_copy(int n, const float* __restrict__ x,
                                       float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

extern "C" __global__ void stream_scale(int n, float a, const float* __restrict__ x,
                                        float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" __global__ void stream_add(int n, const float* __restrict__ x,
                                      const float* __restrict__ y, float* __restrict__ z) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

// The threads of a fixed grid stride over the data.
extern "C" __global__ void stream_triad(int n, float a, const float* __restrict__ x,
                                        const float* __restrict__ y, float* __restrict__ z) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        z[i] = x[i] + a * y[i];
}

extern "C" __global__ void stream_triad_double(int n, double a, const double* __restrict__ x,
                                               const double* __restrict__ y,
                                               double* __restrict__ z) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        z[i] = x[i] + a * y[i];
}

extern "C" __global__ void stream_copy_bytes(int n, const unsigned char* __restrict__ x,
                                             unsigned char* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

// n counts groups of four.
extern "C" __global__ void stream_copy_float4(int n, const float4* __restrict__ x,
                                              float4* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

// Several independent loads per thread: more bytes in flight without more warps.
template <int LOADS>
__global__ void stream_unrolled(int n, const float* __restrict__ x, float* __restrict__ y) {
    int first = blockIdx.x * blockDim.x * LOADS + threadIdx.x;
    float value[LOADS];
#pragma unroll
    for (int u = 0; u < LOADS; u++) {
        int i = first + u * blockDim.x;
        value[u] = i < n ? x[i] : 0.0f;
    }
#pragma unroll
    for (int u = 0; u < LOADS; u++) {
        int i = first + u * blockDim.x;
        if (i < n) y[i] = value[u] + 1.0f;
    }
}

extern "C" __global__ void stream_strided(int n, int stride, const float* __restrict__ x,
                                          float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i * stride];
}

// Reads that begin anywhere in a sector.
extern "C" __global__ void stream_offset(int n, int offset, const float* __restrict__ x,
                                         float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i + offset];
}

extern "C" __global__ void stream_gather(int n, const int* __restrict__ index,
                                         const float* __restrict__ x, float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[index[i]];
}

// index is a permutation, so no two threads write one element.
extern "C" __global__ void stream_scatter(int n, const int* __restrict__ index,
                                          const float* __restrict__ x, float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[index[i]] = x[i];
}
