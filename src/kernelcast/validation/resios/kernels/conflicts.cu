// Listing 3.3.
extern "C" __global__ void conflicts(float* a, int len, int bank) {
    __shared__ float S[1024];
    S[threadIdx.x % 1024] = 0;
    __syncthreads();
    int tid = (blockDim.x * blockIdx.x + threadIdx.x);
    int idx = (tid * bank) % 1024;
    a[tid % len] = S[idx];
}
