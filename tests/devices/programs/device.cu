// What a program learns of the device and of its kernels.
#include <cstdio>

__global__ void held(float *x) {
  __shared__ float tile[4096];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

int main() {
  cudaDeviceProp p;
  cudaFuncAttributes f;
  int count, blocks, sms, least, size;
  size_t free_bytes, total;
  cudaGetDeviceCount(&count);
  cudaGetDeviceProperties(&p, 0);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  cudaFuncGetAttributes(&f, held);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, held, 256, 0);
  cudaOccupancyMaxPotentialBlockSize(&least, &size, held, 0, 0);
  float *x;
  cudaMalloc(&x, 1 << 20);
  cudaMemGetInfo(&free_bytes, &total);
  printf("%d device, %s, %d.%d, %d SMs, %d SMs, %zu shared, %d threads, L2 %d, %zu taken of %zu\n",
         count, p.name, p.major, p.minor, sms, p.multiProcessorCount, p.sharedMemPerBlockOptin,
         p.maxThreadsPerMultiProcessor, p.l2CacheSize, total - free_bytes, p.totalGlobalMem);
  printf("%zu shared, %d threads, %d blocks, %d by %d\n", f.sharedSizeBytes, f.maxThreadsPerBlock,
         blocks, least, size);
  return 0;
}
