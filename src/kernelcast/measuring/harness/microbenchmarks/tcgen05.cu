// Throughput of the matrix instructions of compute capability 10.x (tcgen05.mma), by type.
//
// The method is that of wgmma.cu (Luo et al.: Dissecting the NVIDIA Hopper Architecture through
// Microbenchmarking and Multiple Level Analysis, 2025): both matrices in shared memory, the result in
// the SM's tensor memory.
//
// A kernel TYPE_n256_xU runs `iterations` times: U instructions on one accumulator, which one thread
// issues, then a wait for all of them. What the wait costs cancels in the difference between x48 and
// x16.

#if defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1100

#define ROWS 128
#define COLUMNS 256
#define ROW_BYTES 32

// A matrix in shared memory without swizzling: blocks of 8 rows of 16 bytes, 128 bytes apart along
// K and 256 along the other side; bit 46 is the version of the descriptor.
__device__ __forceinline__ unsigned long long described(const void* matrix) {
  unsigned address = (unsigned)__cvta_generic_to_shared(matrix);
  return (address >> 4 & 0x3fffull) | (128ull >> 4) << 16 | (256ull >> 4) << 32 | 1ull << 46;
}

// PTX ISA, instruction descriptor: sums in single precision, the type of A and B, the shape.
#define INSTRUCTION(TYPE) \
  (1u << 4 | TYPE << 7 | TYPE << 10 | (COLUMNS / 8) << 17 | (ROWS / 16) << 24)

#define KERNEL(NAME, KIND, TYPE, STEPS)                                                           \
  extern "C" __global__ void __launch_bounds__(32, 1) NAME##_x##STEPS(                            \
      long long* clocks, unsigned* sink, int iterations, int seed) {                              \
    __shared__ __align__(128) unsigned left[ROWS * ROW_BYTES / 4], right[COLUMNS * ROW_BYTES / 4]; \
    __shared__ __align__(8) unsigned long long barrier;                                           \
    __shared__ unsigned place;                                                                    \
    for (int i = threadIdx.x; i < ROWS * ROW_BYTES / 4; i += 32) left[i] = seed * i;              \
    for (int i = threadIdx.x; i < COLUMNS * ROW_BYTES / 4; i += 32) right[i] = seed * i;          \
    unsigned done = (unsigned)__cvta_generic_to_shared(&barrier);                                 \
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 256;"             \
                 ::"r"((unsigned)__cvta_generic_to_shared(&place)) : "memory");                   \
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(done) : "memory"); \
    asm volatile("fence.proxy.async;" ::: "memory");                                              \
    __syncthreads();                                                                              \
    unsigned sums = place;                                                                        \
    unsigned long long a = described(left), b = described(right);                                 \
    if (threadIdx.x == 0) {                                                                       \
      long long start = clock64();                                                                \
      _Pragma("unroll 1") for (int n = 0; n < iterations; ++n) {                                  \
        _Pragma("unroll") for (int u = 0; u < STEPS; ++u) {                                       \
          asm volatile("{.reg .pred p;\n\tsetp.ne.b32 p, 1, 0;\n\t"                               \
                       "tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p;}"            \
                       ::"r"(sums), "l"(a), "l"(b), "r"(INSTRUCTION(TYPE)) : "memory");           \
        }                                                                                         \
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" \
                     ::"r"(done) : "memory");                                                     \
        unsigned is_done;                                                                         \
        do {                                                                                      \
          asm volatile("{.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\t"   \
                       "selp.u32 %0, 1, 0, p;}" : "=r"(is_done) : "r"(done), "r"(n & 1) : "memory"); \
        } while (!is_done);                                                                       \
      }                                                                                           \
      long long stop = clock64();                                                                 \
      clocks[blockIdx.x * 2] = start;                                                             \
      clocks[blockIdx.x * 2 + 1] = stop;                                                          \
    }                                                                                             \
    __syncwarp();                                                                                 \
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");                               \
    unsigned sum;                                                                                 \
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n\t"                          \
                 "tcgen05.wait::ld.sync.aligned;" : "=r"(sum) : "r"(sums) : "memory");            \
    sink[blockIdx.x * 32 + threadIdx.x] = sum;                                                    \
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 256;" ::"r"(sums) : "memory"); \
  }
#define KERNELS(NAME, KIND, TYPE) \
  KERNEL(NAME, KIND, TYPE, 16)    \
  KERNEL(NAME, KIND, TYPE, 48)

KERNELS(tcgen05_f16_n256, "f16", 0u)
KERNELS(tcgen05_bf16_n256, "f16", 1u)
KERNELS(tcgen05_tf32_n256, "tf32", 2u)
KERNELS(tcgen05_e4m3_n256, "f8f6f4", 0u)

#endif
