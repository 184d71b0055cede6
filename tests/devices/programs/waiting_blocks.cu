// A barrier of the grid made of an atomic and a flag, as programs had it before cooperative launches.
#include <cstdio>

__device__ unsigned arrived;
__device__ volatile unsigned round_of_all;

__global__ void reverse(int *values, int rounds) {
  int count = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < rounds; round++) {
    int mirrored = values[count - 1 - i];
    for (int wait = 0; wait < 2; wait++) {
      __syncthreads();
      if (threadIdx.x == 0) {
        unsigned now = round_of_all;
        __threadfence();
        if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
          arrived = 0;
          __threadfence();
          round_of_all = now + 1;
        } else {
          while (round_of_all == now) {}
        }
      }
      __syncthreads();
      if (wait == 0) values[i] = mirrored + 1;
    }
  }
}

int main() {
  const int blocks = 64, threads = 128, count = blocks * threads, rounds = 4;
  int *values;
  cudaMallocManaged(&values, count * sizeof(int));
  for (int i = 0; i < count; i++) values[i] = i;
  reverse<<<blocks, threads>>>(values, rounds);
  cudaError_t error = cudaDeviceSynchronize();
  int wrong = 0;
  for (int i = 0; i < count; i++) wrong += values[i] != i + rounds;
  printf("%s %d wrong\n", cudaGetErrorName(error), wrong);
  return 0;
}
