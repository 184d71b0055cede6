// A kernel that prefers L1 cache or shared memory: how many blocks of it an SM holds then.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void mix(float *a, int rounds) {
  __shared__ float held[1536];
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  held[threadIdx.x] = a[at];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < rounds; i++) sum = sum * 0.5f + held[(threadIdx.x + i) % 256];
  a[at] = sum;
}

static void launch(float *a) {
  int blocks;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, mix, 256, 0);
  mix<<<864, 256>>>(a, 100);
  printf("%d ", blocks);
}

int main() {
  float *a;
  cudaMalloc(&a, 864 * 256 * sizeof(float));
  for (int preference = 0; preference < 4; preference++) {
    cudaFuncSetCacheConfig(mix, (cudaFuncCache)preference);
    launch(a);
  }
  cudaFuncSetCacheConfig(mix, cudaFuncCachePreferNone);
  cudaDeviceSetCacheConfig(cudaFuncCachePreferL1);
  launch(a);
  cudaFuncSetAttribute(mix, cudaFuncAttributePreferredSharedMemoryCarveout, 10);
  launch(a);
  cudaFuncAttributes found;
  cudaFuncGetAttributes(&found, mix);
  cudaFuncCache kept;
  cudaDeviceGetCacheConfig(&kept);
  printf("%d %d %s\n", found.preferredShmemCarveout, (int)kept,
         cudaGetErrorName(cudaFuncSetAttribute(
             mix, cudaFuncAttributePreferredSharedMemoryCarveout, 101)));
}
