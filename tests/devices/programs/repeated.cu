// A launch repeated 50 times, by another way each: the host stays right whatever is left out.
#include <cstdio>
#include <cstdlib>

__global__ void doubled(const int *x, int *y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
__global__ void counts(int *y) { y[threadIdx.x]++; }

int main(int argc, char **argv) {
  int *x, *y, host[64] = {}, kind = atoi(argv[1]);
  if (kind == 2) cudaMallocManaged(&x, sizeof host);
  else cudaMalloc(&x, sizeof host);
  cudaMalloc(&y, sizeof host);
  cudaMemset(x, 0, sizeof host);
  cudaMemset(y, 0, sizeof host);
  int wrong = 0;
  for (int i = 0; i < 50; i++) {
    if (kind == 1) counts<<<1, 64>>>(y);
    else doubled<<<1, 64>>>(x, y);
    if (i % 10 != 9) continue;
    cudaMemcpy(host, y, sizeof host, cudaMemcpyDefault);
    wrong += host[7] != (kind == 1 ? i + 1 : 2 * (i / 10));
    host[7] = i / 10 + 1;  // what x holds for the next ten
    if (kind == 2) x[7] = host[7];
    else cudaMemcpy(x, host, sizeof host, cudaMemcpyDefault);
  }
  printf("%d wrong\n", wrong);
  return 0;
}
