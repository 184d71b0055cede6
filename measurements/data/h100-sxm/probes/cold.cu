// Straight-line code that is executed once: what it costs to fetch it, with L2 flushed before and without.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("{\"error\":\"%s line %d: %s\"}\n", #x, __LINE__, cudaGetErrorString(e_)); fflush(stdout); exit(1); } } while (0)

#define FOUR asm volatile("fma.rn.f32 %0, %0, %4, %4;\n\tfma.rn.f32 %1, %1, %4, %4;\n\tfma.rn.f32 %2, %2, %4, %4;\n\tfma.rn.f32 %3, %3, %4, %4;" : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "f"(salt));
#define K16 FOUR FOUR FOUR FOUR
#define K64 K16 K16 K16 K16
#define K256 K64 K64 K64 K64

template <int N>
__global__ void straight(float salt, unsigned* sink, long long* clocks) {
  float a = threadIdx.x, b = a * 3, c = a * 5, d = a * 7;
  __syncthreads();
  long long start = clock64();
#pragma unroll
  for (int i = 0; i < N / 256; ++i) { K256 }
  long long stop = clock64();
  if (a + b + c + d == 1.25f) *sink = a;
  if (threadIdx.x == 0) clocks[blockIdx.x] = stop - start;
}

__global__ void flush(unsigned* at, size_t words, unsigned* sink) {
  unsigned sum = 0;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words; i += (size_t)gridDim.x * blockDim.x) sum ^= at[i];
  if (sum == 0x5eed1234) *sink = sum;
}

static unsigned* room;
static unsigned* sink;
static long long* clocks;

template <int N>
static void measure() {
  for (int blocks : {1, 8, 132})
    for (int threads : {32, 64, 128, 512})
      for (int cold : {1, 0, 1, 0}) {
        if (cold) flush<<<264, 1024>>>(room, 64u << 20, sink);
        straight<N><<<blocks, threads>>>(1, sink, clocks);
        OK(cudaGetLastError());
        OK(cudaDeviceSynchronize());
        static long long told[132];
        OK(cudaMemcpy(told, clocks, blocks * 8, cudaMemcpyDeviceToHost));
        double sum = 0, most = 0;
        for (int i = 0; i < blocks; ++i) { sum += told[i]; if (told[i] > most) most = told[i]; }
        printf("{\"probe\":\"straight\",\"instructions\":%d,\"blocks\":%d,\"threads\":%d,\"cold\":%d,\"cycles\":%.1f,\"most\":%.0f,\"cycles_per_instruction\":%.4f}\n", N, blocks, threads, cold, sum / blocks, most, sum / blocks / N);
        fflush(stdout);
      }
}

int main() {
  OK(cudaMalloc(&room, 256u << 20));
  OK(cudaMemset(room, 0, 256u << 20));
  OK(cudaMalloc(&sink, 4));
  OK(cudaMalloc(&clocks, 132 * 8));
  measure<256>();
  measure<1024>();
  measure<2048>();
  measure<4096>();
  measure<8192>();
  measure<16384>();
  measure<32768>();
  return 0;
}
