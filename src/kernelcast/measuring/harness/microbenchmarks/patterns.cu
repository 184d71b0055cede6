// Bandwidth of access patterns: reads mixed with writes, strides within the caches of an SM, random
// addresses.
//
// McCalpin: STREAM, 1995 (several arrays read for one written); Volkov: Understanding Latency Hiding
// on GPUs, 2016, section 6.7 (random access); Mei and Chu: Dissecting GPU Memory Hierarchy through
// Microbenchmarking, 2017, section 5 (strides and banks).

// READS arrays are read and WRITES arrays written, `elements` of 16 bytes each, one behind the other,
// `passes` times.
template <int READS, int WRITES>
__device__ __forceinline__ void mix(uint4* to, const uint4* from, long long elements, int passes) {
  long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  long long threads = (long long)gridDim.x * blockDim.x;
  for (int pass = 0; pass < passes; ++pass) {
#pragma unroll 1
    for (long long i = thread; i < elements; i += threads) {
      uint4 value[READS];
#pragma unroll
      for (int r = 0; r < READS; ++r) value[r] = __ldcg(from + r * elements + i);
      uint4 sum = value[0];
#pragma unroll
      for (int r = 1; r < READS; ++r) {
        sum.x ^= value[r].x, sum.y ^= value[r].y, sum.z ^= value[r].z, sum.w ^= value[r].w;
      }
#pragma unroll
      for (int w = 0; w < WRITES; ++w) to[w * elements + i] = sum;
    }
  }
}

#define MIX(READS, WRITES)                                                               \
  extern "C" __global__ void mix_##READS##x##WRITES(uint4* to, const uint4* from,        \
                                                    long long elements, int passes) {    \
    mix<READS, WRITES>(to, from, elements, passes);                                      \
  }
MIX(1, 3)
MIX(1, 2)
MIX(1, 1)
MIX(2, 1)
MIX(3, 1)

// Loads of one block from the same few KiB, `stride` words between the lanes of a warp. The compiler
// cannot know that `toggle` (0) leaves them where they are.
#define LOAD(SPACE, R, AT) \
  asm volatile("ld." SPACE ".u32 %0, [%1+%2];" : "=r"(v[AT]) : R(p), "n"(4 * AT))
#define STRIDE(NAME, SPACE, POINTER, R, BASE)                                                   \
  extern "C" __global__ void NAME(long long* clocks, unsigned* sink, const unsigned* from,      \
                                  int stride, int toggle, int iterations) {                     \
    __shared__ unsigned memory[32 * 32 + 8];                                                    \
    for (int i = threadIdx.x; i < 32 * 32 + 8; i += blockDim.x) memory[i] = from[i];            \
    __syncthreads();                                                                            \
    POINTER p = BASE + threadIdx.x % 32 * stride * 4;                                           \
    unsigned sum = 0;                                                                           \
    long long start = clock64();                                                                \
    _Pragma("unroll 1") for (int n = 0; n < iterations; ++n) {                                  \
      unsigned v[8];                                                                            \
      LOAD(SPACE, R, 0);                                                                        \
      LOAD(SPACE, R, 1);                                                                        \
      LOAD(SPACE, R, 2);                                                                        \
      LOAD(SPACE, R, 3);                                                                        \
      LOAD(SPACE, R, 4);                                                                        \
      LOAD(SPACE, R, 5);                                                                        \
      LOAD(SPACE, R, 6);                                                                        \
      LOAD(SPACE, R, 7);                                                                        \
      _Pragma("unroll") for (int u = 0; u < 8; ++u) sum ^= v[u];                                \
      p ^= toggle;                                                                              \
    }                                                                                           \
    int thread = blockIdx.x * blockDim.x + threadIdx.x;                                         \
    sink[thread] = sum;                                                                         \
    long long stop = clock64();                                                                 \
    if (threadIdx.x % 32 == 0) {                                                                \
      clocks[thread / 32 * 2] = start;                                                          \
      clocks[thread / 32 * 2 + 1] = stop;                                                       \
    }                                                                                           \
  }
STRIDE(stride_l1, "global.ca", unsigned long long, "l", (unsigned long long)from)
STRIDE(stride_shared, "shared", unsigned, "r", (unsigned)__cvta_generic_to_shared(memory))

// A number that its neighbours' do not tell: the finalizer of MurmurHash3 (Appleby 2011).
__device__ __forceinline__ unsigned scattered(unsigned x) {
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return x ^ x >> 16;
}

// Every lane reads from random sectors of 32 bytes, IN_FLIGHT of them at once.
template <int IN_FLIGHT>
__device__ __forceinline__ void random_reads(const char* from, unsigned* sink, unsigned sectors,
                                             int iterations) {
  unsigned draw = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
    unsigned value[IN_FLIGHT];
#pragma unroll
    for (int u = 0; u < IN_FLIGHT; ++u) {
      unsigned sector = __umulhi(scattered(draw), sectors);
      value[u] = __ldcg((const unsigned*)(from + sector * 32ull));
      draw += gridDim.x * blockDim.x;
    }
#pragma unroll
    for (int u = 0; u < IN_FLIGHT; ++u) sum ^= value[u];
  }
  // Never true for the zeros that are read; the compiler cannot know.
  if (sum == 0x5eed) *sink = sum;
}

#define RANDOM(IN_FLIGHT)                                                                     \
  extern "C" __global__ void random_read_##IN_FLIGHT(const char* from, unsigned* sink,        \
                                                     unsigned sectors, int iterations) {      \
    random_reads<IN_FLIGHT>(from, sink, sectors, iterations);                                 \
  }
RANDOM(1)
RANDOM(4)
