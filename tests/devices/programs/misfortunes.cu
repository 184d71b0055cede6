// What may go wrong beyond memory: 0 the program crashes, 1 a kernel of which an instruction cannot
// be executed, 2 the program goes on asking for ever.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

__global__ void add(int *x) { x[threadIdx.x] += 1; }

__global__ void format(cudaSurfaceObject_t s) {
  asm("sust.p.1d.b32.trap [%0, {%1}], %2;" ::"l"(s), "r"(0), "r"(1));
}

int main(int, char **arguments) {
  int *x, held[32];
  cudaMalloc(&x, sizeof held);
  cudaMemset(x, 0, sizeof held);
  add<<<1, 32>>>(x);
  if (atoi(arguments[1]) == 0) {
    printf("before\n"), fflush(stdout);
    *(volatile int *)8 = 1;
  }
  if (atoi(arguments[1]) == 1) {
    format<<<1, 1>>>(0);
    printf("%s, ", cudaGetErrorName(cudaGetLastError()));
    add<<<1, 32>>>(x);
    cudaMemcpy(held, x, sizeof held, cudaMemcpyDeviceToHost);
    printf("%d, %s\n", held[31], cudaGetErrorName(cudaGetLastError()));
  }
  if (atoi(arguments[1]) == 2) {
    printf("%d\n", getpid()), fflush(stdout);
    for (;;) cudaMemset(x, 0, 4), usleep(1000);
  }
}
