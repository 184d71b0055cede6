// Loads of constant memory that come side by side: cycles against footprint, warps, width and step; of one SM, and of all.
// And loads through L1 whose lanes lie in rows. One JSON object a line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  printf("{\"error\": \"%s\", \"line\": %d}\n", cudaGetErrorString(e_), __LINE__); fflush(stdout); exit(1); } } while (0)
typedef long long i64;

__constant__ __align__(16) unsigned table[16384];

__device__ __forceinline__ unsigned folded(unsigned v) { return v; }
__device__ __forceinline__ unsigned folded(uint2 v) { return v.x ^ v.y; }
__device__ __forceinline__ unsigned folded(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

// Every warp goes through `count` elements, `step` apart, `turns` times; LANE: by an index in a register of each lane.
template <typename T, bool LANE>
__global__ void scan(const int* zero, int count, int step, int turns, int skew, i64* cycles, unsigned* sink) {
  const T* at = reinterpret_cast<const T*>(table);
  int base = LANE ? zero[threadIdx.x & 31] : 0;
  int warp = threadIdx.x / 32;
  unsigned sum = 0;
  i64 start = 0;
  for (int turn = -1; turn < turns; ++turn) {
    if (turn == 0) { __syncthreads(); start = clock64(); }
    int first = skew ? (warp * skew) % count : 0;
    if (LANE) {
#pragma unroll 1
      for (int n = 0; n < count; n += 8) {
        int i = first + n; i -= i >= count ? count : 0;
        unsigned v[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) v[u] = folded(at[base + (i + u) * step]);
#pragma unroll
        for (int u = 0; u < 8; ++u) sum ^= v[u];
      }
    } else {
#pragma unroll 1
      for (int n = 0; n < count; n += 8) {
        unsigned v[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) v[u] = folded(at[(n + u) * step]);
#pragma unroll
        for (int u = 0; u < 8; ++u) sum ^= v[u] + threadIdx.x;
      }
    }
  }
  i64 took = clock64() - start;
  if (threadIdx.x % 32 == 0) cycles[blockIdx.x * (blockDim.x / 32) + warp] = took;
  if (sum == 0x5eed) *sink = sum;
}

static int* zero;
static i64* cycles;
static unsigned* sink;
static int SMS;

static double mean_of(int blocks, int warps) {
  CHECK(cudaGetLastError()); CHECK(cudaDeviceSynchronize());
  std::vector<i64> h(blocks * warps);
  CHECK(cudaMemcpy(h.data(), cycles, sizeof(i64) * h.size(), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (i64 c : h) sum += c;
  return sum / h.size();
}

template <typename T, bool LANE> static void scans(const char* type) {
  int bytes[] = {256, 512, 1024, 1536, 2048, 2304, 3072, 4096, 6144, 8192, 16384, 24576, 32768, 40960, 49152, 65536};
  int widths = sizeof(T);
  for (int footprint : bytes)
    for (int apart : {(int)sizeof(T), 64})
      for (int warps : {1, 2, 4, 8, 16, 32})
        for (int blocks : {1, SMS})
          for (int skew : {0, 1}) {
            if (skew && (!LANE || warps == 1 || apart != widths)) continue;
            if (apart == 64 && blocks != 1 && warps != 8) continue;
            if (blocks != 1 && (warps == 2 || warps == 16)) continue;
            int step = apart / widths, count = footprint / apart / 8 * 8;
            if (count < 8) continue;
            int turns = std::max(1, 8192 / count);
            // A warp starts `skew` elements behind the one before it: an eighth of the footprint, rounded to 8.
            int behind = skew ? std::max(8, count / 8 / 8 * 8) : 0;
            scan<T, LANE><<<blocks, warps * 32>>>(zero, count, step, turns, behind, cycles, sink);
            double c = mean_of(blocks, warps);
            printf("{\"probe\": \"constants\", \"type\": \"%s\", \"lane_index\": %d, \"bytes\": %d, \"apart\": %d, \"warps\": %d, \"blocks\": %d, "
                   "\"behind\": %d, \"loads\": %d, \"cycles_per_load\": %.4f}\n",
                   type, (int)LANE, footprint, apart, warps, blocks, behind, count * turns, c / (count * turns));
          }
}

// Lanes of a warp want `ways` different words of a footprint: loads of constants that differ by lane.
__global__ void lanes_differ(const int* zero, int ways, int count, int turns, i64* cycles, unsigned* sink) {
  int base = zero[threadIdx.x & 31] + (threadIdx.x % 32) % ways * 16;
  unsigned sum = 0;
  i64 start = 0;
  for (int turn = -1; turn < turns; ++turn) {
    if (turn == 0) { __syncthreads(); start = clock64(); }
#pragma unroll 1
    for (int n = 0; n < count; n += 8) {
      unsigned v[8];
#pragma unroll
      for (int u = 0; u < 8; ++u) v[u] = table[(base + n + u) & 16383];
#pragma unroll
      for (int u = 0; u < 8; ++u) sum ^= v[u];
    }
  }
  if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = clock64() - start;
  if (sum == 0x5eed) *sink = sum;
}

// Loads that hit the L1 cache: lanes in groups of `group`, side by side in a row, rows `pitch` words apart; every row begins `shift` words in.
template <typename T> __global__ void rows(const T* at, int group, int pitch, int shift, int turns, i64* cycles, unsigned* sink) {
  int lane = threadIdx.x % 32;
  const T* p = at + lane / group * pitch + lane % group + shift;
  unsigned sum = 0;
  i64 start = 0;
  for (int turn = -1; turn < turns; ++turn) {
    if (turn == 0) { __syncthreads(); start = clock64(); }
    T v[8];
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      const T* q = p + u * 32;
      if constexpr (sizeof(T) == 4) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(*(unsigned*)&v[u]) : "l"(q));
      if constexpr (sizeof(T) == 8) asm volatile("ld.global.ca.v2.u32 {%0,%1}, [%2];" : "=r"(((unsigned*)&v[u])[0]), "=r"(((unsigned*)&v[u])[1]) : "l"(q));
      if constexpr (sizeof(T) == 16) asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(((unsigned*)&v[u])[0]), "=r"(((unsigned*)&v[u])[1]), "=r"(((unsigned*)&v[u])[2]), "=r"(((unsigned*)&v[u])[3]) : "l"(q));
    }
#pragma unroll
    for (int u = 0; u < 8; ++u) sum ^= folded(v[u]);
  }
  if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = clock64() - start;
  if (sum == 0x5eed) *sink = sum;
}

template <typename T> static void all_rows(const T* at) {
  int per_line = 128 / sizeof(T);
  for (int group : {1, 2, 4, 8, 16, 32})
    for (int lines : {1, 2, 3, 5, 8, 32, 33})
      for (int extra : {0, 1, 4, 8, 16})
        for (int shift : {0, 1, 4, 8, 16}) {
          if (group == 32 && (lines > 1 || extra)) continue;
          int pitch = lines * per_line + extra * 4 / (int)sizeof(T);
          if (extra * 4 % (int)sizeof(T)) continue;
          if ((i64)(31 / group) * pitch * (i64)sizeof(T) > 150000) continue;
          int turns = 64, warps = 32;
          rows<T><<<1, warps * 32>>>(at, group, pitch, shift, turns, cycles, sink);
          double c = mean_of(1, warps);
          printf("{\"probe\": \"rows\", \"width\": %d, \"group\": %d, \"pitch\": %d, \"shift\": %d, \"warps\": %d, \"cycles_per_load\": %.4f}\n",
                 (int)sizeof(T), group, pitch, shift, warps, c / (turns * 8 * warps));
        }
}

int main() {
  cudaDeviceProp d;
  CHECK(cudaGetDeviceProperties(&d, 0));
  SMS = d.multiProcessorCount;
  CHECK(cudaMalloc(&zero, 4096)); CHECK(cudaMemset(zero, 0, 4096));
  CHECK(cudaMalloc(&cycles, sizeof(i64) * 64 * 256)); CHECK(cudaMalloc(&sink, 4));
  scan<unsigned, true><<<SMS, 1024>>>(zero, 4096, 1, 2000, 0, cycles, sink);
  CHECK(cudaDeviceSynchronize());
  scans<unsigned, true>("u32"); scans<uint2, true>("u64"); scans<uint4, true>("u128");
  scans<unsigned, false>("u32"); scans<uint4, false>("u128");
  for (int ways : {1, 2, 4, 8, 16, 32})
    for (int warps : {1, 4, 16, 32})
      for (int count : {16, 64, 256, 2048}) {
        int turns = std::max(1, 2048 / count);
        lanes_differ<<<1, warps * 32>>>(zero, ways, count, turns, cycles, sink);
        double c = mean_of(1, warps);
        printf("{\"probe\": \"lanes_differ\", \"ways\": %d, \"warps\": %d, \"count\": %d, \"cycles_per_load\": %.4f}\n", ways, warps, count, c / (count * turns));
      }
  char* global;
  CHECK(cudaMalloc(&global, 1 << 20)); CHECK(cudaMemset(global, 0, 1 << 20));
  all_rows((const unsigned*)global); all_rows((const uint2*)global); all_rows((const uint4*)global);
  return 0;
}
