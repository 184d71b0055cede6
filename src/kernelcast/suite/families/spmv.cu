// y = A x for a sparse matrix. The entries of row r are those from r * mean + jitter[r] up to
// where row r + 1 begins: compressed rows, with random lengths from 1 to 2 * mean - 1.

__device__ __forceinline__ int row_begin(int row, int mean, const int* jitter) {
    return row * mean + jitter[row];
}

extern "C" __global__ void spmv_csr_scalar(int rows, int mean, const int* __restrict__ jitter,
                                           const int* __restrict__ column,
                                           const float* __restrict__ value,
                                           const float* __restrict__ x, float* __restrict__ y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int end = row_begin(row + 1, mean, jitter);
    float sum = 0.0f;
    for (int e = row_begin(row, mean, jitter); e < end; e++) sum += value[e] * x[column[e]];
    y[row] = sum;
}

// LANES lanes of a warp share a row.
template <int LANES>
__global__ void spmv_csr_vector(int rows, int mean, const int* __restrict__ jitter,
                                const int* __restrict__ column, const float* __restrict__ value,
                                const float* __restrict__ x, float* __restrict__ y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    float sum = 0.0f;
    if (row < rows) {
        int end = row_begin(row + 1, mean, jitter);
        for (int e = row_begin(row, mean, jitter) + lane; e < end; e += LANES)
            sum += value[e] * x[column[e]];
    }
    for (int step = LANES / 2; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step, LANES);
    if (row < rows && lane == 0) y[row] = sum;
}

// As many entries for every row, stored column by column; a negative column is no entry.
extern "C" __global__ void spmv_ell(int rows, int width, const int* __restrict__ column,
                                    const float* __restrict__ value, const float* __restrict__ x,
                                    float* __restrict__ y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int e = 0; e < width; e++) {
        int c = column[e * rows + row];
        if (c >= 0) sum += value[e * rows + row] * x[c];
    }
    y[row] = sum;
}

// Entries in no order, added by atomics.
extern "C" __global__ void spmv_coo(int entries, const int* __restrict__ row,
                                    const int* __restrict__ column,
                                    const float* __restrict__ value, const float* __restrict__ x,
                                    float* __restrict__ y) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < entries) atomicAdd(&y[row[e]], value[e] * x[column[e]]);
}
