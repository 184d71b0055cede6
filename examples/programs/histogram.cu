// A program: how often every byte occurs in a text, counted by a kernel and checked by the host.
#include <cstdio>
#include <cstdlib>
#include <vector>

const int BINS = 256;

// Every thread counts in global memory: the same few counters are wanted by all.
__global__ void count_in_global_memory(const unsigned char *text, int n, unsigned *bins) {
  int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) atomicAdd(&bins[text[i]], 1);
}

// Every block counts in its shared memory first, and adds what it has found at the end.
__global__ void count_in_shared_memory(const unsigned char *text, int n, unsigned *bins) {
  __shared__ unsigned own[BINS];
  own[threadIdx.x] = 0;
  __syncthreads();
  int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) atomicAdd(&own[text[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 22, is_shared = argc > 2 ? atoi(argv[2]) : 0;
  std::vector<unsigned char> text(n);
  std::vector<unsigned> wanted(BINS), bins(BINS);
  unsigned state = 1;
  for (auto &letter : text) {
    state = state * 1664525u + 1013904223u;
    letter = 'a' + (state >> 24) % 26;
    wanted[letter]++;
  }
  unsigned char *d_text;
  unsigned *d_bins;
  cudaEvent_t start, stop;
  float ms;
  cudaMalloc(&d_text, n);
  cudaMalloc(&d_bins, BINS * sizeof(unsigned));
  cudaMemcpy(d_text, text.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(d_bins, 0, BINS * sizeof(unsigned));
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaEventRecord(start);
  if (is_shared)
    count_in_shared_memory<<<432, BINS>>>(d_text, n, d_bins);
  else
    count_in_global_memory<<<432, BINS>>>(d_text, n, d_bins);
  cudaEventRecord(stop);
  cudaMemcpy(bins.data(), d_bins, BINS * sizeof(unsigned), cudaMemcpyDeviceToHost);
  cudaEventElapsedTime(&ms, start, stop);
  printf("%s, counted in %.1f us\n", bins == wanted ? "right" : "wrong", ms * 1e3);
  return bins != wanted;
}
