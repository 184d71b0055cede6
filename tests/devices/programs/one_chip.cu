// Only Hopper has this instruction, which must be asked for as sm_90a.
#include <cstdio>
__global__ void __launch_bounds__(128) count(int *x) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  atomicAdd(x, 2);
}
int main() {
  int *x, h;
  cudaMalloc(&x, sizeof h), cudaMemset(x, 0, sizeof h);
  count<<<1, 128>>>(x);
  cudaMemcpy(&h, x, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d\n", h);
}
