// Running sums within blocks, and what is built on them. Blocks are whole warps.

// log2(block) steps, all threads in each: work grows with n log n.
extern "C" __global__ void scan_hillis_steele(int n, const int* __restrict__ x,
                                              int* __restrict__ y) {
    extern __shared__ int cells[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int* from = cells;
    int* to = cells + blockDim.x;
    from[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        int sum = from[threadIdx.x];
        if (threadIdx.x >= step) sum += from[threadIdx.x - step];
        to[threadIdx.x] = sum;
        __syncthreads();
        int* other = from;
        from = to;
        to = other;
    }
    if (i < n) y[i] = from[threadIdx.x];
}

// Up and down a tree of two elements per thread; the sum before each element.
extern "C" __global__ void scan_blelloch(const int* __restrict__ x, int* __restrict__ y) {
    extern __shared__ int cells[];
    int n = 2 * blockDim.x, first = blockIdx.x * n, t = threadIdx.x;
    cells[2 * t] = x[first + 2 * t];
    cells[2 * t + 1] = x[first + 2 * t + 1];
    int step = 1;
    for (int active = n / 2; active > 0; active /= 2) {
        __syncthreads();
        if (t < active) cells[step * (2 * t + 2) - 1] += cells[step * (2 * t + 1) - 1];
        step *= 2;
    }
    if (t == 0) cells[n - 1] = 0;
    for (int active = 1; active < n; active *= 2) {
        step /= 2;
        __syncthreads();
        if (t < active) {
            int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1;
            int sum = cells[left];
            cells[left] = cells[right];
            cells[right] += sum;
        }
    }
    __syncthreads();
    y[first + 2 * t] = cells[2 * t];
    y[first + 2 * t + 1] = cells[2 * t + 1];
}

__device__ __forceinline__ int scanned_by_warp(int value) {
    int lane = threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        int before = __shfl_up_sync(0xffffffff, value, step);
        if (lane >= step) value += before;
    }
    return value;
}

extern "C" __global__ void scan_warp_shuffle(int n, const int* __restrict__ x,
                                             int* __restrict__ y) {
    __shared__ int warp_sums[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = scanned_by_warp(i < n ? x[i] : 0);
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();
    if (warp == 0) warp_sums[lane] = scanned_by_warp(lane < blockDim.x / 32 ? warp_sums[lane] : 0);
    __syncthreads();
    if (i < n) y[i] = sum + (warp > 0 ? warp_sums[warp - 1] : 0);
}

// Keeps what exceeds a limit: votes count within a warp, one atomic per warp finds the room.
extern "C" __global__ void scan_compact(int n, float limit, const float* __restrict__ x,
                                        float* __restrict__ kept, unsigned* __restrict__ count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    float value = i < n ? x[i] : 0.0f;
    bool keep = i < n && value > limit;
    unsigned votes = __ballot_sync(0xffffffff, keep);
    unsigned base = 0;
    if (lane == 0 && votes) base = atomicAdd(count, (unsigned)__popc(votes));
    base = __shfl_sync(0xffffffff, base, 0);
    if (keep) kept[base + __popc(votes & ((1u << lane) - 1))] = value;
}
