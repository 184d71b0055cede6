// What CUDA has left out, or changed, since programs were written: of the runtime, and among lanes.
#include <cstdio>
#include <cstring>

__global__ void pairs(float *x) { x[threadIdx.x] += __shfl_xor(x[threadIdx.x], 1); }

static void print(const cudaDeviceProp *device) {
    printf("%s, %d MHz, %.2f TB/s, %d\n", device->name, device->clockRate / 1000,
           2e-9 * device->memoryClockRate * device->memoryBusWidth / 8, device->deviceOverlap);
}

int main() {
    struct cudaDeviceProp device;
    memset(&device, 0, sizeof(cudaDeviceProp));
    cudaGetDeviceProperties(&device, 0);
    print(&device);

    float *x;
    cudaMallocManaged(&x, 32 * sizeof(float));
    for (int i = 0; i < 32; ++i) x[i] = i;
    cudaMemAdvise(x, 32 * sizeof(float), cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId);
    cudaMemPrefetchAsync(x, 32 * sizeof(float), 0);
    pairs<<<1, 32>>>(x);
    cudaThreadSynchronize();
    printf("%g, %s\n", x[31], cudaGetErrorName(cudaGetLastError()));
    return cudaThreadExit();
}
