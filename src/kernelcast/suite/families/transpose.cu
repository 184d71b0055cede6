// B = A transposed, for square matrices of whole tiles.

extern "C" __global__ void transpose_naive(int n, const float* __restrict__ a,
                                           float* __restrict__ b) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) b[x * n + y] = a[y * n + x];
}

template <int TILE, int ROWS, int PAD>
__device__ __forceinline__ void transpose_through_tile(int n, const float* a, float* b) {
    __shared__ float tile[TILE][TILE + PAD];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) b[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

// The columns of the tile lie in one bank.
template <int TILE, int ROWS>
__global__ void transpose_tiled(int n, const float* __restrict__ a, float* __restrict__ b) {
    transpose_through_tile<TILE, ROWS, 0>(n, a, b);
}

template <int TILE, int ROWS>
__global__ void transpose_padded(int n, const float* __restrict__ a, float* __restrict__ b) {
    transpose_through_tile<TILE, ROWS, 1>(n, a, b);
}

// A warp turns 32 x 32 elements in its registers: 5 rounds of exchange with the lane that
// differs in one bit.
extern "C" __global__ void transpose_shuffle(int n, const float* __restrict__ a,
                                             float* __restrict__ b) {
    int lane = threadIdx.x;
    int left = (blockIdx.x * blockDim.y + threadIdx.y) * 32, top = blockIdx.y * 32;
    float row[32];
#pragma unroll
    for (int j = 0; j < 32; j++) row[j] = a[(top + j) * n + left + lane];
#pragma unroll
    for (int bit = 1; bit < 32; bit *= 2) {
        bool upper = lane & bit;
#pragma unroll
        for (int j = 0; j < 32; j++) {
            if (j & bit) continue;
            float given = __shfl_xor_sync(0xffffffff, upper ? row[j] : row[j | bit], bit);
            if (upper) row[j] = given;
            else row[j | bit] = given;
        }
    }
#pragma unroll
    for (int j = 0; j < 32; j++) b[(left + j) * n + top + lane] = row[j];
}
