// Atomic additions of the whole chip to a number of addresses, by scope.
//
// Wong et al.: Demystifying GPU Microarchitecture through Microbenchmarking, 2010; Mei and Chu:
// Dissecting GPU Memory Hierarchy through Microbenchmarking, 2017: additions to one address follow
// each other, so that the time is a line in how many each address gets.
//
// Of every warp the first `lanes` lanes add `iterations` times to a word of their own choice out of
// `addresses`, 128 bytes apart where a warp adds with one lane, next to each other where with all.

#define CONTENTION(NAME, OP)                                                                   \
  extern "C" __global__ void NAME(unsigned* words, int addresses, int pitch_words, int lanes,  \
                                  int iterations) {                                            \
    int lane = threadIdx.x % 32;                                                               \
    if (lane >= lanes) return;                                                                 \
    int adder = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * lanes + lane;                   \
    unsigned* p = words + (long long)(adder % addresses) * pitch_words;                        \
    _Pragma("unroll 1") for (int n = 0; n < iterations; n += 16) {                             \
      _Pragma("unroll") for (int u = 0; u < 16; ++u) {                                         \
        asm volatile(OP " [%0], %1;" ::"l"(p), "r"(lane + 1) : "memory");                      \
      }                                                                                        \
    }                                                                                          \
  }

CONTENTION(contend_cta, "red.relaxed.cta.global.add.u32")
CONTENTION(contend_gpu, "red.relaxed.gpu.global.add.u32")
CONTENTION(contend_sys, "red.relaxed.sys.global.add.u32")
