/* kernelcast
n = "1 << 24"

[[launch]]
kernel = "histogram"
grid = 512
block = 256
args = { n = "n", data = "u8[n] random(1)", bins = "u32[256]" }
*/

// Counts bytes: atomics in shared memory first, then one per bin and block in global memory.
extern "C" __global__ void histogram(int n, const unsigned char* __restrict__ data,
                                     unsigned int* __restrict__ bins) {
    __shared__ unsigned int local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();

    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}
