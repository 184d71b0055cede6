// y = A x for a matrix stored row by row.

extern "C" __global__ void gemv_row_per_thread(int m, int n, const float* __restrict__ a,
                                               const float* __restrict__ x,
                                               float* __restrict__ y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m) return;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += a[row * n + i] * x[i];
    y[row] = sum;
}

__device__ __forceinline__ float warp_sum(float value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffff, value, step);
    return value;
}

extern "C" __global__ void gemv_row_per_warp(int m, int n, const float* __restrict__ a,
                                             const float* __restrict__ x,
                                             float* __restrict__ y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= m) return;
    float sum = 0.0f;
    for (int i = lane; i < n; i += 32) sum += a[row * n + i] * x[i];
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void gemv_row_per_block(int m, int n, const float* __restrict__ a,
                                              const float* __restrict__ x,
                                              float* __restrict__ y) {
    __shared__ float warp_sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float* row = a + blockIdx.x * n;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i] * x[i];
    sum = warp_sum(sum);
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(lane < blockDim.x / 32 ? warp_sums[lane] : 0.0f);
        if (lane == 0) y[blockIdx.x] = sum;
    }
}

// y = transposed A times x: a thread adds up some rows of its column, atomics the rest.
extern "C" __global__ void gemv_transposed(int m, int n, int rows, const float* __restrict__ a,
                                           const float* __restrict__ x, float* __restrict__ y) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n) return;
    int first = blockIdx.y * rows, last = min(first + rows, m);
    float sum = 0.0f;
    for (int row = first; row < last; row++) sum += a[row * n + column] * x[row];
    atomicAdd(&y[column], sum);
}
