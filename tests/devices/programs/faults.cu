// What goes wrong, and what a program is told; a number says what is to go wrong.
#include <cstdio>
#include <cstdlib>

__global__ void past_the_end(int *x) { x[threadIdx.x + 1000] = 1; }  // line 5
__global__ void misaligned(char *x) { *(int *)(x + 1) = 1; }
__global__ void trapped() { asm("trap;"); }
__global__ void fine(int *x) { x[threadIdx.x] = 1; }

int main(int argc, char **argv) {
  int *x, kind = atoi(argv[1]);
  cudaError_t status = cudaMalloc(&x, 32 * sizeof(int));
  if (kind == 0) past_the_end<<<1, 32>>>(x);
  if (kind == 1) misaligned<<<1, 32>>>((char *)x);
  if (kind == 2) trapped<<<1, 32>>>();
  if (kind == 3) fine<<<1, 2048>>>(x);
  if (kind == 4) fine<<<1, 32, 1 << 20>>>(x);
  if (kind == 5) status = cudaMalloc(&x, 1ull << 45);
  if (kind == 6) status = cudaMemset(x, 0, 1000);
  if (kind == 7) status = cudaFree(x + 1);
  if (kind == 8) status = cudaSetDevice(3);
  printf("%s, ", cudaGetErrorName(status ? status : cudaGetLastError()));
  status = cudaDeviceSynchronize();
  printf("then %s, ", cudaGetErrorName(status));
  fine<<<1, 32>>>(x);
  printf("then %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
