// Threads that each walk through a row of their own: what a store or a load of a warp costs when its lanes lie `pitch`
// bytes apart and go on by `step` bytes each time, on one SM, on some, on all.
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <cuda_runtime.h>
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("{\"error\":\"%s line %d: %s\"}\n", #x, __LINE__, cudaGetErrorString(e_)); fflush(stdout); exit(1); } } while (0)

enum { STORE, LOAD, LOAD_L2, CHANGE, WAITED, STORE8 };
static const char* kinds[] = {"store", "load", "load cg", "load and store", "store, load of it", "store 8 bytes"};

template <int KIND>
__global__ void walk(char* at, unsigned* sink, size_t pitch, unsigned step, unsigned mask, int iterations, long long* clocks) {
  char* row = at + (size_t)(blockIdx.x * blockDim.x + threadIdx.x) * pitch;
  unsigned sum = 0;
  __syncthreads();
  long long start = clock64();
  unsigned offset = 0;
#pragma unroll 1
  for (int n = 0; n < iterations; n += 4) {
    unsigned v[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      char* p = row + offset;
      offset = (offset + step) & mask;
      v[u] = 0;
      if (KIND == STORE) asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(n) : "memory");
      if (KIND == STORE8) asm volatile("st.global.v2.u32 [%0], {%1,%1};" ::"l"(p), "r"(n) : "memory");
      if (KIND == LOAD) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v[u]) : "l"(p) : "memory");
      if (KIND == LOAD_L2) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v[u]) : "l"(p) : "memory");
      if (KIND == CHANGE) {
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v[u]) : "l"(p) : "memory");
        asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v[u] + 1) : "memory");
      }
      if (KIND == WAITED) {
        asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(n) : "memory");
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v[u]) : "l"(p) : "memory");
        sum += v[u];
      }
    }
#pragma unroll
    for (int u = 0; u < 4; ++u) sum ^= v[u];
  }
  long long stop = clock64();
  if (sum == 0x5eed1234) *sink = sum;
  if (threadIdx.x == 0) clocks[blockIdx.x] = stop - start;
}

static char* memory;
static unsigned* sink;
static long long* clocks;
static cudaEvent_t from, to;
static int repeats = 3;

template <int KIND>
static void measure(size_t pitch, unsigned step, unsigned mask, int blocks, int threads, int iterations) {
  double t[3] = {};
  for (int i = -1; i < repeats; ++i) {
    OK(cudaEventRecord(from));
    walk<KIND><<<blocks, threads>>>(memory, sink, pitch, step, mask, iterations, clocks);
    OK(cudaGetLastError());
    OK(cudaEventRecord(to));
    OK(cudaEventSynchronize(to));
    float ms;
    OK(cudaEventElapsedTime(&ms, from, to));
    if (i >= 0) t[i] = ms * 1e-3;
  }
  std::sort(t, t + 3);
  static long long told[4096];
  OK(cudaMemcpy(told, clocks, blocks * sizeof(long long), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (int i = 0; i < blocks; ++i) sum += told[i];
  printf("{\"probe\":\"walk\",\"kind\":\"%s\",\"pitch\":%zu,\"step\":%u,\"span\":%u,\"blocks\":%d,\"threads\":%d,\"iterations\":%d,\"seconds\":%.8g,\"cycles_per_warp_request\":%.4f}\n",
         kinds[KIND], pitch, step, mask + 1, blocks, threads, iterations, t[1], sum / blocks / iterations / (threads / 32));
  fflush(stdout);
}

int main(int argc, char** argv) {
  size_t most = argc > 1 ? atoll(argv[1]) : (size_t)6 << 30;
  bool quick = argc > 2;
  if (quick) repeats = 0;
  OK(cudaMalloc(&memory, most));
  OK(cudaMemset(memory, 0, most));
  OK(cudaMalloc(&sink, 4));
  OK(cudaMalloc(&clocks, 4096 * sizeof(long long)));
  OK(cudaEventCreate(&from));
  OK(cudaEventCreate(&to));
  size_t pitches[] = {4, 8, 16, 32, 64, 96, 128, 160, 256, 272, 276, 288, 400, 512, 544, 800, 1024, 1056, 2048, 2080, 4096, 4128, 8192, 8224, 32768, 65536, 65568};
  int shapes[][2] = {{1, 32}, {1, 256}, {1, 1024}, {16, 256}, {132, 256}, {132, 1024}, {528, 256}};
  for (auto& shape : shapes)
    for (size_t pitch : pitches) {
      if (quick && ((pitch != 276 && pitch != 32 && pitch != 2048) || shape[0] != 132 || shape[1] > 256)) continue;
      if ((size_t)shape[0] * shape[1] * pitch + 4096 > most) continue;
      unsigned span = 4;
      while (span * 2 <= pitch && span < 4096) span *= 2;
      for (unsigned step : {4u, 32u}) {
        if (step >= span && step > 4) continue;
        int iterations = quick ? 16 : shape[0] >= 132 ? 64 : 256;
        measure<STORE>(pitch, step, span - 1, shape[0], shape[1], iterations);
        measure<LOAD>(pitch, step, span - 1, shape[0], shape[1], iterations);
        measure<CHANGE>(pitch, step, span - 1, shape[0], shape[1], iterations);
        if (step == 4) measure<WAITED>(pitch, step, span - 1, shape[0], shape[1], iterations);
        if (pitch % 8 == 0 && span >= 8) measure<STORE8>(pitch, 2 * step, span - 1, shape[0], shape[1], iterations);
        if (step == 32) measure<LOAD_L2>(pitch, step, span - 1, shape[0], shape[1], iterations);
      }
    }
  return 0;
}
