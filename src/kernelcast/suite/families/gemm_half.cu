// C = A B in half precision. A is m x k, B is k x n, all in whole tiles.

#include <cuda_fp16.h>
#include <mma.h>

// Two columns per thread: products and sums of a tile in pairs of halves, sums over tiles in
// single precision.
template <int TILE>
__global__ void gemm_half2(int m, int n, int k, const __half* __restrict__ a,
                           const __half* __restrict__ b, float* __restrict__ c) {
    __shared__ __half tile_a[TILE][TILE];
    __shared__ __half2 tile_b[TILE][TILE / 2];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + 2 * tx;

    float left = 0.0f, right = 0.0f;
    for (int first = 0; first < k; first += TILE) {
        tile_a[ty][2 * tx] = a[row * k + first + 2 * tx];
        tile_a[ty][2 * tx + 1] = a[row * k + first + 2 * tx + 1];
        tile_b[ty][tx] = *(const __half2*)(b + (first + ty) * n + column);
        __syncthreads();
        __half2 sum = __float2half2_rn(0.0f);
        for (int i = 0; i < TILE; i++)
            sum = __hfma2(__half2half2(tile_a[ty][i]), tile_b[i][tx], sum);
        left += __low2float(sum);
        right += __high2float(sum);
        __syncthreads();
    }
    c[row * n + column] = left;
    c[row * n + column + 1] = right;
}

// A warp computes 16 x 16 elements with matrix instructions. Blocks are one warp wide.
template <int WARPS>
__global__ void gemm_wmma(int m, int n, int k, const __half* __restrict__ a,
                          const __half* __restrict__ b, float* __restrict__ c) {
    using namespace nvcuda::wmma;
    int top = (blockIdx.y * WARPS + threadIdx.y) * 16, left = blockIdx.x * 16;
    if (top >= m) return;

    fragment<matrix_a, 16, 16, 16, __half, row_major> part_a;
    fragment<matrix_b, 16, 16, 16, __half, row_major> part_b;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int first = 0; first < k; first += 16) {
        load_matrix_sync(part_a, a + top * k + first, k);
        load_matrix_sync(part_b, b + first * n + left, n);
        mma_sync(sum, part_a, part_b, sum);
    }
    store_matrix_sync(c + top * n + left, sum, n, mem_row_major);
}
