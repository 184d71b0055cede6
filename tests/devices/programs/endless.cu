// A kernel that takes hours on a CPU, one of whose blocks takes a moment.
#include <cstdio>

__global__ void endless(unsigned *sum)
{
    unsigned found = 0;
    for (unsigned i = 0; i < 200000; i++) found = found * 1664525 + blockIdx.x;
    atomicAdd(sum, found);
}

int main()
{
    unsigned *sum;
    cudaMalloc(&sum, sizeof *sum);
    cudaMemset(sum, 0, sizeof *sum);
    endless<<<1 << 22, 32>>>(sum);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
