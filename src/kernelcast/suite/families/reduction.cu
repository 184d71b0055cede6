// Many numbers to few. Blocks have a power of two of threads and stride over the data.

// Neighbours are added first: lanes diverge, and who takes part is found by a remainder.
extern "C" __global__ void reduce_interleaved(int n, const int* __restrict__ x,
                                              int* __restrict__ sums) {
    extern __shared__ int partial[];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        if (threadIdx.x % (2 * step) == 0) partial[threadIdx.x] += partial[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

// Halves are added: the threads that take part stay together.
extern "C" __global__ void reduce_tree(int n, const int* __restrict__ x,
                                       int* __restrict__ sums) {
    extern __shared__ int partial[];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

extern "C" __global__ void reduce_shuffle(int n, const float* __restrict__ x,
                                          float* __restrict__ sums) {
    __shared__ float warp_sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < blockDim.x / 32 ? warp_sums[lane] : 0.0f;
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
        if (lane == 0) sums[blockIdx.x] = sum;
    }
}

// Every thread adds its share to one number.
extern "C" __global__ void reduce_atomic(int n, const int* __restrict__ x,
                                         unsigned* __restrict__ total) {
    unsigned sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    atomicAdd(total, sum);
}

extern "C" __global__ void reduce_dot_double(int n, const double* __restrict__ x,
                                             const double* __restrict__ y,
                                             double* __restrict__ sums) {
    extern __shared__ double products[];
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i] * y[i];
    products[threadIdx.x] = sum;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) products[threadIdx.x] += products[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = products[0];
}

// The place of the largest number, the first of equals; one result per warp.
extern "C" __global__ void reduce_argmax(int n, const float* __restrict__ x,
                                         float* __restrict__ largest, int* __restrict__ place) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float best = -1.0f;
    int at = n;
    for (int i = thread; i < n; i += gridDim.x * blockDim.x) {
        if (x[i] > best) {
            best = x[i];
            at = i;
        }
    }
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_down_sync(0xffffffff, best, step);
        int there = __shfl_down_sync(0xffffffff, at, step);
        if (other > best || (other == best && there < at)) {
            best = other;
            at = there;
        }
    }
    if (threadIdx.x % 32 == 0) {
        largest[thread / 32] = best;
        place[thread / 32] = at;
    }
}
