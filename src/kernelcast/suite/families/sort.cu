// Sorting and searching. Blocks have a power of two of threads.

// Every block sorts two elements per thread.
extern "C" __global__ void sort_bitonic_shared(unsigned* __restrict__ keys) {
    extern __shared__ unsigned tile[];
    int n = 2 * blockDim.x, t = threadIdx.x;
    unsigned* mine = keys + blockIdx.x * n;
    tile[t] = mine[t];
    tile[t + blockDim.x] = mine[t + blockDim.x];
    for (int size = 2; size <= n; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            int low = 2 * t - (t & (step - 1)), high = low + step;
            unsigned a = tile[low], b = tile[high];
            if ((a > b) == ((low & size) == 0)) {
                tile[low] = b;
                tile[high] = a;
            }
        }
    __syncthreads();
    mine[t] = tile[t];
    mine[t + blockDim.x] = tile[t + blockDim.x];
}

// One step of a bitonic sort of all elements.
extern "C" __global__ void sort_bitonic_step(int n, int size, int step,
                                             unsigned* __restrict__ keys) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ step;
    if (i >= n || other < i) return;
    unsigned a = keys[i], b = keys[other];
    if ((a > b) == ((i & size) == 0)) {
        keys[i] = b;
        keys[other] = a;
    }
}

// Neighbours trade places until every block's keys, two per thread, are in order.
extern "C" __global__ void sort_odd_even(unsigned* __restrict__ keys) {
    extern __shared__ unsigned tile[];
    int n = 2 * blockDim.x, t = threadIdx.x;
    unsigned* mine = keys + blockIdx.x * n;
    tile[t] = mine[t];
    tile[t + blockDim.x] = mine[t + blockDim.x];
    __syncthreads();
    for (int round = 0; round < n; round++) {
        int i = 2 * t + (round & 1);
        if (i + 1 < n && tile[i] > tile[i + 1]) {
            unsigned key = tile[i];
            tile[i] = tile[i + 1];
            tile[i + 1] = key;
        }
        __syncthreads();
    }
    mine[t] = tile[t];
    mine[t + blockDim.x] = tile[t + blockDim.x];
}

// How often each value of a digit occurs in the keys of a block.
extern "C" __global__ void sort_radix_count(int n, int per_block, int shift,
                                            const unsigned* __restrict__ keys,
                                            unsigned* __restrict__ counts) {
    __shared__ unsigned mine[16];
    if (threadIdx.x < 16) mine[threadIdx.x] = 0;
    __syncthreads();
    int first = blockIdx.x * per_block, last = min(first + per_block, n);
    for (int i = first + threadIdx.x; i < last; i += blockDim.x)
        atomicAdd(&mine[(keys[i] >> shift) & 15], 1u);
    __syncthreads();
    if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = mine[threadIdx.x];
}

// Every block sorts its keys, one per thread, by `bits` bits: a stable split per bit, in which
// votes count within a warp and a shared array between warps.
extern "C" __global__ void sort_radix_split(int shift, int bits, unsigned* __restrict__ keys) {
    __shared__ unsigned tile[1024];
    __shared__ unsigned zeros_of[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, warps = blockDim.x / 32;
    unsigned key = keys[blockIdx.x * blockDim.x + t];
    for (int bit = shift; bit < shift + bits; bit++) {
        bool one = (key >> bit) & 1;
        unsigned votes = __ballot_sync(0xffffffff, !one);
        if (lane == 0) zeros_of[warp] = __popc(votes);
        __syncthreads();
        int before = 0, zeros = 0;
        for (int w = 0; w < warps; w++) {
            if (w == warp) before = zeros;
            zeros += zeros_of[w];
        }
        before += __popc(votes & ((1u << lane) - 1));
        tile[one ? zeros + t - before : before] = key;
        __syncthreads();
        key = tile[t];
        __syncthreads();
    }
    keys[blockIdx.x * blockDim.x + t] = key;
}

// The first place in a sorted array whose element is not less than the key.
extern "C" __global__ void sort_lower_bound(int n, int queries, const int* __restrict__ sorted,
                                            const int* __restrict__ key, int* __restrict__ place) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= queries) return;
    int wanted = key[i], low = 0, high = n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (sorted[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    place[i] = low;
}
