// Memory from pools, and what a pool is told and tells.
#include <cstdint>
#include <cstdio>

int main() {
  cudaMemPool_t pool, own;
  cudaMemPoolProps how = {};
  uint64_t threshold = 1 << 20, told = 0, used = 0;
  int *x, *y;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &told);
  cudaMallocAsync(&x, 4096, 0);
  cudaMemPoolCreate(&own, &how);
  cudaMallocFromPoolAsync(&y, 8192, own, 0);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  cudaFreeAsync(y, 0);
  cudaMemPoolTrimTo(own, 0);
  cudaMemPoolDestroy(own);
  printf("%llu %llu %s\n", (unsigned long long)told, (unsigned long long)used,
         cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
