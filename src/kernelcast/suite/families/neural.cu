// Layers of neural networks over a matrix of rows x width. Blocks are whole warps.

__device__ __forceinline__ float warp_max(float value) {
    for (int step = 16; step > 0; step /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, step));
    return value;
}

__device__ __forceinline__ float warp_sum(float value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

// The sum over all threads of the block, known to all of them.
__device__ float block_sum(float value, float* cells) {
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) cells[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
    for (int warp = 0; warp < blockDim.x / 32; warp++) sum += cells[warp];
    __syncthreads();
    return sum;
}

// A block per row: the largest, the sum of powers, the quotients; three passes over the row.
extern "C" __global__ void neural_softmax(int width, const float* __restrict__ x,
                                          float* __restrict__ y) {
    __shared__ float cells[32];
    const float* row = x + blockIdx.x * width;
    float largest = row[0];
    for (int i = threadIdx.x; i < width; i += blockDim.x) largest = fmaxf(largest, row[i]);
    largest = warp_max(largest);
    if (threadIdx.x % 32 == 0) cells[threadIdx.x / 32] = largest;
    __syncthreads();
    for (int warp = 0; warp < blockDim.x / 32; warp++) largest = fmaxf(largest, cells[warp]);
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum += expf(row[i] - largest);
    sum = block_sum(sum, cells);
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        y[blockIdx.x * width + i] = expf(row[i] - largest) / sum;
}

// A warp per row; the largest and the sum in one pass.
extern "C" __global__ void neural_softmax_online(int rows, int width, const float* __restrict__ x,
                                                 float* __restrict__ y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* from = x + row * width;
    float largest = -1e30f, sum = 0.0f;
    for (int i = lane; i < width; i += 32) {
        float value = from[i];
        if (value > largest) {
            sum *= __expf(largest - value);
            largest = value;
        }
        sum += __expf(value - largest);
    }
    float overall = warp_max(largest);
    sum = warp_sum(sum * __expf(largest - overall));
    for (int i = lane; i < width; i += 32) y[row * width + i] = __expf(from[i] - overall) / sum;
}

// A block per row.
extern "C" __global__ void neural_layer_norm(int width, float epsilon,
                                             const float* __restrict__ x,
                                             const float* __restrict__ gain,
                                             const float* __restrict__ bias,
                                             float* __restrict__ y) {
    __shared__ float cells[32];
    const float* row = x + blockIdx.x * width;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum += row[i];
    float mean = block_sum(sum, cells) / width;
    sum = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        sum += (row[i] - mean) * (row[i] - mean);
    float inverse = rsqrtf(block_sum(sum, cells) / width + epsilon);
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        y[blockIdx.x * width + i] = (row[i] - mean) * inverse * gain[i] + bias[i];
}

// A bias, then the Gaussian error linear unit by its tangent formula.
extern "C" __global__ void neural_gelu(int n, int width, const float* __restrict__ x,
                                       const float* __restrict__ bias, float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float z = 4.0f * x[i] - 2.0f + bias[i % width];
    y[i] = 0.5f * z * (1.0f + tanhf(0.79788456f * (z + 0.044715f * z * z * z)));
}

// Rows of a table, chosen by tokens and added up per bag.
extern "C" __global__ void neural_embedding_bag(int bag, int width, const int* __restrict__ token,
                                                const float* __restrict__ table,
                                                float* __restrict__ y) {
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float sum = 0.0f;
        for (int t = 0; t < bag; t++)
            sum += table[(long long)token[blockIdx.x * bag + t] * width + i];
        y[blockIdx.x * width + i] = sum;
    }
}
