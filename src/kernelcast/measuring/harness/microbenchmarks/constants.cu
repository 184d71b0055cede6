// Latency of loads from constant memory by footprint and stride.
//
// Wong et al.: Demystifying GPU Microarchitecture through Microbenchmarking, 2010, section IV;
// Jia et al.: Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking, 2018, chapter 3: a
// pointer chase, whose steps are the latencies of the constant caches and of the L2 cache.

// Word n holds the byte offset of the next; the host writes it for every footprint and stride.
__constant__ unsigned ring[16384];

extern "C" __global__ void chase_constant(long long* clocks, unsigned* sink, int warm_hops,
                                          int hops) {
  // Zero for every lane, which the compiler cannot know: it must not use the uniform datapath.
  unsigned long long base;
  asm volatile("mov.u64 %0, ring;" : "=l"(base));
  unsigned long long p = base + (threadIdx.x >> 10);
#define HOP                                                                              \
  asm volatile("{.reg .u32 t;\n\tld.const.u32 t, [%0];\n\tcvt.u64.u32 %0, t;}" : "+l"(p))
#pragma unroll 1
  for (int n = 0; n < warm_hops; ++n) HOP;
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < hops; n += 32) {
#pragma unroll
    for (int u = 0; u < 32; ++u) HOP;
  }
  sink[threadIdx.x] = (unsigned)p;
  long long stop = clock64();
  if (threadIdx.x % 32 == 0) {
    clocks[threadIdx.x / 32 * 2] = start;
    clocks[threadIdx.x / 32 * 2 + 1] = stop;
  }
}
