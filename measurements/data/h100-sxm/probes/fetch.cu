// Cycles per instruction of loops of straight-line code against their size: instruction caches.
#include <cstdio>
#include <cstdlib>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("{\"error\": \"%s\", \"line\": %d}\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
#define A1 asm volatile("fma.rn.f32 %0, %0, %4, %4;\n\tfma.rn.f32 %1, %1, %4, %4;\n\tfma.rn.f32 %2, %2, %4, %4;\n\tfma.rn.f32 %3, %3, %4, %4;" : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "f"(k));
#define A4 A1 A1 A1 A1
#define A16 A4 A4 A4 A4
#define A64 A16 A16 A16 A16
#define A256 A64 A64 A64 A64
#define A1024 A256 A256 A256 A256
// N groups of four instructions of 16 bytes.
template <int N> __global__ void line(long long* clocks, float* sink, float k, int iterations) {
  float a = k, b = k + 1, c = k + 2, d = k + 3;
  long long t0 = 0;
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
    if (n == 1) { __syncthreads(); t0 = clock64(); }
    if (N & 16) { A16 } if (N & 32) { A16 A16 } if (N & 64) { A64 } if (N & 128) { A64 A64 } if (N & 256) { A256 } if (N & 512) { A256 A256 }
    if (N & 1024) { A1024 } if (N & 2048) { A1024 A1024 } if (N & 4096) { A1024 A1024 A1024 A1024 }
    if (N & 8192) { A1024 A1024 A1024 A1024 A1024 A1024 A1024 A1024 }
  }
  __syncthreads();
  long long t1 = clock64();
  if (threadIdx.x == 0) clocks[blockIdx.x] = t1 - t0;
  if (a + b + c + d == 12345.678f) *sink = a;
}
template <int N> void run(long long* clocks, float* sink) {
  static long long host[132];
  for (int blocks : {1, 2, 132}) for (int warps : {1, 2, 4, 8, 16}) {
    int iterations = N >= 4096 ? 6 : 18;
    long long best = 1LL << 60;
    for (int r = 0; r < 3; ++r) {
      line<N><<<blocks, 32 * warps>>>(clocks, sink, 1.0f, iterations);
      CHECK(cudaGetLastError()); CHECK(cudaDeviceSynchronize());
      CHECK(cudaMemcpy(host, clocks, blocks * 8, cudaMemcpyDeviceToHost));
      long long sum = 0; for (int i = 0; i < blocks; ++i) sum += host[i];
      if (sum / blocks < best) best = sum / blocks;
    }
    printf("{\"bytes\": %d, \"blocks\": %d, \"warps\": %d, \"cycles_per_instruction\": %.4f}\n", N * 64, blocks, warps, double(best) / (iterations - 1) / (4.0 * N));
  }
  fflush(stdout);
}
int main() {
  long long* clocks; float* sink;
  CHECK(cudaMalloc(&clocks, 132 * 8)); CHECK(cudaMalloc(&sink, 4));
  run<16>(clocks, sink); run<32>(clocks, sink); run<64>(clocks, sink); run<128>(clocks, sink); run<256>(clocks, sink); run<384>(clocks, sink); run<448>(clocks, sink); run<512>(clocks, sink);
  run<640>(clocks, sink); run<768>(clocks, sink); run<1024>(clocks, sink); run<1280>(clocks, sink); run<1536>(clocks, sink); run<1792>(clocks, sink); run<2048>(clocks, sink); run<2304>(clocks, sink); run<3072>(clocks, sink);
  run<4096>(clocks, sink); run<6144>(clocks, sink); run<8192>(clocks, sink); run<12288>(clocks, sink);
}
