// Asks for many copies that nobody answers, and is gone.
#include <unistd.h>

int main() {
  int *x, host = 1;
  cudaMalloc(&x, 4);
  for (int i = 0; i < 3000; i++) cudaMemcpyAsync(x, &host, 4, cudaMemcpyHostToDevice);
  _exit(0);
}
