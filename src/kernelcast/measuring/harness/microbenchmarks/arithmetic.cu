// Dependent latency, throughput and issue interval of arithmetic instructions.
//
// Volkov: Understanding Latency Hiding on GPUs, 2016, section 3.4: a chain of dependent instructions
// in one warp shows the latency, many warps or chains the throughput. Jia et al.: Dissecting the
// NVIDIA Volta GPU Architecture via Microbenchmarking, 2018, section 4.1.
//
// A kernel OP_IxU runs `iterations` times a loop of U steps of I independent chains. The loop itself
// costs a few cycles; they cancel in the difference between OP_1x192 and OP_1x64.

#define CHAIN(NAME, TYPE, SEED, BODY)                                    \
  struct NAME {                                                         \
    typedef TYPE Value;                                                 \
    static __device__ __forceinline__ TYPE seed(int s) { return SEED; } \
    static __device__ __forceinline__ void step(TYPE& x, TYPE& y, TYPE b, TYPE c) { BODY; } \
  };

CHAIN(Fp32Add, float, s * 0.5f, asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(b)))
CHAIN(Fp32Mul, float, s * 0.5f, asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(b)))
CHAIN(Fp32Fma, float, s * 0.5f,
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(b), "f"(c)))
CHAIN(Fp64Fma, double, s * 0.5,
      asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(x) : "d"(b), "d"(c)))
CHAIN(Fp16Fma, unsigned, s * 0x3c003800u,
      asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(b), "r"(c)))
#if __CUDA_ARCH__ >= 800
CHAIN(Bf16Fma, unsigned, s * 0x3f803f00u,
      asm volatile("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(b), "r"(c)))
#endif
// Sums of three: an addition of two may become IMAD, which has other pipes.
CHAIN(IntAdd, unsigned, s * 3u,
      asm volatile("{.reg .u32 t;\n\tadd.u32 t, %0, %1;\n\tadd.u32 %0, t, %2;\n\t"
                   "add.u32 t, %1, %0;\n\tadd.u32 %1, t, %3;}"
                   : "+r"(x), "+r"(y) : "r"(b), "r"(c)))
CHAIN(IntMad, unsigned, s * 3u,
      asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(b), "r"(c)))
// (x & b) ^ c twice with exchanged operands: no one function of three bits equals both.
CHAIN(Logic, unsigned, s * 0x9e3779b9u,
      asm volatile("lop3.b32 %0, %0, %1, %2, 0x6a;\n\tlop3.b32 %0, %0, %3, %1, 0x6a;"
                   : "+r"(x) : "r"(b), "r"(c), "r"(y)))
CHAIN(Shift, unsigned, s * 3u, asm volatile("shl.b32 %0, %0, %1;" : "+r"(x) : "r"(b)))
CHAIN(Popc, unsigned, s * 3u, asm volatile("popc.b32 %0, %0;" : "+r"(x)))
CHAIN(Convert, unsigned, s * 3u,
      asm volatile("{.reg .f32 t;\n\tcvt.rn.f32.s32 t, %0;\n\tcvt.rzi.s32.f32 %0, t;}" : "+r"(x)))
#if __CUDA_ARCH__ >= 800
// A pair of the same number: of two conversions to one, the assembler makes one to a pair.
CHAIN(ConvertF16, float, s * 0.5f,
      asm volatile("{.reg .b32 t;\n\t.reg .b16 low, high;\n\tcvt.rn.f16x2.f32 t, %0, %0;\n\t"
                   "mov.b32 {low, high}, t;\n\tcvt.f32.f16 %0, low;}"
                   : "+f"(x)))
#else
CHAIN(ConvertF16, float, s * 0.5f,
      asm volatile("{.reg .b16 t;\n\tcvt.rn.f16.f32 t, %0;\n\tcvt.f32.f16 %0, t;}" : "+f"(x)))
#endif
CHAIN(ConvertF64, double, s * 0.5,
      asm volatile("{.reg .f32 t;\n\tcvt.rn.f32.f64 t, %0;\n\tcvt.f64.f32 %0, t;}" : "+d"(x)))
// The smaller and then the larger of exchanged operands: no one minimum of three equals both.
CHAIN(IntMinmax, int, s * 3,
      asm volatile("min.s32 %0, %0, %1;\n\tmax.s32 %0, %0, %2;" : "+r"(x) : "r"(b), "r"(c)))
CHAIN(Fp32Minmax, float, s * 0.5f,
      asm volatile("min.f32 %0, %0, %1;\n\tmax.f32 %0, %0, %2;" : "+f"(x) : "f"(b), "f"(c)))
CHAIN(IntCompare, int, s * 3,
      asm volatile("{.reg .pred p;\n\tsetp.lt.s32 p, %0, %1;\n\tselp.s32 %0, %2, %3, p;}"
                   : "+r"(x) : "r"(b), "r"(c), "r"(y)))
CHAIN(Fp32Compare, float, s * 0.5f,
      asm volatile("{.reg .pred p;\n\tsetp.lt.f32 p, %0, %1;\n\tselp.f32 %0, %2, %3, p;}"
                   : "+f"(x) : "f"(b), "f"(c), "f"(y)))
CHAIN(Rsqrt, float, s * 0.5f, asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x)))
CHAIN(Exp2, float, s * 0.5f, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)))
CHAIN(Sin, float, s * 0.5f, asm volatile("sin.approx.ftz.f32 %0, %0;" : "+f"(x)))
CHAIN(Shuffle, unsigned, s * 3u,
      asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;" : "+r"(x)))

// clocks: start and end of every warp, in cycles of its SM; sink: what the chains came to.
template <class Chain, int CHAINS, int STEPS>
__device__ __forceinline__ void measure(long long* clocks, typename Chain::Value* sink,
                                        int iterations, int seed) {
  typename Chain::Value x[CHAINS], y[CHAINS];
  typename Chain::Value b = Chain::seed(seed + 1), c = Chain::seed(seed + 2);
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) {
    x[i] = Chain::seed(seed + (int)threadIdx.x + i);
    y[i] = Chain::seed(seed + (int)threadIdx.x - i);
  }
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int u = 0; u < STEPS; ++u) {
#pragma unroll
      for (int i = 0; i < CHAINS; ++i) Chain::step(x[i], y[i], b, c);
    }
  }
  long long stop = clock64();
  typename Chain::Value sum = x[0] + y[0];
#pragma unroll
  for (int i = 1; i < CHAINS; ++i) sum = sum + x[i] + y[i];
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  sink[thread] = sum;
  if (threadIdx.x % 32 == 0) {
    clocks[thread / 32 * 2] = start;
    clocks[thread / 32 * 2 + 1] = stop;
  }
}

#define KERNEL(OP, CHAIN_TYPE, CHAINS, STEPS)                                       \
  extern "C" __global__ void OP##_##CHAINS##x##STEPS(                              \
      long long* clocks, CHAIN_TYPE::Value* sink, int iterations, int seed) {      \
    measure<CHAIN_TYPE, CHAINS, STEPS>(clocks, sink, iterations, seed);            \
  }
#define KERNELS(OP, CHAIN_TYPE)  \
  KERNEL(OP, CHAIN_TYPE, 1, 64)  \
  KERNEL(OP, CHAIN_TYPE, 1, 192) \
  KERNEL(OP, CHAIN_TYPE, 2, 64)  \
  KERNEL(OP, CHAIN_TYPE, 4, 64)

KERNELS(fp32_add, Fp32Add)
KERNELS(fp32_mul, Fp32Mul)
KERNELS(fp32_fma, Fp32Fma)
KERNELS(fp64_fma, Fp64Fma)
KERNELS(fp16_fma, Fp16Fma)
#if __CUDA_ARCH__ >= 800
KERNELS(bf16_fma, Bf16Fma)
#endif
KERNELS(int_add, IntAdd)
KERNELS(int_mad, IntMad)
KERNELS(logic, Logic)
KERNELS(shift, Shift)
KERNELS(popc, Popc)
KERNELS(convert, Convert)
KERNELS(convert_f16, ConvertF16)
KERNELS(convert_f64, ConvertF64)
KERNELS(int_minmax, IntMinmax)
KERNELS(fp32_minmax, Fp32Minmax)
KERNELS(int_compare, IntCompare)
KERNELS(fp32_compare, Fp32Compare)
KERNELS(rsqrt, Rsqrt)
KERNELS(exp2, Exp2)
KERNELS(sin, Sin)
KERNELS(shuffle, Shuffle)
