// Bandwidth of DRAM, L2, L1 and shared memory against occupancy, bytes in flight, width and stride.
//
// McCalpin: STREAM, 1995 (read, write, copy of long arrays); Volkov: Understanding Latency Hiding on
// GPUs, 2016, section 6.3: bandwidth needs enough bytes in flight; Mei and Chu: Dissecting GPU Memory
// Hierarchy through Microbenchmarking, 2017, sections 4 and 5.
//
// A thread has IN_FLIGHT accesses under way at once, `stride` elements apart between lanes; a grid
// goes over `elements` (a multiple of IN_FLIGHT times its threads) `passes` times.

template <class T>
__device__ __forceinline__ unsigned fold(T v);
template <>
__device__ __forceinline__ unsigned fold(unsigned v) { return v; }
template <>
__device__ __forceinline__ unsigned fold(uint2 v) { return v.x ^ v.y; }
template <>
__device__ __forceinline__ unsigned fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

template <class T> __device__ __forceinline__ T made(unsigned v);
template <> __device__ __forceinline__ unsigned made(unsigned v) { return v; }
template <> __device__ __forceinline__ uint2 made(unsigned v) { return make_uint2(v, v); }
template <> __device__ __forceinline__ uint4 made(unsigned v) { return make_uint4(v, v, v, v); }

enum { READ, WRITE, COPY };

template <class T, int IN_FLIGHT, int MODE>
__device__ __forceinline__ void stream(T* to, const T* from, unsigned* sink, long long elements,
                                       long long stride, int passes) {
  long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  long long threads = (long long)gridDim.x * blockDim.x;
  unsigned sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
#pragma unroll 1
    for (long long i = thread; i < elements; i += threads * IN_FLIGHT) {
      T value[IN_FLIGHT];
#pragma unroll
      for (int u = 0; u < IN_FLIGHT; ++u) {
        value[u] = MODE == WRITE ? made<T>(pass) : __ldcg(from + (i + u * threads) * stride);
      }
#pragma unroll
      for (int u = 0; u < IN_FLIGHT; ++u) {
        if (MODE == READ) sum ^= fold(value[u]);
        else to[(i + u * threads) * stride] = value[u];
      }
    }
  }
  // Never true for the zeros that are read; the compiler cannot know.
  if (MODE == READ && sum == 0x5eed) *sink = sum;
}

#define STREAM(NAME, T, IN_FLIGHT, MODE)                                                      \
  extern "C" __global__ void NAME(T* to, const T* from, unsigned* sink, long long elements,   \
                                  long long stride, int passes) {                             \
    stream<T, IN_FLIGHT, MODE>(to, from, sink, elements, stride, passes);                     \
  }
#define STREAMS(NAME, MODE)                \
  STREAM(NAME##_4x1, unsigned, 1, MODE)    \
  STREAM(NAME##_4x4, unsigned, 4, MODE)    \
  STREAM(NAME##_8x4, uint2, 4, MODE)       \
  STREAM(NAME##_16x1, uint4, 1, MODE)      \
  STREAM(NAME##_16x4, uint4, 4, MODE)
STREAMS(read, READ)
STREAMS(write, WRITE)
STREAMS(copy, COPY)

// Loads of one block, again and again from the same few KiB, which `toggle` (0) leaves where they
// are: the compiler cannot know, and loads each time.
#define LOAD_4(SPACE, P, AT, R, V) asm volatile("ld." SPACE ".u32 %0, [%1+%2];" : "=r"(V.x) : R(P), "n"(AT))
#define LOAD_8(SPACE, P, AT, R, V) \
  asm volatile("ld." SPACE ".v2.u32 {%0,%1}, [%2+%3];" : "=r"(V.x), "=r"(V.y) : R(P), "n"(AT))
#define LOAD_16(SPACE, P, AT, R, V)                               \
  asm volatile("ld." SPACE ".v4.u32 {%0,%1,%2,%3}, [%4+%5];"      \
               : "=r"(V.x), "=r"(V.y), "=r"(V.z), "=r"(V.w) : R(P), "n"(AT))

#define REPEAT(NAME, SPACE, BYTES, POINTER, R, BASE)                                             \
  extern "C" __global__ void NAME##_##BYTES(long long* clocks, unsigned* sink, const char* from, \
                                            int toggle, int iterations) {                        \
    extern __shared__ char memory[];                                                             \
    for (int i = threadIdx.x * 4; i < blockDim.x * BYTES + 256 * BYTES; i += blockDim.x * 4) {   \
      *(unsigned*)(memory + i) = *(const unsigned*)(from + i);                                   \
    }                                                                                            \
    __syncthreads();                                                                             \
    POINTER p = BASE + threadIdx.x * BYTES;                                                      \
    unsigned sum = 0;                                                                            \
    long long start = clock64();                                                                 \
    _Pragma("unroll 1") for (int n = 0; n < iterations; ++n) {                                   \
      uint4 v[8] = {};                                                                           \
      LOAD_##BYTES(SPACE, p, 0 * 32 * BYTES, R, v[0]);                                           \
      LOAD_##BYTES(SPACE, p, 1 * 32 * BYTES, R, v[1]);                                           \
      LOAD_##BYTES(SPACE, p, 2 * 32 * BYTES, R, v[2]);                                           \
      LOAD_##BYTES(SPACE, p, 3 * 32 * BYTES, R, v[3]);                                           \
      LOAD_##BYTES(SPACE, p, 4 * 32 * BYTES, R, v[4]);                                           \
      LOAD_##BYTES(SPACE, p, 5 * 32 * BYTES, R, v[5]);                                           \
      LOAD_##BYTES(SPACE, p, 6 * 32 * BYTES, R, v[6]);                                           \
      LOAD_##BYTES(SPACE, p, 7 * 32 * BYTES, R, v[7]);                                           \
      _Pragma("unroll") for (int u = 0; u < 8; ++u) sum ^= fold(v[u]);                           \
      p ^= toggle;                                                                               \
    }                                                                                            \
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;                                           \
    long long stop = clock64();                                                                  \
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;                                     \
    if (threadIdx.x % 32 == 0) {                                                                 \
      clocks[warp * 2] = start;                                                                  \
      clocks[warp * 2 + 1] = stop;                                                               \
    }                                                                                            \
  }
#define REPEAT_BOTH(BYTES)                                                                       \
  REPEAT(repeat_l1, "global.ca", BYTES, unsigned long long, "l", (unsigned long long)from)       \
  REPEAT(repeat_shared, "shared", BYTES, unsigned, "r", (unsigned)__cvta_generic_to_shared(memory))
REPEAT_BOTH(4)
REPEAT_BOTH(8)
REPEAT_BOTH(16)
