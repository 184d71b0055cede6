// Listing 3.1, its loop as it stands, as the thesis analysed it.
extern "C" __global__ void copy(int n, const float* __restrict__ src, float* dst) {
    int tid = blockDim.x * blockIdx.x + threadIdx.x;
    int stride = gridDim.x * blockDim.x;
#pragma unroll 1
    for (int i = tid; i < n; i += stride) dst[i] = src[i];
}
