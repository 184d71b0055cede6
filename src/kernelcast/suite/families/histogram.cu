// How often each value from 0 to bins - 1 occurs.

extern "C" __global__ void histogram_global(int n, int bins, const unsigned* __restrict__ x,
                                            unsigned* __restrict__ counts) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[x[i]], 1u);
}

extern "C" __global__ void histogram_shared(int n, int bins, const unsigned* __restrict__ x,
                                            unsigned* __restrict__ counts) {
    extern __shared__ unsigned mine[];
    for (int b = threadIdx.x; b < bins; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[x[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd(&counts[b], mine[b]);
}

// Counts of its own for every warp: fewer threads meet at one address.
extern "C" __global__ void histogram_per_warp(int n, int bins, const unsigned* __restrict__ x,
                                              unsigned* __restrict__ counts) {
    extern __shared__ unsigned mine[];
    int warps = blockDim.x / 32;
    unsigned* of_warp = mine + threadIdx.x / 32 * bins;
    for (int b = threadIdx.x; b < bins * warps; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&of_warp[x[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x) {
        unsigned sum = 0;
        for (int w = 0; w < warps; w++) sum += mine[w * bins + b];
        if (sum) atomicAdd(&counts[b], sum);
    }
}

// Lanes with the same value elect one that counts for all of them.
extern "C" __global__ void histogram_matched(int n, int bins, const unsigned* __restrict__ x,
                                             unsigned* __restrict__ counts) {
    int lane = threadIdx.x % 32;
    int stride = gridDim.x * blockDim.x;
    for (int first = blockIdx.x * blockDim.x + threadIdx.x - lane; first < n; first += stride) {
        int i = first + lane;
        unsigned present = __ballot_sync(0xffffffff, i < n);
        if (i < n) {
            unsigned equal = __match_any_sync(present, x[i]);
            if (lane == __ffs(equal) - 1) atomicAdd(&counts[x[i]], (unsigned)__popc(equal));
        }
        __syncwarp();
    }
}
