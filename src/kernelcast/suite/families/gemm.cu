// C = A B, row by row in memory: A is m x k, B is k x n. What is tiled needs whole tiles.

extern "C" __global__ void gemm_naive(int m, int n, int k, const float* __restrict__ a,
                                      const float* __restrict__ b, float* __restrict__ c) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;

    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

// The lanes of a warp lie in one column: no read of A and no write of C is coalesced.
extern "C" __global__ void gemm_by_columns(int m, int n, int k, const float* __restrict__ a,
                                           const float* __restrict__ b, float* __restrict__ c) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;

    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

template <int TILE, class T>
__device__ __forceinline__ void multiply_tiles(int n, int k, const T* a, const T* b, T* c) {
    __shared__ T tile_a[TILE][TILE];
    __shared__ T tile_b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;

    T sum = 0;
    for (int first = 0; first < k; first += TILE) {
        tile_a[ty][tx] = a[row * k + first + tx];
        tile_b[ty][tx] = b[(first + ty) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += tile_a[ty][i] * tile_b[i][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

template <int TILE>
__global__ void gemm_tiled(int m, int n, int k, const float* __restrict__ a,
                           const float* __restrict__ b, float* __restrict__ c) {
    multiply_tiles<TILE>(n, k, a, b, c);
}

template <int TILE>
__global__ void gemm_tiled_double(int m, int n, int k, const double* __restrict__ a,
                                  const double* __restrict__ b, double* __restrict__ c) {
    multiply_tiles<TILE>(n, k, a, b, c);
}

// A block computes BM x BN elements, a thread TM x TN of them in registers. The elements of a
// thread lie apart, so that lanes read neighbouring words of the tiles.
template <int BM, int BN, int BK, int TM, int TN>
__global__ void gemm_register(int m, int n, int k, const float* __restrict__ a,
                              const float* __restrict__ b, float* __restrict__ c) {
    constexpr int ACROSS = BN / TN, DOWN = BM / TM, THREADS = ACROSS * DOWN;
    __shared__ float tile_a[BK][BM + 1];
    __shared__ float tile_b[BK][BN];
    int tx = threadIdx.x % ACROSS, ty = threadIdx.x / ACROSS;
    int top = blockIdx.y * BM, left = blockIdx.x * BN;

    float sum[TM][TN] = {};
    for (int first = 0; first < k; first += BK) {
        for (int e = threadIdx.x; e < BM * BK; e += THREADS)
            tile_a[e % BK][e / BK] = a[(top + e / BK) * k + first + e % BK];
        for (int e = threadIdx.x; e < BK * BN; e += THREADS)
            tile_b[e / BN][e % BN] = b[(first + e / BN) * n + left + e % BN];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < BK; i++) {
            float part_a[TM], part_b[TN];
#pragma unroll
            for (int y = 0; y < TM; y++) part_a[y] = tile_a[i][ty + y * DOWN];
#pragma unroll
            for (int x = 0; x < TN; x++) part_b[x] = tile_b[i][tx + x * ACROSS];
#pragma unroll
            for (int y = 0; y < TM; y++)
#pragma unroll
                for (int x = 0; x < TN; x++) sum[y][x] += part_a[y] * part_b[x];
        }
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < TM; y++)
#pragma unroll
        for (int x = 0; x < TN; x++)
            c[(top + ty + y * DOWN) * n + left + tx + x * ACROSS] = sum[y][x];
}
