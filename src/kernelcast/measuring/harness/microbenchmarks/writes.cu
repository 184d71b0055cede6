// Stores to sectors all over an array: how many requests to write the memory takes.
//
// Volkov: Understanding Latency Hiding on GPUs, 2016, section 6.7 (random access). As the reads of
// patterns.cu.

// A number that its neighbours' do not tell: the finalizer of MurmurHash3 (Appleby 2011).
__device__ __forceinline__ unsigned scattered(unsigned x) {
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return x ^ x >> 16;
}

// Every lane writes a word of four random sectors of 32 bytes, again and again.
extern "C" __global__ void random_write(char* to, unsigned sectors, int iterations) {
  unsigned draw = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      unsigned sector = __umulhi(scattered(draw), sectors);
      asm volatile("st.global.u32 [%0], %1;" ::"l"(to + sector * 32ull), "r"(n) : "memory");
      draw += gridDim.x * blockDim.x;
    }
  }
}
