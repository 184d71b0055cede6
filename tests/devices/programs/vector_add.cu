// Adds vectors in memory of the device, or managed memory; says what differs.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void add(const float *x, const float *y, float *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100000, repeats = argc > 2 ? atoi(argv[2]) : 1;
  std::vector<float> x(n), y(n), z(n);
  for (int i = 0; i < n; i++) x[i] = i, y[i] = 2 * i;
  float *dx, *dy, *dz;
  cudaMalloc(&dx, n * sizeof(float));
  cudaMalloc(&dy, n * sizeof(float));
  cudaMallocManaged(&dz, n * sizeof(float));
  cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int i = 0; i < repeats; i++) add<<<(n + 255) / 256, 256>>>(dx, dy, dz, n);
  cudaError_t error = cudaDeviceSynchronize();
  cudaMemcpy(z.data(), dz, n * sizeof(float), cudaMemcpyDefault);
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += z[i] != 3.0f * i || dz[i] != 3.0f * i;
  printf("%s, %d wrong\n", cudaGetErrorName(error), wrong);
  cudaFree(dx), cudaFree(dy), cudaFree(dz);
  return wrong != 0;
}
