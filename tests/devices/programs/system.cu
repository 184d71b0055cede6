// What kernels ask of the system: text, memory, and an end where an assertion fails.
#include <cassert>
#include <cstdio>

__global__ void prints(int n) {
  if (threadIdx.x < 2)
    printf("%d of %d: %5.2f|%-6s|%c|%x|%lld|%%|%03u|%*d\n", threadIdx.x, n, 1.5f * n, "text", 'x',
           255, -(1ll << 40), 7u, 4, 12);
}

__constant__ char words[2][8] = {"even", "odd"};
__constant__ char format[] = "%s, %s\n";

__global__ void prints_constants() { printf(format, words[threadIdx.x & 1], words[0]); }

__global__ void allocates(int *out) {
  int *one = (int *)malloc(16);
  one[0] = threadIdx.x;
  int *more = new int[100];
  for (int i = 0; i < 100; i++) more[i] = i;
  out[threadIdx.x] = one[0] + more[99];
  delete[] more;
  free(one);
}

__global__ void asserts(int n) { assert(n < 3 || threadIdx.x < 5); }

int main() {
  printf("before\n");
  prints<<<1, 32>>>(2);
  prints_constants<<<1, 2>>>();
  int *out, host[64];
  cudaMalloc(&out, sizeof host);
  for (int i = 0; i < 50; i++) allocates<<<1, 64>>>(out);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDefault);
  printf("%d %d %s\n", host[5], host[63], cudaGetErrorName(cudaGetLastError()));
  asserts<<<1, 32>>>(4);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
