// Variables of the device: constant, global and managed, written by the host and by kernels.
#include <cstdio>

__constant__ float weights[4] = {1, 2, 3, 4};
__constant__ int scale = 10;
__device__ int counter = 5;
__device__ __managed__ int shown = 7;

__global__ void weigh(float *out) {
  atomicAdd(&counter, scale);
  if (threadIdx.x == 0) shown += 1;
  out[threadIdx.x] = weights[threadIdx.x % 4];
}

int main() {
  float *out, now[4] = {5, 6, 7, 8}, got[8];
  int count, size, set = 100;
  size_t bytes;
  cudaMalloc(&out, sizeof got);
  shown = 20;
  weigh<<<1, 8>>>(out);
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  printf("%g %g, ", got[3], got[4]);
  cudaMemcpyToSymbol(weights, now, sizeof now);
  cudaMemcpyToSymbol(scale, &set, sizeof set);
  weigh<<<1, 8>>>(out);
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&count, counter, sizeof count);
  cudaGetSymbolSize(&bytes, weights);
  size = (int)bytes;
  cudaDeviceSynchronize();
  printf("%g %g, counter %d, shown %d, %d bytes\n", got[3], got[4], count, shown, size);
  return cudaGetLastError();
}
