// Rates of scattered reads, writes and reductions in the L2 cache and the DRAM; of the way of one SM; of local memory.
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <cuda_runtime.h>
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("{\"error\":\"%s line %d: %s\"}\n", #x, __LINE__, cudaGetErrorString(e_)); fflush(stdout); exit(1); } } while (0)

__device__ __forceinline__ unsigned scattered(unsigned x) {
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return x ^ x >> 16;
}

enum { READ, WRITE, RED, READ_L1 };

// GROUP lanes share a unit of `unit` bytes that lies anywhere among `units`; each moves WIDTH bytes, side by side.
template <int KIND, int GROUP, int WIDTH>
__global__ void anywhere(char* at, unsigned* sink, unsigned units, unsigned unit, int iterations) {
  unsigned draw = (blockIdx.x * blockDim.x + threadIdx.x) / GROUP, sum = 0;
  unsigned step = gridDim.x * blockDim.x / GROUP;
  unsigned inside = threadIdx.x % GROUP * WIDTH;
#pragma unroll 1
  for (int n = 0; n < iterations; n += 4) {
    unsigned v[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      char* p = at + (size_t)__umulhi(scattered(draw), units) * unit + inside;
      draw += step;
      if (KIND == READ_L1) {
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v[u]) : "l"(p));
      } else if (KIND == READ) {
        if (WIDTH == 4) v[u] = __ldcg((unsigned*)p);
        if (WIDTH == 8) { uint2 q = __ldcg((uint2*)p); v[u] = q.x ^ q.y; }
        if (WIDTH == 16) { uint4 q = __ldcg((uint4*)p); v[u] = q.x ^ q.y ^ q.z ^ q.w; }
      } else if (KIND == WRITE) {
        v[u] = 0;
        if (WIDTH == 1) *(volatile unsigned char*)p = 0;
        if (WIDTH == 4) asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(0) : "memory");
        if (WIDTH == 8) asm volatile("st.global.v2.u32 [%0], {%1,%1};" ::"l"(p), "r"(0) : "memory");
        if (WIDTH == 16) asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(p), "r"(0) : "memory");
      } else {
        v[u] = 0;
        asm volatile("red.global.add.u32 [%0], %1;" ::"l"(p), "r"(0) : "memory");
      }
    }
#pragma unroll
    for (int u = 0; u < 4; ++u) sum ^= v[u];
  }
  if (sum == 0x5eed) *sink = sum;
}

// b[x * n + y]: the lanes of a warp a row apart, the warps of a block side by side.
template <int KIND>
__global__ void columns(int n, unsigned* b, unsigned* sink) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (KIND == WRITE) b[x * n + y] = 0;
  else if (__ldcg(&b[x * n + y]) == 0x5eed) *sink = 1;
}

// Streams that begin `shift` bytes into a line.
template <int KIND, typename T>
__global__ void stream(char* at, unsigned* sink, long long elements, int shift, int passes) {
  T* p = (T*)(at + shift);
  long long threads = (long long)gridDim.x * blockDim.x;
  for (int pass = 0; pass < passes; ++pass)
#pragma unroll 4
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < elements; i += threads) {
      if (KIND == WRITE) { T zero = {}; p[i] = zero; }
      else { T v = __ldcg(p + i); if (*(unsigned*)&v == 0x5eed) *sink = 1; }
    }
}

// Local memory, an array of 24 words: loads, stores, or a load with a store of what it gave (a shift of the array).
template <int MODE, bool DIVERGES>
__global__ void local(unsigned* sink, int iterations, unsigned salt, long long* clocks) {
  unsigned list[24];
  unsigned x = salt + threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < 24; ++k) list[k] = x * k;
  unsigned sum = 0, lane = DIVERGES ? scattered(threadIdx.x) % 24 : salt % 24;
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
    unsigned at = lane;
    lane = lane + 5 < 24 ? lane + 5 : lane + 5 - 24;
    if (MODE == 0) sum ^= list[at];
    if (MODE == 1) list[at] = n;
    if (MODE == 2) { sum += list[at]; list[at] = sum; }
  }
  long long stop = clock64();
  sum ^= list[lane];
  if (sum == 0x5eed) *sink = sum;
  if (blockIdx.x == 0 && threadIdx.x == 0) *clocks = stop - start;
}

static char* memory;
static unsigned* sink;
static long long* clocks;
static cudaEvent_t from, to;

template <typename F>
static double timed(F launch) {
  double t[5];
  for (int i = -1; i < 5; ++i) {
    OK(cudaEventRecord(from));
    launch();
    OK(cudaGetLastError());
    OK(cudaEventRecord(to));
    OK(cudaEventSynchronize(to));
    float ms;
    OK(cudaEventElapsedTime(&ms, from, to));
    if (i >= 0) t[i] = ms * 1e-3;
  }
  std::sort(t, t + 5);
  return t[2];
}

static const char* kinds[] = {"read", "write", "red", "read through L1"};

template <int KIND, int GROUP, int WIDTH>
static void scatter(size_t footprint, int blocks, int threads) {
  unsigned unit = GROUP * WIDTH <= 32 ? 32 : GROUP * WIDTH, units = footprint / unit;
  double total = blocks * (double)threads / GROUP;
  // About 8 million units of the whole chip, or 200 thousand of an SM.
  double wanted = blocks >= 132 ? (footprint > 64e6 ? 4e6 : 12e6) : 2e5 * blocks;
  int iterations = std::max(4, (int)(wanted / total) / 4 * 4);
  double s = timed([&] { anywhere<KIND, GROUP, WIDTH><<<blocks, threads, 0>>>(memory, sink, units, unit, iterations); });
  double count = total * iterations;
  printf("{\"probe\":\"anywhere\",\"kind\":\"%s\",\"lanes\":%d,\"width\":%d,\"unit\":%u,\"footprint\":%zu,\"blocks\":%d,\"threads\":%d,\"units\":%.0f,\"seconds\":%.9f,\"units_per_s\":%.5g,\"bytes_per_s\":%.5g}\n",
         kinds[KIND], GROUP, WIDTH, unit, footprint, blocks, threads, count, s, count / s, count * unit / s);
  fflush(stdout);
}

template <int KIND>
static void all_groups(size_t footprint, int blocks) {
  scatter<KIND, 1, 4>(footprint, blocks, 1024);
  scatter<KIND, 1, 8>(footprint, blocks, 1024);
  scatter<KIND, 1, 16>(footprint, blocks, 1024);
  scatter<KIND, 4, 4>(footprint, blocks, 1024);
  scatter<KIND, 8, 4>(footprint, blocks, 1024);
  scatter<KIND, 2, 16>(footprint, blocks, 1024);
  scatter<KIND, 16, 4>(footprint, blocks, 1024);
  scatter<KIND, 4, 16>(footprint, blocks, 1024);
  scatter<KIND, 32, 4>(footprint, blocks, 1024);
  scatter<KIND, 8, 16>(footprint, blocks, 1024);
  scatter<KIND, 32, 16>(footprint, blocks, 1024);
}

template <int KIND, typename T>
static void streams(size_t bytes, int shift) {
  int passes = bytes > 64e6 ? 1 : 16;
  long long elements = bytes / sizeof(T);
  double s = timed([&] { stream<KIND, T><<<264, 1024>>>(memory, sink, elements, shift, passes); });
  printf("{\"probe\":\"stream\",\"kind\":\"%s\",\"width\":%zu,\"shift\":%d,\"footprint\":%zu,\"seconds\":%.9f,\"bytes_per_s\":%.5g}\n",
         kinds[KIND], sizeof(T), shift, bytes, s, bytes * (double)passes / s);
  fflush(stdout);
}

template <int MODE, bool DIVERGES>
static void locals(int blocks, int threads) {
  int iterations = 1024;
  double s = timed([&] { local<MODE, DIVERGES><<<blocks, threads>>>(sink, iterations, 3, clocks); });
  long long spent;
  OK(cudaMemcpy(&spent, clocks, sizeof spent, cudaMemcpyDeviceToHost));
  double requests = (double)blocks * threads / 32 * iterations;
  static const char* modes[] = {"load", "store", "load and store"};
  printf("{\"probe\":\"local\",\"mode\":\"%s\",\"diverges\":%d,\"blocks\":%d,\"threads\":%d,\"seconds\":%.9f,\"requests_per_s\":%.5g,\"warp_cycles_each\":%.3f}\n",
         modes[MODE], DIVERGES, blocks, threads, s, requests / s, spent / (double)iterations);
  fflush(stdout);
}

int main() {
  OK(cudaMalloc(&memory, (size_t)1 << 31));
  OK(cudaMemset(memory, 0, (size_t)1 << 31));
  OK(cudaMalloc(&sink, 4));
  OK(cudaMalloc(&clocks, 8));
  OK(cudaEventCreate(&from));
  OK(cudaEventCreate(&to));
  cudaDeviceProp device;
  OK(cudaGetDeviceProperties(&device, 0));
  printf("{\"probe\":\"device\",\"name\":\"%s\",\"sms\":%d}\n", device.name, device.multiProcessorCount);
  const size_t MB = 1 << 20;
  for (int i = 0; i < 20; ++i) anywhere<READ, 1, 4><<<264, 1024>>>(memory, sink, 8 * MB / 32, 32, 256);
  OK(cudaDeviceSynchronize());
  size_t sizes[] = {8 * MB, 32 * MB, 1024 * MB};
  for (size_t footprint : sizes) {
    all_groups<READ>(footprint, 264);
    all_groups<WRITE>(footprint, 264);
    scatter<WRITE, 1, 1>(footprint, 264, 1024);
    scatter<RED, 1, 4>(footprint, 264, 1024);
    scatter<RED, 8, 4>(footprint, 264, 1024);
    scatter<RED, 32, 4>(footprint, 264, 1024);
  }
  for (int megabytes : {4, 16, 20, 24, 28, 40, 48, 64, 96}) {
    scatter<READ, 1, 4>(megabytes * MB, 264, 1024);
    scatter<READ_L1, 1, 4>(megabytes * MB, 264, 1024);
    scatter<READ_L1, 8, 4>(megabytes * MB, 264, 1024);
    scatter<WRITE, 1, 4>(megabytes * MB, 264, 1024);
    scatter<WRITE, 2, 16>(megabytes * MB, 264, 1024);
    scatter<RED, 1, 4>(megabytes * MB, 264, 1024);
  }
  int counts[] = {1, 2, 4, 8, 16, 33, 66, 132};
  for (int blocks : counts) {
    scatter<READ, 1, 4>(8 * MB, blocks, 1024);
    scatter<READ, 8, 4>(8 * MB, blocks, 1024);
    scatter<READ, 16, 4>(8 * MB, blocks, 1024);
    scatter<READ, 32, 4>(8 * MB, blocks, 1024);
    scatter<READ, 32, 16>(8 * MB, blocks, 1024);
    scatter<WRITE, 1, 4>(8 * MB, blocks, 1024);
    scatter<WRITE, 8, 4>(8 * MB, blocks, 1024);
    scatter<WRITE, 32, 4>(8 * MB, blocks, 1024);
    scatter<WRITE, 32, 16>(8 * MB, blocks, 1024);
    scatter<RED, 1, 4>(8 * MB, blocks, 1024);
    scatter<RED, 32, 4>(8 * MB, blocks, 1024);
  }
  for (int n : {1024, 2048, 4096}) {
    dim3 block(32, 8), grid(n / 32, n / 8);
    double w = timed([&] { columns<WRITE><<<grid, block>>>(n, (unsigned*)memory, sink); });
    double r = timed([&] { columns<READ><<<grid, block>>>(n, (unsigned*)memory, sink); });
    printf("{\"probe\":\"columns\",\"n\":%d,\"write_s\":%.9f,\"read_s\":%.9f,\"writes_per_s\":%.5g,\"reads_per_s\":%.5g}\n", n, w, r, n * (double)n / w, n * (double)n / r);
  }
  for (size_t bytes : {16 * MB, 1024 * MB})
    for (int shift : {0, 4, 16, 32, 64}) {
      streams<WRITE, unsigned>(bytes, shift);
      streams<READ, unsigned>(bytes, shift);
      if (shift % 16 == 0) streams<WRITE, uint4>(bytes, shift);
      if (shift % 16 == 0) streams<READ, uint4>(bytes, shift);
    }
  for (int blocks : {1, 132, 264}) {
    locals<0, false>(blocks, 1024);
    locals<0, true>(blocks, 1024);
    locals<1, false>(blocks, 1024);
    locals<1, true>(blocks, 1024);
    locals<2, false>(blocks, 1024);
    locals<2, true>(blocks, 1024);
  }
  locals<0, false>(1, 32);
  locals<1, false>(1, 32);
  locals<2, false>(1, 32);
  locals<2, true>(1, 32);
  OK(cudaDeviceSynchronize());
  return 0;
}
