// Listing 3.2.
extern "C" __global__ void strideCopy(const float* __restrict__ src, float* dst, int len,
                                      int stride) {
    int i = ((blockDim.x * blockIdx.x + threadIdx.x) * stride) % len;
    dst[i] = src[i];
}
