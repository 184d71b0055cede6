// A sum of two arrays of the host, which the kernel reads over the bus.
#include <cstdio>

__global__ void add(float *sum, const float *a, const float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

int main() {
  const int n = 1 << 20;
  float *a, *b, *sum, *seen[3];
  cudaHostAlloc(&a, n * sizeof *a, cudaHostAllocMapped);
  cudaHostAlloc(&b, n * sizeof *b, cudaHostAllocMapped);
  cudaHostAlloc(&sum, n * sizeof *sum, cudaHostAllocMapped);
  for (int i = 0; i < n; i++) a[i] = i, b[i] = 1;
  cudaHostGetDevicePointer(&seen[0], sum, 0);
  cudaHostGetDevicePointer(&seen[1], a, 0);
  cudaHostGetDevicePointer(&seen[2], b, 0);
  add<<<n / 256, 256>>>(seen[0], seen[1], seen[2], n);
  cudaDeviceSynchronize();
  printf("%.0f %.0f\n", sum[0], sum[n - 1]);
}
