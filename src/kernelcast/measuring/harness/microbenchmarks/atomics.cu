// Atomic additions by contention: how many lanes of a warp, and how many warps, share an address.
//
// Wong et al.: Demystifying GPU Microarchitecture through Microbenchmarking, 2010; Mei and Chu:
// Dissecting GPU Memory Hierarchy through Microbenchmarking, 2017.
//
// Lane l of warp w adds to word l / sharing of its warp's line, or of one line for all warps where
// `line_words` is 0. atom waits for the old value, red does not.

#define ATOMICS(NAME, ADD, SPACE_POINTER)                                                  \
  extern "C" __global__ void NAME(long long* clocks, unsigned* sink, unsigned* words,      \
                                  int sharing, int line_words, int iterations) {           \
    int thread = blockIdx.x * blockDim.x + threadIdx.x;                                    \
    SPACE_POINTER;                                                                         \
    unsigned old = thread;                                                                 \
    __syncthreads();                                                                       \
    long long start = clock64();                                                           \
    _Pragma("unroll 1") for (int n = 0; n < iterations; n += 16) {                         \
      _Pragma("unroll") for (int u = 0; u < 16; ++u) { ADD; }                              \
    }                                                                                      \
    sink[thread] = old;                                                                    \
    long long stop = clock64();                                                            \
    if (threadIdx.x % 32 == 0) {                                                           \
      clocks[thread / 32 * 2] = start;                                                     \
      clocks[thread / 32 * 2 + 1] = stop;                                                  \
    }                                                                                      \
  }

#define GLOBAL_WORD \
  unsigned* p = words + (long long)(thread / 32) * line_words + threadIdx.x % 32 / sharing
#define SHARED_WORD                                                                        \
  __shared__ unsigned line[32 * 32];                                                       \
  line[threadIdx.x] = 0;                                                                   \
  unsigned p = (unsigned)__cvta_generic_to_shared(                                         \
      line + (line_words ? threadIdx.x / 32 * 32 : 0) + threadIdx.x % 32 / sharing)

// The value added is the last one returned: a chain, so that each waits for the one before.
ATOMICS(atom_global, asm volatile("atom.global.add.u32 %0, [%1], %0;" : "+r"(old) : "l"(p) : "memory"),
        GLOBAL_WORD)
ATOMICS(red_global, asm volatile("red.global.add.u32 [%0], %1;" ::"l"(p), "r"(old) : "memory"),
        GLOBAL_WORD)
ATOMICS(atom_shared, asm volatile("atom.shared.add.u32 %0, [%1], %0;" : "+r"(old) : "r"(p) : "memory"),
        SHARED_WORD)
