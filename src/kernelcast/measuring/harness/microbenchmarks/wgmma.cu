// Latency and throughput of the matrix instructions of a group of four warps (wgmma), which only
// compute capability 9.0 has, by type and by the width N of their result.
//
// Luo et al.: Dissecting the NVIDIA Hopper Architecture through Microbenchmarking and Multiple Level
// Analysis, 2025 (arXiv:2501.12084), section on tensor cores: both matrices in shared memory, and
// the result in registers.
//
// A kernel TYPE_nN_xU runs `iterations` times: U instructions on one accumulator, then a wait for
// all of them. What the wait costs cancels in the difference between x24 and x8.

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Names of the accumulator's registers in the assembly: tens of a digit, and lists of 4 to 128.
#define TEN(T)                                                                                \
  "%" #T "0,%" #T "1,%" #T "2,%" #T "3,%" #T "4,%" #T "5,%" #T "6,%" #T "7,%" #T "8,%" #T "9"
#define REGISTERS_4 "%0,%1,%2,%3"
#define REGISTERS_32 TEN() "," TEN(1) "," TEN(2) ",%30,%31"
#define REGISTERS_64 \
  TEN() "," TEN(1) "," TEN(2) "," TEN(3) "," TEN(4) "," TEN(5) ",%60,%61,%62,%63"
#define REGISTERS_128                                                                          \
  TEN() "," TEN(1) "," TEN(2) "," TEN(3) "," TEN(4) "," TEN(5) "," TEN(6) "," TEN(7) "," TEN(8) \
  "," TEN(9) "," TEN(10) "," TEN(11) ",%120,%121,%122,%123,%124,%125,%126,%127"
#define OUT_4(C, D) C(D[0]), C(D[1]), C(D[2]), C(D[3])
#define OUT_16(C, D) OUT_4(C, D), OUT_4(C, (D + 4)), OUT_4(C, (D + 8)), OUT_4(C, (D + 12))
#define OUT_32(C, D) OUT_16(C, D), OUT_16(C, (D + 16))
#define OUT_64(C, D) OUT_32(C, D), OUT_32(C, (D + 32))
#define OUT_128(C, D) OUT_64(C, D), OUT_64(C, (D + 64))

// One instruction: D accumulators, then the descriptors of A and B, then whether D is added to.
#define STEP_4(OP, C, D, SCALES)                                                          \
  asm volatile("{.reg .pred p;\n\tsetp.ne.b32 p, 1, 0;\n\twgmma.mma_async.sync.aligned." OP \
               " {" REGISTERS_4 "}, %4, %5, p" SCALES ";}"                                \
               : OUT_4(C, D)                                                              \
               : "l"(a), "l"(b))
#define STEP_32(OP, C, D, SCALES)                                                         \
  asm volatile("{.reg .pred p;\n\tsetp.ne.b32 p, 1, 0;\n\twgmma.mma_async.sync.aligned." OP \
               " {" REGISTERS_32 "}, %32, %33, p" SCALES ";}"                             \
               : OUT_32(C, D)                                                             \
               : "l"(a), "l"(b))
#define STEP_64(OP, C, D, SCALES)                                                         \
  asm volatile("{.reg .pred p;\n\tsetp.ne.b32 p, 1, 0;\n\twgmma.mma_async.sync.aligned." OP \
               " {" REGISTERS_64 "}, %64, %65, p" SCALES ";}"                             \
               : OUT_64(C, D)                                                             \
               : "l"(a), "l"(b))
#define STEP_128(OP, C, D, SCALES)                                                        \
  asm volatile("{.reg .pred p;\n\tsetp.ne.b32 p, 1, 0;\n\twgmma.mma_async.sync.aligned." OP \
               " {" REGISTERS_128 "}, %128, %129, p" SCALES ";}"                          \
               : OUT_128(C, D)                                                            \
               : "l"(a), "l"(b))

// A matrix in shared memory without swizzling: blocks of 8 rows of 16 bytes, 128 bytes apart along
// K and 256 along the other side.
__device__ __forceinline__ unsigned long long described(const void* matrix) {
  unsigned address = (unsigned)__cvta_generic_to_shared(matrix);
  return (address >> 4 & 0x3fffull) | (128ull >> 4) << 16 | (256ull >> 4) << 32;
}

#define KERNEL(NAME, TYPE, C, D, OP, SCALES, STEPS)                                            \
  extern "C" __global__ void __launch_bounds__(256, 1) NAME##_x##STEPS(                        \
      long long* clocks, TYPE* sink, int iterations, int seed) {                               \
    __shared__ __align__(128) unsigned left[64 * 32 / 4], right[256 * 32 / 4];                 \
    for (int i = threadIdx.x; i < 64 * 32 / 4; i += blockDim.x) left[i] = seed * i;            \
    for (int i = threadIdx.x; i < 256 * 32 / 4; i += blockDim.x) right[i] = seed * i;          \
    unsigned long long a = described(left), b = described(right);                              \
    TYPE d[D];                                                                                 \
    _Pragma("unroll") for (int i = 0; i < D; ++i) d[i] = (TYPE)(seed * i);                     \
    asm volatile("fence.proxy.async;" : "+l"(a), "+l"(b)::"memory");                           \
    __syncthreads();                                                                           \
    long long start = clock64();                                                               \
    _Pragma("unroll 1") for (int n = 0; n < iterations; ++n) {                                 \
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                  \
      _Pragma("unroll") for (int u = 0; u < STEPS; ++u) { STEP_##D(OP, C, d, SCALES); }        \
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                           \
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");                           \
    }                                                                                          \
    long long stop = clock64();                                                                \
    TYPE sum = 0;                                                                              \
    _Pragma("unroll") for (int i = 0; i < D; ++i) sum += d[i];                                 \
    int thread = blockIdx.x * blockDim.x + threadIdx.x;                                        \
    sink[thread] = sum;                                                                        \
    if (threadIdx.x % 32 == 0) {                                                               \
      clocks[thread / 32 * 2] = start;                                                         \
      clocks[thread / 32 * 2 + 1] = stop;                                                      \
    }                                                                                          \
  }
#define KERNELS(NAME, TYPE, C, D, OP, SCALES) \
  KERNEL(NAME, TYPE, C, D, OP, SCALES, 8)     \
  KERNEL(NAME, TYPE, C, D, OP, SCALES, 24)

KERNELS(f16_n8, float, "+f", 4, "m64n8k16.f32.f16.f16", ", 1, 1, 0, 0")
KERNELS(f16_n64, float, "+f", 32, "m64n64k16.f32.f16.f16", ", 1, 1, 0, 0")
KERNELS(f16_n128, float, "+f", 64, "m64n128k16.f32.f16.f16", ", 1, 1, 0, 0")
KERNELS(f16_n256, float, "+f", 128, "m64n256k16.f32.f16.f16", ", 1, 1, 0, 0")
KERNELS(bf16_n128, float, "+f", 64, "m64n128k16.f32.bf16.bf16", ", 1, 1, 0, 0")
KERNELS(tf32_n128, float, "+f", 64, "m64n128k8.f32.tf32.tf32", ", 1, 1")
KERNELS(s8_n128, int, "+r", 64, "m64n128k32.s32.s8.s8", "")
KERNELS(e4m3_n128, float, "+f", 64, "m64n128k32.f32.e4m3.e4m3", ", 1, 1")

#endif
