// What waits for others: MATCH by the values of a warp, loops of compare-and-swap on one word, fences behind stores.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("{\"error\":\"%s line %d: %s\"}\n", #x, __LINE__, cudaGetErrorString(e_)); fflush(stdout); exit(1); } } while (0)

template <typename T>
__global__ void match(int values, bool grouped, int iterations, unsigned* sink, long long* clocks) {
  unsigned lane = threadIdx.x % 32, got = 0;
  T value = grouped ? lane * values / 32 : lane % values;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; n += 4)
#pragma unroll
    for (int u = 0; u < 4; ++u) got = __match_any_sync(0xffffffffu, value + (T)(got & 0x0u)) ^ got;
  long long stop = clock64();
  if (got == 0x5eed1234) *sink = got;
  if (threadIdx.x == 0) *clocks = stop - start;
}

template <typename T>
__global__ void match_random(int values, int iterations, unsigned* sink, long long* clocks) {
  unsigned x = threadIdx.x * 2654435761u, got = 0;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
    x = x * 1664525u + 1013904223u;
    got ^= __match_any_sync(0xffffffffu, (T)__umulhi(x, values));
  }
  long long stop = clock64();
  if (got == 0x5eed1234) *sink = got;
  if (threadIdx.x == 0) *clocks = stop - start;
}

// Adds one by compare-and-swap until it holds; `words` words, 256 bytes apart, by thread.
template <typename T>
__global__ void swaps(T* at, int words, bool by_lane, int iterations, unsigned long long* tries, long long* clocks) {
  unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  T* p = at + (size_t)((by_lane ? thread : thread / 32) % words) * (256 / sizeof(T));
  unsigned long long tried = 0;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
    T old = *(volatile T*)p, was;
    do {
      was = old;
      old = atomicCAS(p, was, was + 1);
      ++tried;
    } while (old != was);
  }
  long long stop = clock64();
  atomicAdd(tries, tried);
  if (threadIdx.x == 0) clocks[blockIdx.x] = stop - start;
}

// One maximum a thread, as many programs write it: from the first value of the word on, until the word is no less.
__global__ void maxima(unsigned long long* at, unsigned long long* tries, bool falling) {
  unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long value = falling ? gridDim.x * blockDim.x - thread : thread + 1, old = *at, was;
  unsigned long long tried = 0;
  do {
    was = old;
    old = atomicCAS(at, was, value > was ? value : was);
    ++tried;
  } while (old != was);
  atomicAdd(tries, tried);
}

__device__ __forceinline__ void fence(int scope) {
  if (scope == 0) __threadfence_block();
  if (scope == 1) __threadfence();
  if (scope == 2) __threadfence_system();
}

// `stores` stores of a warp, each to a line of its own or its lanes to 32, then a fence.
template <int SCOPE>
__global__ void fences(unsigned* at, int stores, int lanes_apart, int iterations, long long* clocks) {
  size_t thread = blockIdx.x * blockDim.x + threadIdx.x, all = (size_t)gridDim.x * blockDim.x;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll 1
    for (int k = 0; k < stores; ++k) *(volatile unsigned*)(at + (k * all + thread) * lanes_apart) = n;
    fence(SCOPE);
  }
  long long stop = clock64();
  if (threadIdx.x == 0) clocks[blockIdx.x] = stop - start;
}

static long long* clocks;
static long long told[4096];
static cudaEvent_t from, to;

static double mean(int blocks) {
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(told, clocks, blocks * 8, cudaMemcpyDeviceToHost));
  double sum = 0;
  for (int i = 0; i < blocks; ++i) sum += told[i];
  return sum / blocks;
}

template <typename P, typename F>
static double timed(P prepare, F launch) {
  float ms = 0;
  for (int i = 0; i < 2; ++i) {
    prepare();
    OK(cudaEventRecord(from));
    launch();
    OK(cudaGetLastError());
    OK(cudaEventRecord(to));
    OK(cudaEventSynchronize(to));
    OK(cudaEventElapsedTime(&ms, from, to));
  }
  return ms * 1e-3;
}

template <int SCOPE>
static void of_scope(unsigned* memory, const char* name, bool quick) {
  for (int blocks : {1, 132})
    for (int threads : {32, 128, 512, 1024})
      for (int stores : {0, 1, 4})
        for (int apart : {1, 8, 32}) {
          if (quick && (threads > 32 || blocks > 1)) continue;
          if (stores == 0 && apart > 1) continue;
          double seconds = timed([] {}, [&] { fences<SCOPE><<<blocks, threads>>>(memory, stores, apart, 16, clocks); });
          printf("{\"probe\":\"fence\",\"scope\":\"%s\",\"blocks\":%d,\"threads\":%d,\"stores\":%d,\"words_apart\":%d,\"cycles\":%.2f,\"seconds\":%.8g}\n", name, blocks, threads, stores, apart, mean(blocks) / 16, seconds);
        }
}

int main(int argc, char** argv) {
  bool quick = argc > 1;
  unsigned* sink;
  unsigned* memory;
  unsigned long long* tries;
  unsigned long long* words;
  OK(cudaMalloc(&sink, 4));
  OK(cudaMalloc(&memory, 512u << 20));
  OK(cudaMalloc(&tries, 8));
  OK(cudaMalloc(&words, 1 << 20));
  OK(cudaMalloc(&clocks, 4096 * 8));
  OK(cudaEventCreate(&from));
  OK(cudaEventCreate(&to));
  for (int warps : {1, 2, 4, 8, 16, 32}) {
    if (quick && warps > 1) continue;
    for (int values : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
      int n = quick ? 4 : 256;
      double c[5];
      for (int i = 0; i < 2; ++i) {
        match<unsigned><<<1, 32 * warps>>>(values, false, n, sink, clocks); c[0] = mean(1) / n;
        match<unsigned><<<1, 32 * warps>>>(values, true, n, sink, clocks); c[1] = mean(1) / n;
        match<unsigned long long><<<1, 32 * warps>>>(values, false, n, sink, clocks); c[2] = mean(1) / n;
        match_random<unsigned><<<1, 32 * warps>>>(values, n, sink, clocks); c[3] = mean(1) / n;
        match_random<unsigned long long><<<1, 32 * warps>>>(values, n, sink, clocks); c[4] = mean(1) / n;
      }
      printf("{\"probe\":\"match\",\"warps\":%d,\"values\":%d,\"cycles\":%.3f,\"cycles_grouped\":%.3f,\"cycles_64\":%.3f,\"cycles_random\":%.3f,\"cycles_random_64\":%.3f}\n", warps, values, c[0], c[1], c[2], c[3], c[4]);
      fflush(stdout);
    }
  }
  int shapes[][2] = {{1, 1}, {1, 32}, {1, 64}, {1, 256}, {1, 1024}, {2, 32}, {8, 32}, {32, 32}, {132, 32}, {8, 256}, {132, 256}};
  for (auto& shape : shapes)
    for (int several : {1, 2, 8, 64})
      for (bool by_lane : {false, true}) {
        if (quick && shape[0] * shape[1] > 32) continue;
        int n = quick ? 1 : shape[0] * shape[1] > 4096 ? 1 : shape[0] * shape[1] > 256 ? 2 : 16;
        for (int wide = 0; wide < 2; ++wide) {
          auto prepare = [&] {
            OK(cudaMemset(tries, 0, 8));
            OK(cudaMemset(words, 0, 1 << 20));
          };
          double seconds = timed(prepare, [&] {
            if (wide) swaps<unsigned long long><<<shape[0], shape[1]>>>(words, several, by_lane, n, tries, clocks);
            else swaps<unsigned><<<shape[0], shape[1]>>>((unsigned*)words, several, by_lane, n, tries, clocks);
          });
          double cycles = mean(shape[0]);
          unsigned long long tried;
          OK(cudaMemcpy(&tried, tries, 8, cudaMemcpyDeviceToHost));
          printf("{\"probe\":\"swap\",\"bytes\":%d,\"blocks\":%d,\"threads\":%d,\"words\":%d,\"by_lane\":%d,\"each\":%d,\"seconds\":%.8g,\"cycles\":%.1f,\"tries\":%llu}\n", wide ? 8 : 4, shape[0], shape[1], several, by_lane, n, seconds, cycles, tried);
          fflush(stdout);
        }
      }
  for (int blocks : {1, 8, 132, 528, 1056})
    for (int threads : {32, 256})
      for (bool falling : {false, true}) {
        if (quick && blocks > 1) continue;
        auto prepare = [&] {
          OK(cudaMemset(tries, 0, 8));
          OK(cudaMemset(words, 0, 256));
        };
        double seconds = timed(prepare, [&] { maxima<<<blocks, threads>>>(words, tries, falling); });
        unsigned long long tried;
        OK(cudaMemcpy(&tried, tries, 8, cudaMemcpyDeviceToHost));
        printf("{\"probe\":\"maxima\",\"blocks\":%d,\"threads\":%d,\"falling\":%d,\"seconds\":%.8g,\"tries\":%llu}\n", blocks, threads, falling, seconds, tried);
        fflush(stdout);
      }
  of_scope<0>(memory, "block", quick);
  of_scope<1>(memory, "gpu", quick);
  of_scope<2>(memory, "system", quick);
  return 0;
}
