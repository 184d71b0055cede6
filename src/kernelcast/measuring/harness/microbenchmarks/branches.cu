// Cost of a branch that the whole warp takes, and of a branch whose lanes go different ways.
//
// Wong et al.: Demystifying GPU Microarchitecture through Microbenchmarking, 2010, section IV:
// the ways of a divergent branch run one after the other.

#define ADD(X, C) asm volatile("fma.rn.f32 %0, %0, %1, " C ";" : "+f"(X) : "f"(scale))

__device__ __forceinline__ void leave(long long* clocks, float* sink, float result,
                                      long long start) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  sink[thread] = result;
  long long stop = clock64();
  if (threadIdx.x % 32 == 0) {
    clocks[thread / 32 * 2] = start;
    clocks[thread / 32 * 2 + 1] = stop;
  }
}

// A loop of LENGTH additions in four independent chains: what an iteration costs beyond them is the
// branch back, and the two instructions that count.
#define LOOP(LENGTH)                                                                      \
  extern "C" __global__ void branch_loop_##LENGTH(long long* clocks, float* sink,         \
                                                  float scale, int iterations) {          \
    float x[4] = {scale, scale + 1, scale + 2, scale + 3};                                \
    long long start = clock64();                                                          \
    _Pragma("unroll 1") for (int n = 0; n < iterations; ++n) {                            \
      _Pragma("unroll") for (int u = 0; u < LENGTH; ++u) ADD(x[u % 4], "0f3f800000");     \
    }                                                                                     \
    leave(clocks, sink, x[0] + x[1] + x[2] + x[3], start);                                \
  }
LOOP(8)
LOOP(16)
LOOP(32)
LOOP(64)

// Lane l goes way l % ways; a way is a chain of LENGTH dependent additions that no other way shares.
#define CASE(N, C, LENGTH)                                       \
  case N:                                                        \
    _Pragma("unroll") for (int u = 0; u < LENGTH; ++u) ADD(x, C); \
    break;
#define CASES(N, C, LENGTH)                                                                    \
  CASE(4 * N, "0f3f80" C "00", LENGTH) CASE(4 * N + 1, "0f3f80" C "01", LENGTH)                \
  CASE(4 * N + 2, "0f3f80" C "02", LENGTH) CASE(4 * N + 3, "0f3f80" C "03", LENGTH)
#define DIVERGE(LENGTH)                                                                        \
  extern "C" __global__ void diverge_##LENGTH(long long* clocks, float* sink, float scale,     \
                                              int ways, int iterations) {                      \
    float x = scale;                                                                           \
    int way = threadIdx.x % 32 % ways;                                                         \
    long long start = clock64();                                                               \
    _Pragma("unroll 1") for (int n = 0; n < iterations; ++n) {                                 \
      switch (way) {                                                                           \
        CASES(0, "00", LENGTH)                                                                 \
        CASES(1, "10", LENGTH)                                                                 \
        CASES(2, "20", LENGTH)                                                                 \
        CASES(3, "30", LENGTH)                                                                 \
        CASES(4, "40", LENGTH)                                                                 \
        CASES(5, "50", LENGTH)                                                                 \
        CASES(6, "60", LENGTH)                                                                 \
        CASES(7, "70", LENGTH)                                                                 \
      }                                                                                        \
      __syncwarp();                                                                            \
    }                                                                                          \
    leave(clocks, sink, x, start);                                                             \
  }
DIVERGE(8)
DIVERGE(24)
