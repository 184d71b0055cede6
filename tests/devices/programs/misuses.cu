// A program whose kernels go wrong each in a way of its own, and one that does not; it prints 0.
#include <cstdio>

__global__ void unwritten(float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }  // line 4

__global__ void fine(const float *x, float *y) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void between_blocks(float *y) {
  y[threadIdx.x] += blockIdx.x;  // line 14
}

int main() {
  float *x, *y, host[64] = {};
  cudaMalloc(&x, sizeof host);
  cudaMalloc(&y, sizeof host);
  unwritten<<<1, 64>>>(x, y);
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  fine<<<1, 64>>>(x, y);
  cudaMemset(y, 0, sizeof host);
  between_blocks<<<2, 64>>>(y);
  printf("%d\n", cudaDeviceSynchronize());
  return 0;
}
