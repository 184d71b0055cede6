// Launches, blocks, barriers and the clock.

// Time from one launch to the next: the slope of the time of k launches over k.
// Volkov: Understanding Latency Hiding on GPUs, 2016, section 3.7.
extern "C" __global__ void empty() {}

// Start and end of every block, and its SM; the SM holds one block, so that the gap between the end
// of one and the start of the next is the replacement. Volkov 2016, section 3.7.
extern "C" __global__ void block_times(long long* clocks, int* sm, int cycles) {
  long long start = clock64();
  long long stop = start;
  while (stop - start < cycles) stop = clock64();
  if (threadIdx.x == 0) {
    int id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    sm[blockIdx.x] = id;
    clocks[blockIdx.x * 2] = start;
    clocks[blockIdx.x * 2 + 1] = clock64();
  }
}

// Cycles of a barrier against the warps of a block. Wong et al.: Demystifying GPU Microarchitecture
// through Microbenchmarking, 2010, section IV.B.
extern "C" __global__ void barriers(long long* clocks, int* sink, int iterations) {
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int u = 0; u < 64; ++u) asm volatile("bar.sync 0;" ::: "memory");
  }
  long long stop = clock64();
  sink[threadIdx.x] = iterations;
  if (threadIdx.x % 32 == 0) {
    clocks[threadIdx.x / 32 * 2] = start;
    clocks[threadIdx.x / 32 * 2 + 1] = stop;
  }
}

// Cycles and nanoseconds over the same span: the clock at which the SM runs now.
extern "C" __global__ void clock_rate(long long* pairs, long long span_ns) {
  long long first, last, begin = clock64();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(first)::"memory");
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(last)::"memory");
  } while (last - first < span_ns);
  long long end = clock64();
  pairs[0] = end - begin;
  pairs[1] = last - first;
}
