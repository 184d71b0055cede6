// Where L2 hits are served from, how much is in flight, pages, loops, bandwidth of L2: one JSON object a line.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  printf("{\"error\": \"%s\", \"line\": %d}\n", cudaGetErrorString(e_), __LINE__); fflush(stdout); exit(1); } } while (0)
typedef unsigned long long u64;
typedef long long i64;
static const size_t PITCH = 33 * 128;
static int SMS, L2;
static char* flush_at; static size_t flush_bytes;

__global__ void write_all(uint4* p, size_t n, unsigned v) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) p[i] = make_uint4(v, v, v, v);
}
__global__ void read_all(const uint4* p, size_t n, unsigned* sink) {
  unsigned s = 0;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) { uint4 v = __ldcg(p + i); s ^= v.x ^ v.y ^ v.z ^ v.w; }
  if (s == 0x5eed) *sink = s;
}
static unsigned* sink;
static void flush() {
  write_all<<<SMS * 4, 256>>>((uint4*)flush_at, flush_bytes / 16, 0);
  read_all<<<SMS * 4, 256>>>((const uint4*)flush_at, flush_bytes / 16, sink);
  CHECK(cudaDeviceSynchronize());
}
__device__ __forceinline__ unsigned smid() { unsigned s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); return s; }

// ---- A: first touch of lines from one SM; mode 0 load .cg, 1 atomic
__global__ void touch(int sm, const char* at, int lines, size_t pitch, int passes, int mode, int* cycles, unsigned* seen, int warm_page) {
  if (smid() != sm || threadIdx.x != 0 || atomicExch(seen, 1u) != 0) return;
  unsigned v = 0;
  if (warm_page) for (size_t o = 0; o < lines * pitch; o += 1 << 20) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(at + o + 16 * 128));
  if (v == 77) return;
  for (int p = 0; p < passes; ++p)
    for (int i = 0; i < lines; ++i) {
      const char* a = at + i * pitch + v;
      i64 t0 = clock64();
      if (mode == 0) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(a) : "memory");
      else asm volatile("atom.global.add.u32 %0, [%1], 0;" : "=r"(v) : "l"(a) : "memory");
      if (v == 77) return;
      i64 t1 = clock64();
      cycles[p * lines + i] = (int)(t1 - t0);
    }
}
static unsigned* seen;
static bool touched(int sm, const char* at, int lines, size_t pitch, int passes, int mode, int* d, std::vector<int>& h, int warm_page = 0) {
  CHECK(cudaMemset(seen, 0, 4));
  touch<<<4 * SMS, 32, 200 << 10>>>(sm, at, lines, pitch, passes, mode, d, seen, warm_page);
  CHECK(cudaGetLastError()); CHECK(cudaDeviceSynchronize());
  unsigned s; CHECK(cudaMemcpy(&s, seen, 4, cudaMemcpyDeviceToHost));
  h.resize(passes * lines); CHECK(cudaMemcpy(h.data(), d, 4 * passes * lines, cudaMemcpyDeviceToHost));
  return s;
}
static void print_list(const char* name, const int* v, int n) {
  printf("\"%s\": [", name); for (int i = 0; i < n; ++i) printf("%s%d", i ? "," : "", v[i]); printf("]");
}
static void part_a() {
  const int lines = 256; char* at; int* d; std::vector<int> h;
  CHECK(cudaMalloc(&at, 4 << 20)); CHECK(cudaMemset(at, 0, 4 << 20)); CHECK(cudaMalloc(&d, 4 * lines * 4));
  CHECK(cudaFuncSetAttribute(touch, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  std::vector<int> other(SMS, 0);
  int far_sm = -1, most = -1;
  for (int w = 0; w < SMS; ++w) {            // warmed by w, first touched by 0
    flush(); std::vector<int> x;
    if (!touched(w, at, lines, PITCH, 2, 0, d, x)) continue;
    if (!touched(0, at, lines, PITCH, 2, 0, d, h, 1)) continue;
    std::vector<int> a(h.begin(), h.begin() + lines), b(h.begin() + lines, h.end()), sa = a, sb = b;
    std::sort(sa.begin(), sa.end()); std::sort(sb.begin(), sb.end());
    int later = 0; for (int i = 0; i < lines; ++i) later += a[i] > b[i] + 50;
    printf("{\"part\": \"first_touch\", \"warmed_by\": %d, \"read_by\": 0, \"later\": %d, \"p10\": %d, \"p50\": %d, \"p75\": %d, \"p90\": %d, \"again_p50\": %d}\n", w, later, sa[lines / 10], sa[lines / 2], sa[lines * 3 / 4], sa[lines * 9 / 10], sb[lines / 2]);
    if (w && later > most) { most = later; far_sm = w; }
  }
  int pairs[6][2] = {{0, 0}, {far_sm, 0}, {0, far_sm}, {1, 0}, {far_sm, 2}, {3, far_sm}};
  for (auto& p : pairs) {
    if (p[0] < 0 || p[1] < 0) continue;
    flush(); std::vector<int> x;
    touched(p[0], at, lines, PITCH, 2, 0, d, x);
    touched(p[1], at, lines, PITCH, 2, 0, d, h, 1);
    printf("{\"part\": \"first_touch_lines\", \"warmed_by\": %d, \"read_by\": %d, ", p[0], p[1]); print_list("first", h.data(), lines); printf(", "); print_list("again", h.data() + lines, lines); printf("}\n");
  }
  for (int r : {0, far_sm}) for (int repeat = 0; repeat < 3; ++repeat) {
    if (r < 0) continue;
    flush(); touched(r, at, lines, PITCH, 2, 0, d, h, 1);
    printf("{\"part\": \"cold_lines\", \"read_by\": %d, ", r); print_list("first", h.data(), lines); printf(", "); print_list("again", h.data() + lines, lines); printf("}\n");
    touched(r, at, lines, PITCH, 3, 1, d, h, 1);
    printf("{\"part\": \"atomic_lines\", \"read_by\": %d, ", r); print_list("cycles", h.data() + 2 * lines, lines); printf("}\n");
  }
  CHECK(cudaFree(at)); CHECK(cudaFree(d)); fflush(stdout);
}

// ---- B: K chains of loads of one warp side by side
template <int K> __global__ void chains(char* ring, i64 nodes, i64 node_bytes, int lane_bytes, int lanes, int hops, i64* clocks) {
  if (threadIdx.x >= lanes) return;
  u64 p[K];
#pragma unroll
  for (int i = 0; i < K; ++i) {
    p[i] = (u64)(ring + (i * nodes / K) * node_bytes + threadIdx.x * lane_bytes);
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p[i]));
  }
  u64 sum = 0;
#pragma unroll
  for (int i = 0; i < K; ++i) sum ^= p[i];
  if (sum == 1) return;
  i64 t0 = clock64();
#pragma unroll 1
  for (int n = 0; n < hops; ++n) {
#pragma unroll
    for (int i = 0; i < K; ++i) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p[i]));
  }
#pragma unroll
  for (int i = 0; i < K; ++i) sum ^= p[i];
  if (sum == 1) return;
  if (threadIdx.x == 0) clocks[0] = clock64() - t0;
}
__global__ void link_lanes(char* at, i64 nodes, i64 node_bytes, int lane_bytes, int lanes) {
  for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < nodes * lanes; i += gridDim.x * (i64)blockDim.x)
    *(char**)(at + i / lanes * node_bytes + i % lanes * lane_bytes) = at + (i / lanes + 1) % nodes * node_bytes + i % lanes * lane_bytes;
}
template <int K> static void one_chains(char* at, i64* d) {
  struct { const char* name; int lane_bytes, lanes; i64 node; } shapes[] = {{"1 sector", 8, 1, 128}, {"2 lines of 4 sectors", 8, 32, 256}, {"32 lines of 1 sector", 128, 32, 4096}};
  for (auto& s : shapes) for (int dram = 0; dram < 2; ++dram) {
    i64 nodes = (dram ? (i64)256 << 20 : (i64)12 << 20) / s.node, h[5];
    link_lanes<<<SMS * 4, 256>>>(at, nodes, s.node, s.lane_bytes, s.lanes);
    for (int r = 0; r < 5; ++r) {
      if (dram) flush();
      chains<K><<<1, 32>>>(at, nodes, s.node, s.lane_bytes, s.lanes, 128, d);
      CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h + r, d, 8, cudaMemcpyDeviceToHost));
    }
    std::sort(h, h + 5);
    printf("{\"part\": \"chains\", \"chains\": %d, \"shape\": \"%s\", \"level\": \"%s\", \"cycles_per_hop\": %.2f}\n", K, s.name, dram ? "dram" : "l2", h[2] / 128.0);
  }
}
static void part_b() {
  char* at; i64* d; CHECK(cudaMalloc(&at, 256 << 20)); CHECK(cudaMalloc(&d, 8));
  one_chains<1>(at, d); one_chains<2>(at, d); one_chains<4>(at, d); one_chains<8>(at, d); one_chains<16>(at, d); one_chains<24>(at, d);
  one_chains<32>(at, d); one_chains<40>(at, d); one_chains<48>(at, d); one_chains<64>(at, d); one_chains<80>(at, d); one_chains<96>(at, d);
  CHECK(cudaFree(at)); CHECK(cudaFree(d)); fflush(stdout);
}

// ---- C: one SM, many warps: requests of `lines` lines with `sectors` sectors each
template <int WIDTH> struct word; template <> struct word<4> { typedef unsigned t; }; template <> struct word<16> { typedef uint4 t; };
template <int WIDTH> __global__ void sm_stream(const char* at, size_t bytes, int lane_group, int lane_step, int line_step, size_t request_bytes, int iterations, i64* clocks, unsigned* sink) {
  typedef typename word<WIDTH>::t T;
  int warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32;
  size_t o = (size_t)(lane / lane_group) * line_step + (lane % lane_group) * lane_step, base = (size_t)warp * request_bytes;
  unsigned s = 0; __syncthreads(); i64 t0 = clock64();
  unsigned step = warps * (unsigned)request_bytes, at_most = (unsigned)bytes - 8 * step - 8192, from = (unsigned)base;
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
    T v[8];
#pragma unroll
    for (int u = 0; u < 8; ++u) v[u] = __ldcg((const T*)(at + o + from + u * step));
    from += 8 * step; if (from > at_most) from = (unsigned)base;
#pragma unroll
    for (int u = 0; u < 8; ++u) s ^= *(unsigned*)&v[u];
  }
  if (s == 0x5eed) *sink = s;
  __syncthreads(); i64 t1 = clock64();
  if (threadIdx.x == 0) { clocks[0] = t0; clocks[1] = t1; }
}
static void part_c() {
  i64* d; CHECK(cudaMalloc(&d, 64)); size_t big = (size_t)1 << 30; char* at; CHECK(cudaMalloc(&at, big)); CHECK(cudaMemset(at, 0, big));
  struct { const char* name; int width, group, step, line_step; int lines, sectors; size_t request; } shapes[] = {
    {"1 line of 4 sectors", 4, 32, 4, 0, 1, 4, 128}, {"4 lines of 4 sectors", 16, 32, 16, 0, 4, 16, 512}, {"8 lines of 4 sectors", 4, 4, 32, 128, 8, 32, 1024},
    {"16 lines of 2 sectors", 4, 2, 32, 128, 16, 32, 2048}, {"32 lines of 1 sector", 4, 1, 0, 128, 32, 32, 4096}, {"8 lines of 1 sector", 4, 4, 0, 128, 8, 8, 1024}, {"1 line of 1 sector", 4, 32, 0, 0, 1, 1, 128}, {"1 line of 2 sectors", 4, 16, 4, 0, 1, 2, 128}};
  for (int dram = 0; dram < 2; ++dram) for (auto& s : shapes) for (int warps : {1, 2, 4, 8, 16, 32}) {
    size_t bytes = dram ? big : (size_t)8 << 20; int iterations = 128; i64 h[2];
    if (dram) flush(); 
    for (int k = 0; k < (dram ? 1 : 2); ++k) {
      if (!dram && k == 0) { read_all<<<SMS, 256>>>((const uint4*)at, bytes / 16, sink); iterations = 512; }
      if (s.width == 4) sm_stream<4><<<1, 32 * warps>>>(at, bytes, s.group, s.step, s.line_step, s.request, iterations, d, sink);
      else sm_stream<16><<<1, 32 * warps>>>(at, bytes, s.group, s.step, s.line_step, s.request, iterations, d, sink);
    }
    CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost));
    double cycles = double(h[1] - h[0]), requests = 8.0 * iterations * warps;
    printf("{\"part\": \"sm_stream\", \"level\": \"%s\", \"shape\": \"%s\", \"warps\": %d, \"cycles_per_request\": %.3f, \"lines_per_cycle\": %.3f, \"sectors_per_cycle\": %.3f}\n", dram ? "dram" : "l2", s.name, warps, cycles / requests, s.lines * requests / cycles, s.sectors * requests / cycles);
  }
  CHECK(cudaFree(at)); CHECK(cudaFree(d)); fflush(stdout);
}

// ---- D: pages
__global__ void link(char* at, int nodes, size_t pitch) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nodes; i += gridDim.x * blockDim.x) *(char**)(at + i * pitch) = at + ((i + 1) % nodes) * pitch;
}
__global__ void chase(char* at, int warm, int hops, i64* clocks) {
  u64 p = (u64)at;
#pragma unroll 1
  for (int i = 0; i < warm; ++i) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p));
  if (p == 1) return; i64 t0 = clock64();
#pragma unroll 1
  for (int i = 0; i < hops; i += 8) {
#pragma unroll
    for (int u = 0; u < 8; ++u) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p));
  }
  if (p == 1) return; clocks[0] = clock64() - t0;
}
static void part_d() {
  size_t free_b, total; CHECK(cudaMemGetInfo(&free_b, &total)); size_t bytes = (free_b - ((size_t)1 << 30)) >> 21 << 21; char* at; i64* d;
  CHECK(cudaMalloc(&at, bytes)); CHECK(cudaMalloc(&d, 8));
  for (size_t mb : {2, 8, 32, 64, 128, 256, 512, 1024}) {
    size_t pitch = (mb << 20) + PITCH; int most = int(bytes / pitch);
    std::vector<int> counts; for (int n = 4; n < most; n *= 2) counts.push_back(n);
    for (int k = 90; k <= 100; k += 2) counts.push_back(most * k / 100);
    for (int n : counts) {
      if (n < 2) continue;
      link<<<64, 256>>>(at, n, pitch); int hops = std::max(1024, 2 * n) / 8 * 8;
      chase<<<1, 1>>>(at, 2 * n, hops, d); i64 h; CHECK(cudaMemcpy(&h, d, 8, cudaMemcpyDeviceToHost));
      printf("{\"part\": \"pages\", \"pitch_mib\": %d, \"nodes\": %d, \"reach_bytes\": %zu, \"latency\": %.2f}\n", (int)mb, n, n * pitch, double(h) / hops);
    }
  }
  CHECK(cudaFree(at)); CHECK(cudaFree(d)); fflush(stdout);
}

// ---- E: loops
template <int N> __global__ void loop(i64* clocks, float* out, float scale, int iterations) {
  float x[4] = {scale, scale + 1, scale + 2, scale + 3};
  __syncthreads(); i64 t0 = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int u = 0; u < N; ++u) asm volatile("fma.rn.f32 %0, %0, %1, 0f3f800000;" : "+f"(x[u % 4]) : "f"(scale));
  }
  out[threadIdx.x] = x[0] + x[1] + x[2] + x[3]; i64 t1 = clock64();
  if (threadIdx.x == 0) clocks[0] = t1 - t0;
}
template <int N> static void one_loop(i64* d, float* out) {
  for (int warps : {1, 4, 8, 16, 32}) {
    i64 h = 0; for (int k = 0; k < 2; ++k) { loop<N><<<1, 32 * warps>>>(d, out, 0.5f, 1024); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(&h, d, 8, cudaMemcpyDeviceToHost)); }
    printf("{\"part\": \"loop\", \"length\": %d, \"warps\": %d, \"cycles_per_iteration\": %.3f}\n", N, warps, h / 1024.0);
  }
}
static void part_e() {
  i64* d; float* out; CHECK(cudaMalloc(&d, 8)); CHECK(cudaMalloc(&out, 4096));
  one_loop<1>(d, out); one_loop<2>(d, out); one_loop<4>(d, out); one_loop<8>(d, out); one_loop<12>(d, out); one_loop<16>(d, out); one_loop<20>(d, out); one_loop<24>(d, out);
  one_loop<28>(d, out); one_loop<32>(d, out); one_loop<40>(d, out); one_loop<48>(d, out); one_loop<64>(d, out); one_loop<96>(d, out); one_loop<128>(d, out); one_loop<256>(d, out); one_loop<1024>(d, out);
  CHECK(cudaFree(d)); CHECK(cudaFree(out)); fflush(stdout);
}

// ---- F: bandwidth of L2 by footprint; mode 0: every thread its own part, 1: every SM all of it
template <int MODE> __global__ void l2_read(const uint4* p, unsigned n, int passes, unsigned* sink) {
  unsigned threads = MODE ? blockDim.x : gridDim.x * blockDim.x, thread = MODE ? threadIdx.x : blockIdx.x * blockDim.x + threadIdx.x;
  unsigned shift = MODE ? (unsigned)((u64)n * blockIdx.x / gridDim.x) / 32 * 32 : 0, s = 0;
  for (int k = 0; k < passes; ++k)
#pragma unroll 1
    for (unsigned i = thread; i + 3 * threads < n; i += 4 * threads) {
      uint4 v[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) { unsigned j = i + u * threads + shift; v[u] = __ldcg(p + (j >= n ? j - n : j)); }
#pragma unroll
      for (int u = 0; u < 4; ++u) s ^= v[u].x ^ v[u].y ^ v[u].z ^ v[u].w;
    }
  if (s == 0x5eed) *sink = s;
}
static void part_f() {
  char* at; CHECK(cudaMalloc(&at, 64 << 20)); CHECK(cudaMemset(at, 0, 64 << 20)); cudaEvent_t a, b; CHECK(cudaEventCreate(&a)); CHECK(cudaEventCreate(&b));
  for (int mode = 0; mode < 2; ++mode) for (int mb : {1, 2, 4, 6, 8, 10, 12, 16, 20, 22, 24, 26, 28, 32, 36, 40, 44, 48, 56, 64}) for (int per_sm : {1, 2}) {
    unsigned n = (unsigned)((size_t)mb << 20) / 16; int block = 512, grid = SMS * per_sm; float best = 1e9; double bytes = 0;
    unsigned group = 4 * (mode ? block : grid * block); int passes = mode ? std::max(1, 24 / mb) : std::max(4, 2048 / mb); if (n / group == 0) continue;
    for (int k = 0; k < 4; ++k) {
      CHECK(cudaEventRecord(a));
      if (mode) l2_read<1><<<grid, block>>>((const uint4*)at, n, passes, sink); else l2_read<0><<<grid, block>>>((const uint4*)at, n, passes, sink);
      CHECK(cudaEventRecord(b)); CHECK(cudaEventSynchronize(b)); float ms; CHECK(cudaEventElapsedTime(&ms, a, b)); best = std::min(best, ms);
      bytes = double(n / group) * group * 16 * passes * (mode ? grid : 1);
    }
    printf("{\"part\": \"l2_read\", \"whole_by_every_sm\": %d, \"mib\": %d, \"blocks_per_sm\": %d, \"bytes_per_s\": %.4g}\n", mode, mb, per_sm, bytes / best * 1e3);
  }
  CHECK(cudaFree(at)); fflush(stdout);
}
// ---- G: operands and rates: D = 0 x*b+c, 1 x*b+b, 2 x*b, 3 x+b
#define OP3(T, S, R) template <> __device__ __forceinline__ void op<T, 0>(T& x, T b, T c) { asm volatile("fma.rn." S " %0, %0, %1, %2;" : "+" R(x) : R(b), R(c)); } \
  template <> __device__ __forceinline__ void op<T, 1>(T& x, T b, T c) { asm volatile("fma.rn." S " %0, %0, %1, %1;" : "+" R(x) : R(b)); } \
  template <> __device__ __forceinline__ void op<T, 2>(T& x, T b, T c) { asm volatile("mul.rn." S " %0, %0, %1;" : "+" R(x) : R(b)); } \
  template <> __device__ __forceinline__ void op<T, 3>(T& x, T b, T c) { asm volatile("add.rn." S " %0, %0, %1;" : "+" R(x) : R(b)); }
template <class T, int D> __device__ __forceinline__ void op(T& x, T b, T c);
OP3(float, "f32", "f") OP3(double, "f64", "d") OP3(unsigned, "f16x2", "r")
template <class T, int D, int CHAINS> __global__ void rate(i64* clocks, T* out, T b, T c, int iterations) {
  T x[CHAINS];
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) x[i] = b + T(threadIdx.x + i);
  __syncthreads(); i64 t0 = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int u = 0; u < 192 / CHAINS; ++u)
#pragma unroll
      for (int i = 0; i < CHAINS; ++i) op<T, D>(x[i], b, c);
  }
  __syncthreads(); i64 t1 = clock64();
  T sum = x[0];
#pragma unroll
  for (int i = 1; i < CHAINS; ++i) sum = sum + x[i];
  out[threadIdx.x] = sum;
  if (threadIdx.x == 0) clocks[0] = t1 - t0;
}
template <class T, int D, int CHAINS> static void one_rate(const char* type, const char* what, i64* d, void* out) {
  for (int warps : {4, 8, 16, 32}) {
    i64 h = 0; for (int k = 0; k < 2; ++k) { rate<T, D, CHAINS><<<1, 32 * warps>>>(d, (T*)out, T(1), T(2), 256); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(&h, d, 8, cudaMemcpyDeviceToHost)); }
    printf("{\"part\": \"rate\", \"type\": \"%s\", \"what\": \"%s\", \"chains\": %d, \"warps\": %d, \"results_per_cycle\": %.2f}\n", type, what, CHAINS, warps, 32.0 * warps * 192 * 256 / h);
  }
}
template <class T, int CHAINS> static void rates(const char* type, i64* d, void* out) {
  one_rate<T, 0, CHAINS>(type, "x*b+c", d, out); one_rate<T, 1, CHAINS>(type, "x*b+b", d, out); one_rate<T, 2, CHAINS>(type, "x*b", d, out); one_rate<T, 3, CHAINS>(type, "x+b", d, out);
}
static void part_g() {
  i64* d; void* out; CHECK(cudaMalloc(&d, 8)); CHECK(cudaMalloc(&out, 16384));
  rates<float, 1>("f32", d, out); rates<float, 4>("f32", d, out); rates<float, 8>("f32", d, out);
  rates<double, 1>("f64", d, out); rates<double, 4>("f64", d, out); rates<double, 8>("f64", d, out);
  rates<unsigned, 1>("f16x2", d, out); rates<unsigned, 4>("f16x2", d, out); rates<unsigned, 8>("f16x2", d, out);
  CHECK(cudaFree(d)); CHECK(cudaFree(out)); fflush(stdout);
}
int main() {
  cudaDeviceProp q; CHECK(cudaGetDeviceProperties(&q, 0)); SMS = q.multiProcessorCount; L2 = q.l2CacheSize;
  printf("{\"part\": \"device\", \"name\": \"%s\", \"sms\": %d, \"l2\": %d}\n", q.name, SMS, L2);
  flush_bytes = 4 * (size_t)L2; CHECK(cudaMalloc(&flush_at, flush_bytes)); CHECK(cudaMalloc(&sink, 4)); CHECK(cudaMalloc(&seen, 4));
  part_a(); part_b(); part_c(); part_e(); part_g(); part_f(); part_d();
  return 0;
}
