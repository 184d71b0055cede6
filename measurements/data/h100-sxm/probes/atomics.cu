// What atomics on global memory take, by address pattern, sharing and operation; and on shared memory.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <vector>
#include <cuda_runtime.h>
#define CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("{\"error\": \"%s at %d: %s\"}\n", #x, __LINE__, cudaGetErrorString(e_)); fflush(stdout); exit(1); } } while (0)

struct Within { unsigned char word[32]; };  // 255: the lane does nothing
enum LineMode { BY_WARP, BY_BLOCK, BY_ITERATION, RANDOM_WARP, RANDOM_LANE, BY_LANE };
enum Op { RED, ATOM, RED64, REDF32, REDF64, REDH2, CAS, EXCH, ATOMMAX, REDMAX, OPS };
static const char* op_names[] = {"red.u32", "atom.u32", "red.u64", "red.f32", "red.f64", "red.f16x2", "atom.cas", "atom.exch", "atom.max", "red.max"};

template <int OP> __device__ __forceinline__ void change(unsigned* p, unsigned v, unsigned& old) {
  if (OP == RED) asm volatile("red.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
  if (OP == ATOM) asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v + (old & 1)) : "memory");
  if (OP == RED64) asm volatile("red.global.add.u64 [%0], %1;" ::"l"(p), "l"((unsigned long long)v) : "memory");
  if (OP == REDF32) asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p), "f"(1.0f) : "memory");
  if (OP == REDF64) asm volatile("red.global.add.f64 [%0], %1;" ::"l"(p), "d"(1.0) : "memory");
  if (OP == REDH2) asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(p), "r"(0u) : "memory");
  if (OP == CAS) asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "l"(p), "r"(v + (old & 1)), "r"(v) : "memory");
  if (OP == EXCH) asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v + (old & 1)) : "memory");
  if (OP == ATOMMAX) asm volatile("atom.global.max.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v + (old & 1)) : "memory");
  if (OP == REDMAX) asm volatile("red.global.max.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

template <int OP> __global__ void global_atomics(unsigned* words, unsigned* sink, unsigned lines, int pitch_words, int mode, unsigned word_mask, Within within, int iterations, int wide) {
  int lane = threadIdx.x % 32;
  unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  unsigned w = within.word[lane];
  if (w == 255) return;
  unsigned seed = (mode == RANDOM_WARP ? warp * 32u : warp * 32u + lane) * 2654435761u + 12345u;
  unsigned pick = (warp * 32u + lane) * 2246822519u + 777u, old = 0;
  unsigned line = mode == BY_WARP ? warp % lines : mode == BY_BLOCK ? blockIdx.x % lines : mode == BY_LANE ? lane % lines : 0;
  for (int n = 0; n < iterations; ++n) {
    if (mode == BY_ITERATION) line = n % lines;
    if (mode == RANDOM_WARP || mode == RANDOM_LANE) {
      seed = seed * 1664525u + 1013904223u;
      line = __umulhi(seed, lines);
    }
    if (word_mask) {
      pick = pick * 1664525u + 1013904223u;
      w = (pick >> 12) & word_mask;
    }
    change<OP>(words + (long long)line * pitch_words + w * wide, lane + 1, old);
  }
  if (old == 0xfffffff1u) sink[0] = old;
}

typedef void (*Global)(unsigned*, unsigned*, unsigned, int, int, unsigned, Within, int, int);
static Global kernels[OPS] = {global_atomics<RED>, global_atomics<ATOM>, global_atomics<RED64>, global_atomics<REDF32>, global_atomics<REDF64>, global_atomics<REDH2>, global_atomics<CAS>, global_atomics<EXCH>, global_atomics<ATOMMAX>, global_atomics<REDMAX>};
static unsigned *words, *sink;
static cudaEvent_t from, to;

template <class F> static float once(F launch) {
  float ms;
  CHECK(cudaEventRecord(from));
  launch();
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(to));
  CHECK(cudaEventSynchronize(to));
  CHECK(cudaEventElapsedTime(&ms, from, to));
  return ms;
}

static int active(const Within& w) { int n = 0; for (int i = 0; i < 32; ++i) n += w.word[i] != 255; return n; }
static Within lanes_on(int lanes, int sharing, int step) {  // lane l of the first `lanes` on word l / sharing * step
  Within w;
  for (int i = 0; i < 32; ++i) w.word[i] = i < lanes ? i / sharing * step : 255;
  return w;
}
static Within lanes_modulo(int words_apart) {
  Within w;
  for (int i = 0; i < 32; ++i) w.word[i] = i % words_apart;
  return w;
}

static void measure(const char* set, int op, unsigned lines, int pitch_bytes, int mode, unsigned mask, Within w, const char* pattern, int grid = 528, int block = 256) {
  int iterations = 8, wide = op == RED64 || op == REDF64 ? 2 : 1;
  auto launch = [&] { kernels[op]<<<grid, block>>>(words, sink, lines, pitch_bytes / 4, mode, mask, w, iterations, wide); };
  once(launch);
  float ms = once(launch);
  while (ms < 0.15f && iterations < 1 << 16) { iterations *= 2; ms = once(launch); }
  std::vector<float> taken;
  for (int i = 0; i < 5; ++i) taken.push_back(once(launch));
  std::sort(taken.begin(), taken.end());
  // The slope over iterations: without the launch.
  iterations *= 2;
  std::vector<float> twice;
  for (int i = 0; i < 5; ++i) twice.push_back(once(launch));
  std::sort(twice.begin(), twice.end());
  double seconds = (twice[2] - taken[2]) * 1e-3, requests = (double)grid * block / 32 * (iterations / 2);
  printf("{\"set\": \"%s\", \"op\": \"%s\", \"lines\": %u, \"pitch\": %d, \"mode\": %d, \"mask\": %u, \"pattern\": \"%s\", \"lanes\": %d, \"grid\": %d, \"block\": %d, \"iterations\": %d, \"ms\": %.5f, \"ms_twice\": %.5f, \"ns_per_request\": %.5f, \"G_lanes_per_s\": %.4f}\n", set, op_names[op], lines, pitch_bytes, mode, mask, pattern, active(w), grid, block, iterations / 2, taken[2], twice[2], seconds / requests * 1e9, requests * active(w) / seconds * 1e-9);
  fflush(stdout);
}

// Shared memory: mode 0 a table of words per lane, 1 random words among mask + 1.
template <int KIND> __global__ void shared_atomics(unsigned* sink, Within within, unsigned mask, int iterations, long long* clocks) {
  extern __shared__ unsigned data[];
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) data[i] = 0;
  __syncthreads();
  int lane = threadIdx.x % 32;
  unsigned w = within.word[lane], pick = (blockIdx.x * blockDim.x + threadIdx.x) * 2246822519u + 777u, old = 1;
  unsigned base = (unsigned)__cvta_generic_to_shared(data);
  if (w == 255) return;
  long long start = clock64();
  for (int n = 0; n < iterations; n += 4) {
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      if (mask) {
        pick = pick * 1664525u + 1013904223u;
        w = (pick >> 12) & mask;
      }
      unsigned p = base + 4 * w;
      if (KIND == 0) asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(p), "r"(old) : "memory");
      if (KIND == 1) asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(p), "r"(old) : "memory");
      if (KIND == 2) atomicAdd((float*)(data + w), 1.0f);
      if (KIND == 3) asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "r"(p), "r"(old), "r"(7u) : "memory");
      if (KIND == 4) asm volatile("red.shared.max.u32 [%0], %1;" ::"r"(p), "r"(old) : "memory");
      if (KIND == 5) atomicAdd((unsigned long long*)(data + 2 * w), 1ull);
      if (KIND == 6) asm volatile("st.shared.u32 [%0], %1;" ::"r"(p), "r"(old) : "memory");
      if (KIND == 7) asm volatile("st.shared.u8 [%0], %1;" ::"r"(base + w), "r"(old) : "memory");
      if (KIND == 8) atomicAdd(data + w, 1u);
      if (KIND == 9) asm volatile("atom.shared.exch.b32 %0, [%1], %2;" : "=r"(old) : "r"(p), "r"(old) : "memory");
    }
  }
  long long stop = clock64();
  if (lane == 0 && blockIdx.x == 0) { clocks[threadIdx.x / 32 * 2] = start; clocks[threadIdx.x / 32 * 2 + 1] = stop; }
  if (old == 0xfffffff1u) sink[0] = old;
}
typedef void (*Shared)(unsigned*, Within, unsigned, int, long long*);
static Shared shared_kernels[] = {shared_atomics<0>, shared_atomics<1>, shared_atomics<2>, shared_atomics<3>, shared_atomics<4>, shared_atomics<5>, shared_atomics<6>, shared_atomics<7>, shared_atomics<8>, shared_atomics<9>};
static const char* shared_names[] = {"red.u32", "atom.u32", "add.f32", "atom.cas", "red.max", "add.u64", "st.u32", "st.u8", "add.const", "atom.exch"};
static long long* clocks;

static void measure_shared(int kind, Within w, const char* pattern, unsigned mask, int warps) {
  std::vector<double> found[2];
  int per_sm = 1;
  for (int twice = 0; twice < 2; ++twice) {
    int iterations = 256 << twice;
    for (int i = 0; i < 4; ++i) {
      shared_kernels[kind]<<<per_sm, 32 * warps, 32768>>>(sink, w, mask, iterations, clocks);
      CHECK(cudaGetLastError());
      std::vector<long long> t(2 * warps);
      CHECK(cudaMemcpy(t.data(), clocks, 16 * warps, cudaMemcpyDeviceToHost));
      long long first = t[0], last = t[1];
      for (int j = 1; j < warps; ++j) { first = std::min(first, t[2 * j]); last = std::max(last, t[2 * j + 1]); }
      if (i) found[twice].push_back(double(last - first));
    }
    std::sort(found[twice].begin(), found[twice].end());
  }
  double cycles = (found[1][1] - found[0][1]) / 256;
  printf("{\"set\": \"shared\", \"op\": \"%s\", \"pattern\": \"%s\", \"mask\": %u, \"warps\": %d, \"cycles_per_round\": %.3f, \"cycles_per_request\": %.3f}\n", shared_names[kind], pattern, mask, warps, cycles, cycles / warps);
  fflush(stdout);
}

int main() {
  const size_t bytes = 1ull << 28;
  CHECK(cudaMalloc(&words, bytes));
  CHECK(cudaMalloc(&sink, 4096));
  CHECK(cudaMalloc(&clocks, 4096));
  CHECK(cudaMemset(words, 0, bytes));
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  char name[64];
  Within one = lanes_on(1, 1, 1), all = lanes_on(32, 1, 1);
  for (int i = 0; i < 200; ++i) once([&] { kernels[RED]<<<528, 256>>>(words, sink, 1024, 32, RANDOM_LANE, 31, all, 256, 1); });

  // 1. One lane of every warp; who shares which of few addresses.
  for (int mode : {BY_WARP, BY_BLOCK, BY_ITERATION, RANDOM_WARP})
    for (unsigned n : {1u, 2u, 3u, 4u, 8u, 12u, 16u, 24u, 32u, 64u, 128u, 256u, 1024u, 4096u}) measure("one_lane", RED, n, 128, mode, 0, one, "1 lane");
  for (int pitch : {4, 32, 64, 256, 512, 1024, 2048, 4096, 8192, 65536})
    for (unsigned n : {2u, 4u, 8u, 16u, 64u}) measure("one_lane_pitch", RED, n, pitch, RANDOM_WARP, 0, one, "1 lane");
  for (int grid : {1, 2, 4, 8, 16, 33, 66, 132, 264})
    for (unsigned n : {1u, 2u, 8u}) for (int block : {32, 256, 1024}) measure("one_lane_grid", RED, n, 128, BY_WARP, 0, one, "1 lane", grid, block);
  // 2. Lanes of a warp on one address.
  for (int lanes : {1, 2, 3, 4, 8, 16, 31, 32})
    for (unsigned n : {1u, 2u, 8u, 64u, 1024u}) for (int mode : {BY_WARP, RANDOM_WARP}) { sprintf(name, "%d lanes on one word", lanes); measure("same_word", RED, n, 128, mode, 0, lanes_on(lanes, 32, 1), name); }
  // 3. Words and sectors of a line.
  for (int sharing : {1, 2, 4, 8, 16})
    for (unsigned n : {1u, 2u, 8u, 64u, 1024u, 65536u}) { sprintf(name, "lane / %d", sharing); measure("line", RED, n, 128, RANDOM_WARP, 0, lanes_on(32, sharing, 1), name); }
  for (int lanes : {2, 4, 8, 16, 32})
    for (int step : {1, 2, 4, 8, 16}) if ((lanes - 1) * step < 32)
      for (unsigned n : {1u, 8u, 64u, 1024u}) { sprintf(name, "%d lanes, words %d apart", lanes, step); measure("sectors", RED, n, 128, RANDOM_WARP, 0, lanes_on(lanes, 1, step), name); }
  for (int modulo : {2, 4, 8, 16})
    for (unsigned n : {1u, 8u, 64u, 1024u}) { sprintf(name, "lane %% %d", modulo); measure("modulo", RED, n, 128, RANDOM_WARP, 0, lanes_modulo(modulo), name); }
  // 4. Random words among few: what a histogram does.
  for (unsigned mask : {1u, 3u, 7u, 15u, 31u}) for (int lanes : {1, 4, 32}) measure("random", RED, 1, 128, RANDOM_LANE, mask, lanes_on(lanes, 1, 1), "random word");
  for (unsigned n : {2u, 4u, 8u, 16u, 32u, 64u, 128u, 512u, 2048u, 8192u, 32768u, 131072u, 1u << 20, 1u << 21})
    for (int lanes : {1, 4, 32}) measure("random", RED, n, 128, RANDOM_LANE, 31, lanes_on(lanes, 1, 1), "random word");
  for (unsigned n : {2u, 4u, 8u, 16u, 32u, 64u, 128u, 512u, 2048u, 8192u, 32768u, 131072u, 1u << 20, 1u << 21}) measure("random_line", RED, n, 128, RANDOM_LANE, 0, lanes_on(32, 32, 1), "word 0 of a random line");
  for (unsigned n : {2u, 8u, 64u, 1024u, 32768u, 1u << 20}) measure("random_grid", RED, n, 128, RANDOM_LANE, 31, all, "random word", 1, 1024);
  for (unsigned n : {2u, 8u, 64u, 1024u, 32768u, 1u << 20}) measure("random_grid", RED, n, 128, RANDOM_LANE, 31, all, "random word", 33, 1024);
  // 5. A word of its own for every lane, whole lines.
  for (int grid : {1, 8, 33, 132, 528}) measure("own", RED, (unsigned)grid * 8, 128, BY_WARP, 0, all, "line of the warp", grid);
  for (unsigned n : {64u, 1024u, 65536u, 1u << 20, 1u << 21}) measure("own", RED, n, 128, RANDOM_WARP, 0, all, "random line");
  // 6. Other operations.
  for (int op = ATOM; op < OPS; ++op) {
    measure("ops", op, 1, 128, BY_WARP, 0, one, "1 lane");
    for (unsigned n : {2u, 8u, 1024u}) measure("ops", op, n, 128, RANDOM_WARP, 0, one, "1 lane");
    for (unsigned n : {1u, 8u, 1024u}) measure("ops", op, n, 128, RANDOM_WARP, 0, lanes_on(32, 32, 1), "32 lanes on one word");
    int mask = op == RED64 || op == REDF64 ? 15 : 31;
    for (unsigned n : {1u, 8u, 64u, 1024u, 65536u, 1u << 20}) measure("ops", op, n, 128, RANDOM_LANE, mask, all, "random word");
    if (op != RED64 && op != REDF64) for (unsigned n : {1u, 8u, 1024u}) measure("ops", op, n, 128, RANDOM_WARP, 0, all, "lane / 1");
  }
  // 7. Shared memory.
  for (int kind = 0; kind < 10; ++kind)
    for (int warps : {1, 8, 32}) {
      for (int sharing : {1, 2, 4, 8, 16, 32}) { sprintf(name, "lane / %d", sharing); measure_shared(kind, lanes_on(32, sharing, 1), name, 0, warps); }
      for (int lanes : {1, 2, 8}) { sprintf(name, "%d lanes on one word", lanes); measure_shared(kind, lanes_on(lanes, 32, 1), name, 0, warps); }
      for (unsigned mask : {1u, 7u, 31u, 63u, 255u, 1023u}) measure_shared(kind, all, "random word", mask, warps);
    }
  CHECK(cudaDeviceSynchronize());
  return 0;
}
