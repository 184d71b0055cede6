// Blocks that wait for each other: every thread takes what one of the next block held.
#include <cstdio>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *x, int n) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  for (int r = 0; r < 3; r++) {
    int v = x[(i + blockDim.x) % n];
    grid.sync();
    x[i] = v + 1;
    grid.sync();
  }
}
int main() {
  int n = 8 * 64, *x, h[512];
  cudaMalloc(&x, 4 * n);
  for (int i = 0; i < n; i++) h[i] = i;
  cudaMemcpy(x, h, 4 * n, cudaMemcpyDefault);
  void *args[] = {&x, &n};
  cudaError_t e = cudaLaunchCooperativeKernel((void *)k, 8, 64, args, 0, 0);
  printf("%s ", cudaGetErrorName(e));
  printf("%s ", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaMemcpy(h, x, 4 * n, cudaMemcpyDefault);
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += h[i] != (i + 192) % n + 3;
  printf("%d wrong\n", wrong);
}
