/* kernelcast
N = 2048
TILE = 16                # the template argument below must be the same

[[launch]]
kernel = "matmul_tiled<16>"
grid = ["N // TILE", "N // TILE"]
block = ["TILE", "TILE"]
args = { N = "N", A = "f32[N, N] random(1)", B = "f32[N, N] random(2)", C = "f32[N, N]" }
*/

// C = A * B through tiles in shared memory: every element is read from global memory
// N / TILE times instead of N times. N must be a multiple of TILE.
template <int TILE>
__global__ void matmul_tiled(int N, const float* __restrict__ A, const float* __restrict__ B,
                             float* __restrict__ C) {
    __shared__ float tileA[TILE][TILE];
    __shared__ float tileB[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int column = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int tile = 0; tile < N / TILE; tile++) {
        tileA[ty][tx] = A[row * N + tile * TILE + tx];
        tileB[ty][tx] = B[(tile * TILE + ty) * N + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += tileA[ty][k] * tileB[k][tx];
        __syncthreads();
    }
    C[row * N + column] = sum;
}
