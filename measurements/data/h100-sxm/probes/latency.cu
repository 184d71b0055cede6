// Latency of single loads by line and SM, of several that are waited for together, and under a mix
// of reads and writes. One JSON object a line.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <random>
#include <algorithm>
#include <cuda_runtime.h>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    cudaError_t e_ = (call);                                                               \
    if (e_ != cudaSuccess) {                                                               \
      std::printf("{\"error\":\"%s\",\"line\":%d}\n", cudaGetErrorString(e_), __LINE__);   \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

typedef unsigned long long u64;

__device__ __forceinline__ unsigned smid() {
  unsigned r;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(r));
  return r;
}

__global__ void evict(uint4* at, long long count, unsigned* sink) {
  long long step = (long long)gridDim.x * blockDim.x;
  unsigned sum = 0;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += step) {
    uint4 v = __ldcg(at + i);
    sum ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 0x12345) *sink = sum;
}

// Only the first block that comes to lie on the SM that is asked for goes on.
__device__ __forceinline__ bool chosen(int sm, unsigned* seen) {
  __shared__ int mine;
  if (threadIdx.x == 0) mine = smid() == (unsigned)sm && atomicExch(seen, 1u) == 0;
  __syncthreads();
  return mine;
}

// Each line alone: cycles from the load to its result.
__global__ void single(const char* from, const unsigned* lines, int count, int passes, int sm,
                       unsigned* seen, unsigned short* taken) {
  extern __shared__ unsigned offsets[];
  if (!chosen(sm, seen)) return;
  for (int i = threadIdx.x; i < count; i += blockDim.x) offsets[i] = lines[i];
  __syncthreads();
  if (threadIdx.x) return;
  for (int pass = 0; pass < passes; ++pass) {
    u64 carry = 0;
    for (int i = 0; i < count; ++i) {
      const char* p = from + 128ull * offsets[i] + carry;
      long long start = clock64();
      u64 v;
      asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(v) : "l"(p));
      if (v == 1) return;
      long long stop = clock64();
      carry = v;
      taken[pass * count + i] = (unsigned short)min(stop - start, 65535ll);
    }
  }
}

// K loads of one lane, and then all of them are waited for; `lanes` lanes, each lines of its own.
template <int K>
__global__ void together(const char* from, const unsigned* lines, int groups, int lanes, int sm,
                         unsigned* seen, unsigned short* taken) {
  extern __shared__ unsigned offsets[];
  if (!chosen(sm, seen)) return;
  int count = groups * K * lanes;
  for (int i = threadIdx.x; i < count; i += blockDim.x) offsets[i] = lines[i];
  __syncthreads();
  int lane = threadIdx.x;
  if (lane >= lanes) return;
  for (int pass = 0; pass < 2; ++pass) {
    u64 carry = 0;
    for (int g = 0; g < groups; ++g) {
      const char* p[K];
#pragma unroll
      for (int k = 0; k < K; ++k) p[k] = from + 128ull * offsets[(g * K + k) * lanes + lane] + carry;
      u64 all = 0, v[K];
#pragma unroll
      for (int k = 0; k < K; ++k) all |= (u64)p[k];
      if (all == 1) return;
      __syncwarp(__activemask());
      long long start = clock64();
#pragma unroll
      for (int k = 0; k < K; ++k) asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(v[k]) : "l"(p[k]));
      all = 0;
#pragma unroll
      for (int k = 0; k < K; ++k) all |= v[k];
      if (all == 1) return;
      long long stop = clock64();
      carry = all;
      if (lane == 0) taken[pass * groups + g] = (unsigned short)min(stop - start, 65535ll);
    }
  }
}

// Streams: LOADS independent loads of W bytes a lane, all waited for, STORES stores; next iteration.
template <typename T, int LOADS, int STORES>
__global__ void stream(const T* from, T* to, long long elements, long long from_mask,
                       long long to_mask, int iterations, long long* spans) {
  long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  long long step = (long long)gridDim.x * blockDim.x;
  long long at = thread;
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
    T v[LOADS];
    T sum = 0;
#pragma unroll
    for (int i = 0; i < LOADS; ++i) v[i] = __ldcg(from + i * elements + (at & from_mask));
#pragma unroll
    for (int i = 0; i < LOADS; ++i) sum |= v[i];
#pragma unroll
    for (int i = 0; i < STORES; ++i) __stcg(to + i * elements + (at & to_mask), sum);
    at += step + (long long)sum;
  }
  long long stop = clock64();
  if (threadIdx.x % 32 == 0) spans[thread / 32] = stop - start;
  if (at == -1) to[0] = (T)at;
}

static int sms;
static char* data;
static const long long DATA = 2ll << 30;
static char* flush_at;
static long long flush_bytes;
static unsigned *seen, *lines_at, *sink;
static unsigned short* taken;

static void flush() {
  CHECK(cudaMemset(flush_at, 0, flush_bytes));
  evict<<<sms * 8, 256>>>((uint4*)flush_at, flush_bytes / 16, sink);
  CHECK(cudaGetLastError());
  CHECK(cudaMemset(seen, 0, 4));
  CHECK(cudaDeviceSynchronize());
}

static void upload(const std::vector<unsigned>& lines) {
  CHECK(cudaMemcpy(lines_at, lines.data(), lines.size() * 4, cudaMemcpyHostToDevice));
}

static void print_array(const std::vector<unsigned short>& v, size_t begin, size_t count) {
  std::printf("[");
  for (size_t i = 0; i < count; ++i) std::printf(i ? ",%d" : "%d", v[begin + i]);
  std::printf("]");
}

static void run_single(const char* name, const std::vector<unsigned>& lines, int sm, int passes,
                       bool cold) {
  upload(lines);
  if (cold) flush();
  CHECK(cudaMemset(seen, 0, 4));
  int count = (int)lines.size();
  CHECK(cudaMemset(taken, 0, count * passes * 2));
  single<<<4 * sms, 32, 200 << 10>>>(data, lines_at, count, passes, sm, seen, taken);
  CHECK(cudaGetLastError());
  std::vector<unsigned short> got(count * passes);
  CHECK(cudaMemcpy(got.data(), taken, got.size() * 2, cudaMemcpyDeviceToHost));
  for (int pass = 0; pass < passes; ++pass) {
    std::printf("{\"what\":\"single\",\"lines\":\"%s\",\"sm\":%d,\"cold\":%d,\"pass\":%d,\"cycles\":",
                name, sm, (int)cold, pass);
    print_array(got, (size_t)pass * count, count);
    std::printf("}\n");
  }
}

enum Layout { RANDOM, CHUNK, APART };
static const char* LAYOUTS[] = {"random", "one 4 KiB", "one line a 4 KiB of 128 KiB"};

template <int K>
static void run_together(Layout layout, int lanes, int sm) {
  int groups = std::min(256, 40000 / (K * lanes));
  std::mt19937 draw(K * 100 + lanes + layout);
  std::vector<unsigned> lines;
  unsigned all = (unsigned)(DATA / 128);
  for (int g = 0; g < groups; ++g) {
    unsigned chunk = draw() % (all / 32) * 32, wide = draw() % (all / 1024) * 1024;
    std::vector<unsigned> within(32);
    for (unsigned i = 0; i < 32; ++i) within[i] = i;
    std::shuffle(within.begin(), within.end(), draw);
    for (int i = 0; i < K * lanes; ++i) {
      if (layout == RANDOM) lines.push_back(draw() % all);
      if (layout == CHUNK) lines.push_back(chunk + within[i % 32]);
      if (layout == APART) lines.push_back(wide + within[i % 32] * 32 + draw() % 32);
    }
  }
  upload(lines);
  flush();
  CHECK(cudaFuncSetAttribute(together<K>, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  CHECK(cudaMemset(taken, 0, groups * 4));
  together<K><<<4 * sms, 32, 200 << 10>>>(data, lines_at, groups, lanes, sm, seen, taken);
  CHECK(cudaGetLastError());
  std::vector<unsigned short> got(2 * groups);
  CHECK(cudaMemcpy(got.data(), taken, got.size() * 2, cudaMemcpyDeviceToHost));
  for (int pass = 0; pass < 2; ++pass) {
    std::printf("{\"what\":\"together\",\"loads\":%d,\"lanes\":%d,\"layout\":\"%s\",\"sm\":%d,\"level\":\"%s\",\"cycles\":",
                K, lanes, LAYOUTS[layout], sm, pass ? "l2" : "dram");
    print_array(got, (size_t)pass * groups, groups);
    std::printf("}\n");
  }
}

template <typename T, int LOADS, int STORES>
static void run_stream(long long* spans, bool from_l2 = false, bool to_l2 = false) {
  const int per_sm[] = {1, 4, 8, 16, 24, 32, 48, 64};
  long long elements = (500ll << 20) / sizeof(T);
  T* from = (T*)data;
  T* to = from + 2 * elements;
  long long few = (8ll << 20) / sizeof(T) - 1;
  for (int warps : per_sm) {
    int blocks = warps > 32 ? 2 : 1;
    int threads = warps * 32 / blocks;
    long long step = (long long)sms * warps * 32;
    int iterations = (int)std::min(elements / step - 1, 400ll);
    flush();
    cudaEvent_t a, b;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    CHECK(cudaEventRecord(a));
    stream<T, LOADS, STORES><<<sms * blocks, threads>>>(from, to, elements, from_l2 ? few : -1ll,
                                                          to_l2 ? few : -1ll, iterations, spans);
    CHECK(cudaEventRecord(b));
    CHECK(cudaDeviceSynchronize());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, a, b));
    std::vector<long long> got((size_t)sms * warps);
    CHECK(cudaMemcpy(got.data(), spans, got.size() * 8, cudaMemcpyDeviceToHost));
    double mean = 0;
    for (long long s : got) mean += (double)s / got.size();
    double bytes = (double)step * iterations * sizeof(T) * (LOADS + STORES);
    std::printf("{\"what\":\"stream\",\"width\":%d,\"loads\":%d,\"stores\":%d,\"from_l2\":%d,\"to_l2\":%d,\"warps\":%d,\"iterations\":%d,"
                "\"cycles\":%.1f,\"seconds\":%.9f,\"bytes\":%.0f}\n",
                (int)sizeof(T), LOADS, STORES, (int)from_l2, (int)to_l2, warps, iterations, mean / iterations, ms * 1e-3, bytes);
  }
}

int main() {
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  sms = prop.multiProcessorCount;
  flush_bytes = 4ll * prop.l2CacheSize;
  CHECK(cudaMalloc(&data, DATA));
  CHECK(cudaMalloc(&flush_at, flush_bytes));
  CHECK(cudaMalloc(&seen, 4));
  CHECK(cudaMalloc(&sink, 4));
  CHECK(cudaMalloc(&lines_at, 1 << 20));
  CHECK(cudaMalloc(&taken, 1 << 20));
  long long* spans;
  CHECK(cudaMalloc(&spans, 8ll * sms * 64));
  CHECK(cudaMemset(data, 0, DATA));
  CHECK(cudaFuncSetAttribute(single, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  std::printf("{\"what\":\"device\",\"name\":\"%s\",\"sms\":%d,\"l2\":%d}\n", prop.name, sms, prop.l2CacheSize);

  // Warm the clock up.
  for (int i = 0; i < 200; ++i) flush();

  std::mt19937 draw(1);
  std::vector<unsigned> random, next, shuffled;
  for (int i = 0; i < 1024; ++i) random.push_back(draw() % (unsigned)(DATA / 128));
  for (int i = 0; i < 2048; ++i) next.push_back(1 << 20 | i);
  for (int i = 0; i < 2048; ++i) shuffled.push_back(1 << 21 | i);
  std::shuffle(shuffled.begin(), shuffled.end(), draw);
  std::printf("{\"what\":\"lines\",\"lines\":\"random\",\"at\":[");
  for (size_t i = 0; i < random.size(); ++i) std::printf(i ? ",%u" : "%u", random[i]);
  std::printf("]}\n{\"what\":\"lines\",\"lines\":\"shuffled\",\"at\":[");
  for (size_t i = 0; i < shuffled.size(); ++i) std::printf(i ? ",%u" : "%u", shuffled[i]);
  std::printf("]}\n");
  const int where[] = {0, 1, 2, 16, 33, 66, 100, 131};
  for (int sm : where) {
    run_single("random", random, sm, 2, true);
    // What the other SM left in the L2 cache, twice.
    run_single("random", random, (sm + 1) % sms, 2, false);
    run_single("random", random, (sm + 67) % sms, 2, false);
  }
  for (int sm : {0, 1, 66}) {
    run_single("next", next, sm, 2, true);
    run_single("shuffled", shuffled, sm, 2, true);
  }
  for (int sm : {0, 1}) {
    run_together<1>(RANDOM, 1, sm);
    run_together<2>(RANDOM, 1, sm);
    run_together<3>(RANDOM, 1, sm);
    run_together<4>(RANDOM, 1, sm);
    run_together<6>(RANDOM, 1, sm);
    run_together<8>(RANDOM, 1, sm);
    run_together<12>(RANDOM, 1, sm);
    run_together<16>(RANDOM, 1, sm);
    run_together<24>(RANDOM, 1, sm);
    run_together<32>(RANDOM, 1, sm);
    for (Layout layout : {CHUNK, APART}) {
      run_together<2>(layout, 1, sm);
      run_together<4>(layout, 1, sm);
      run_together<8>(layout, 1, sm);
      run_together<16>(layout, 1, sm);
      run_together<32>(layout, 1, sm);
    }
    for (Layout layout : {RANDOM, CHUNK, APART}) {
      for (int lanes : {2, 4, 8, 16, 32}) run_together<1>(layout, lanes, sm);
    }
  }
  run_stream<unsigned, 1, 0>(spans);
  run_stream<unsigned, 2, 0>(spans);
  run_stream<unsigned, 1, 1>(spans);
  run_stream<unsigned, 2, 1>(spans);
  run_stream<u64, 1, 0>(spans);
  run_stream<u64, 2, 0>(spans);
  run_stream<u64, 1, 1>(spans);
  run_stream<u64, 2, 1>(spans);
  run_stream<unsigned, 1, 2>(spans);
  // Where the stores stay in L2: their way there alone; where all does: the same without the DRAM.
  run_stream<unsigned, 1, 1>(spans, false, true);
  run_stream<unsigned, 2, 1>(spans, false, true);
  run_stream<unsigned, 1, 0>(spans, true, true);
  run_stream<unsigned, 1, 1>(spans, true, true);
  run_stream<unsigned, 2, 0>(spans, true, true);
  run_stream<unsigned, 1, 1>(spans, true, false);
  return 0;
}
