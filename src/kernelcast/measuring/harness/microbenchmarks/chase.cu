// Latency of loads by pointer chase: every load gives the address of the next.
//
// Saavedra and Smith: Measuring Cache and TLB Performance and Their Effect on Benchmark Runtimes,
// 1995; on GPUs Wong et al.: Demystifying GPU Microarchitecture through Microbenchmarking, 2010,
// section IV.F. Volkov: Understanding Latency Hiding on GPUs, 2016, section 6.4: with many warps that
// chase at once, the mean latency against the throughput reached.
//
// A ring has `nodes` of up to 32 pointers, one for every lane, `pitch` bytes apart; node n points to
// node n + step. With a pitch of 8 a warp's load is coalesced, with 32 or more every lane touches a
// sector of its own.

#define HOPS_UNROLLED 32

extern "C" __global__ void chase_fill(char* ring, long long nodes, long long step,
                                      long long node_bytes, long long pitch, int lanes) {
  long long count = nodes * lanes;
  long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += stride) {
    long long node = i / lanes, lane = i % lanes;
    long long next = (node + step) % nodes;
    *(char**)(ring + node * node_bytes + lane * pitch) = ring + next * node_bytes + lane * pitch;
  }
}

// One lane of a warp where lanes is 1, all of them where it is 32. Warps start evenly spread.
#define CHASE(NAME, LOAD)                                                                       \
  extern "C" __global__ void NAME(long long* clocks, long long* sink, char* ring,               \
                                  long long nodes, long long node_bytes, long long pitch,       \
                                  int lanes, int warm_hops, int hops) {                         \
    long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;                        \
    long long warps = ((long long)gridDim.x * blockDim.x + 31) / 32;                            \
    long long node = (thread / 32) * nodes / warps;                                             \
    if (threadIdx.x % 32 >= lanes) return;                                                      \
    unsigned long long p =                                                                      \
        (unsigned long long)(ring + node * node_bytes + threadIdx.x % 32 * pitch);              \
    _Pragma("unroll 1") for (int n = 0; n < warm_hops; ++n) asm volatile(LOAD : "+l"(p));       \
    long long start = clock64();                                                                \
    _Pragma("unroll 1") for (int n = 0; n < hops; n += HOPS_UNROLLED) {                         \
      _Pragma("unroll") for (int u = 0; u < HOPS_UNROLLED; ++u) asm volatile(LOAD : "+l"(p));   \
    }                                                                                           \
    sink[thread] = (long long)p;                                                                \
    long long stop = clock64();                                                                 \
    if (threadIdx.x % 32 == 0) {                                                                \
      clocks[thread / 32 * 2] = start;                                                          \
      clocks[thread / 32 * 2 + 1] = stop;                                                       \
    }                                                                                           \
  }

CHASE(chase_ca, "ld.global.ca.u64 %0, [%0];")  // may hit the L1 cache
CHASE(chase_cg, "ld.global.cg.u64 %0, [%0];")  // goes past it to the L2 cache

// Shared memory: `degree` lanes of a warp want different words of one bank, the others one bank each.
// Wong et al. 2010, section IV.D; Mei and Chu: Dissecting GPU Memory Hierarchy through
// Microbenchmarking, 2017, section 5.
extern "C" __global__ void chase_shared(long long* clocks, unsigned* sink, int degree, int hops) {
  __shared__ unsigned words[32 * 32];
  unsigned lane = threadIdx.x % 32;
  for (unsigned i = threadIdx.x; i < 32 * 32; i += blockDim.x) {
    words[i] = (unsigned)__cvta_generic_to_shared(words + i);
  }
  __syncthreads();
  unsigned p =
      (unsigned)__cvta_generic_to_shared(words + ((int)lane < degree ? lane * 32 : lane));
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < hops; n += HOPS_UNROLLED) {
#pragma unroll
    for (int u = 0; u < HOPS_UNROLLED; ++u) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p));
  }
  sink[threadIdx.x] = p;
  long long stop = clock64();
  if (lane == 0) {
    clocks[threadIdx.x / 32 * 2] = start;
    clocks[threadIdx.x / 32 * 2 + 1] = stop;
  }
}

// Latency of L2 hits by SM and by address. Luo et al.: Dissecting the NVIDIA Hopper Architecture
// through Microbenchmarking and Multiple Level Analysis, 2025 (arXiv:2501.12084): where the cache has
// two partitions, hits in the far one take longer. Every node points to itself, so that all loads of
// a node go to one slice. The block on the SM that is asked for measures, the others leave; `seen`
// stays 0 where no block came to lie on that SM.
extern "C" __global__ void l2_slices(long long* cycles, unsigned* seen, char* ring,
                                     long long nodes, long long node_bytes, int sm, int hops) {
  int here;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
  if (here != sm || threadIdx.x != 0 || atomicExch(seen, 1u) != 0) return;
  for (long long node = 0; node < nodes; ++node) {
    unsigned long long p = (unsigned long long)(ring + node * node_bytes);
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p));
    // Never true; both times are taken once the load before has come back.
    if (p == 1) return;
    long long start = clock64();
#pragma unroll 1
    for (int n = 0; n < hops; n += 16) {
#pragma unroll
      for (int u = 0; u < 16; ++u) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p));
    }
    if (p == 1) return;
    cycles[node] = clock64() - start;
  }
}
