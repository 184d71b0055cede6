/* kernelcast
N = 4096

[[launch]]
kernel = "transpose"
grid = ["N // 32", "N // 32"]
block = [32, 8]
args = { N = "N", in = "f32[N, N] random(1)", out = "f32[N, N]" }
*/

// out = in transposed, through a tile in shared memory so that reads and writes are coalesced.
// Without padding the columns of the tile all lie in one bank: compare -D PAD=1.
// N must be a multiple of 32.
#ifndef PAD
#define PAD 0
#endif

extern "C" __global__ void transpose(int N, const float* __restrict__ in,
                                     float* __restrict__ out) {
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += blockDim.y) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * N + x];
    __syncthreads();

    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += blockDim.y) out[(y + j) * N + x] = tile[threadIdx.x][threadIdx.y + j];
}
