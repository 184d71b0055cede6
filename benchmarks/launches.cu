// The same launch again and again; each changes memory, so that none is left out.
#include <cstdlib>

__global__ void add_one(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x]++; }

int main(int, char **arguments) {
  int *x;
  cudaMalloc(&x, 4096 * sizeof *x);
  cudaMemset(x, 0, 4096 * sizeof *x);
  for (int n = atoi(arguments[1]); n; n--) add_one<<<16, 256>>>(x);
  return cudaDeviceSynchronize();
}
