// How many loads a warp, and an SM, may have under way at once; how fast a warp stores.
//
// Volkov: Understanding Latency Hiding on GPUs, 2016: by Little's law the loads in flight are their
// rate times their latency. Chains of dependent loads that run side by side take no
// longer than one, until something limits the loads in flight.
//
// The ring is that of chase.cu: nodes of one pointer per lane, `pitch` bytes apart. The chains of a
// warp start evenly spread over the ring, as do the warps.

template <int CHAINS>
__device__ __forceinline__ void chase(long long* clocks, long long* sink, char* ring,
                                      long long nodes, long long node_bytes, long long pitch,
                                      int lanes, int hops) {
  if (threadIdx.x % 32 >= lanes) return;
  long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  long long chains = ((long long)gridDim.x * blockDim.x + 31) / 32 * CHAINS;
  unsigned long long p[CHAINS];
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) {
    long long node = (thread / 32 * CHAINS + i) * nodes / chains;
    p[i] = (unsigned long long)(ring + node * node_bytes + threadIdx.x % 32 * pitch);
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p[i]));
  }
  unsigned long long sum = 0;
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) sum ^= p[i];
  // Never true; both times are taken once all loads before have come back.
  if (sum == 1) return;
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < hops; ++n) {
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p[i]));
  }
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) sum ^= p[i];
  if (sum == 1) return;
  long long stop = clock64();
  sink[thread] = (long long)sum;
  if (threadIdx.x % 32 == 0) {
    clocks[thread / 32 * 2] = start;
    clocks[thread / 32 * 2 + 1] = stop;
  }
}

#define CHAINS(N)                                                                                \
  extern "C" __global__ void chains_##N(long long* clocks, long long* sink, char* ring,          \
                                        long long nodes, long long node_bytes, long long pitch,  \
                                        int lanes, int hops) {                                   \
    chase<N>(clocks, sink, ring, nodes, node_bytes, pitch, lanes, hops);                         \
  }
CHAINS(1)
CHAINS(2)
CHAINS(3)
CHAINS(4)
CHAINS(6)
CHAINS(8)
CHAINS(12)
CHAINS(16)
CHAINS(24)

// Stores of one warp, one behind the other: 32 of them, a line apart, again and again.
extern "C" __global__ void stores(long long* clocks, unsigned* sink, unsigned* to, int iterations) {
  unsigned* p = to + threadIdx.x;
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int u = 0; u < 32; ++u) {
      asm volatile("st.global.u32 [%0], %1;" ::"l"(p + 32 * u), "r"(n) : "memory");
    }
  }
  long long stop = clock64();
  sink[threadIdx.x] = iterations;
  if (threadIdx.x % 32 == 0) {
    clocks[threadIdx.x / 32 * 2] = start;
    clocks[threadIdx.x / 32 * 2 + 1] = stop;
  }
}
