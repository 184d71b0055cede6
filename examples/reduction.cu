/* kernelcast
n = "1 << 24"
BLOCKS = 1024

[[launch]]
kernel = "sum_blocks"
grid = "BLOCKS"
block = 256
args = { n = "n", x = "f32[n] random(1)", partial = "f32[BLOCKS]" }

[[launch]]
kernel = "sum_blocks"
grid = 1
block = 256
args = { n = "BLOCKS", partial = "f32[BLOCKS]", total = "f32[1]" }
*/

// The sum of x in two launches: one sum per block, then the sum of those.
// Lanes add up by shuffles, warps through shared memory.
__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

extern "C" __global__ void sum_blocks(int n, const float* __restrict__ x,
                                      float* __restrict__ sums) {
    __shared__ float warp_sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    sum = warp_sum(sum);
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();

    if (warp == 0) {
        sum = lane < blockDim.x / 32 ? warp_sums[lane] : 0.0f;
        sum = warp_sum(sum);
        if (lane == 0) sums[blockIdx.x] = sum;
    }
}
