// Latency and throughput of matrix instructions that one warp issues (mma.sync), by shape and type.
//
// Sun et al.: Dissecting Tensor Cores via Microbenchmarks, 2022, section 4: dependent chains of one
// warp show the latency, several chains and warps the throughput. Jia et al.: Dissecting the NVidia
// Turing T4 GPU via Microbenchmarking, 2019, chapter 4.
//
// A kernel SHAPE_IxU runs `iterations` times a loop of U steps of I independent accumulators, which
// every step reads and writes. The loop itself costs a few cycles; they cancel in the difference
// between SHAPE_1x48 and SHAPE_1x16.

// A step: D accumulator registers of TYPE, A and B operand registers of OPERAND.
#define SHAPE(NAME, TYPE, D, OPERAND, A, B, BODY)                                             \
  struct NAME {                                                                               \
    typedef TYPE Value;                                                                       \
    typedef OPERAND Operand;                                                                  \
    enum { OUTPUTS = D, LEFT = A, RIGHT = B };                                                \
    static __device__ __forceinline__ void step(TYPE* d, const OPERAND* a, const OPERAND* b) { \
      BODY;                                                                                   \
    }                                                                                         \
  };

#define FOUR_TWO(OP, C, R)                                                                    \
  asm volatile("mma.sync.aligned." OP " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : C(d[0]), C(d[1]), C(d[2]), C(d[3])                                           \
               : R(a[0]), R(a[1]), R(a[2]), R(a[3]), R(b[0]), R(b[1]))
#define TWO_ONE(OP, C, R)                                                                     \
  asm volatile("mma.sync.aligned." OP " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"         \
               : C(d[0]), C(d[1]), C(d[2]), C(d[3])                                           \
               : R(a[0]), R(a[1]), R(b[0]))
#define ONE_ONE(OP, C, R)                                                                     \
  asm volatile("mma.sync.aligned." OP " {%0,%1}, {%2}, {%3}, {%0,%1};"                        \
               : C(d[0]), C(d[1])                                                             \
               : R(a[0]), R(b[0]))

SHAPE(M16N8K8F16, float, 4, unsigned, 2, 1,
      TWO_ONE("m16n8k8.row.col.f32.f16.f16.f32", "+f", "r"))
#if __CUDA_ARCH__ < 1000  // later chips compute it by another shape
SHAPE(M8N8K16S8, int, 2, unsigned, 1, 1, ONE_ONE("m8n8k16.row.col.s32.s8.s8.s32", "+r", "r"))
#endif
#if __CUDA_ARCH__ >= 800
SHAPE(M16N8K16F16, float, 4, unsigned, 4, 2,
      FOUR_TWO("m16n8k16.row.col.f32.f16.f16.f32", "+f", "r"))
SHAPE(M16N8K16F16InF16, unsigned, 2, unsigned, 4, 2,
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                   "{%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                   : "+r"(d[0]), "+r"(d[1])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])))
SHAPE(M16N8K8Bf16, float, 4, unsigned, 2, 1,
      TWO_ONE("m16n8k8.row.col.f32.bf16.bf16.f32", "+f", "r"))
SHAPE(M16N8K16Bf16, float, 4, unsigned, 4, 2,
      FOUR_TWO("m16n8k16.row.col.f32.bf16.bf16.f32", "+f", "r"))
SHAPE(M16N8K4Tf32, float, 4, unsigned, 2, 1,
      TWO_ONE("m16n8k4.row.col.f32.tf32.tf32.f32", "+f", "r"))
SHAPE(M16N8K8Tf32, float, 4, unsigned, 4, 2,
      FOUR_TWO("m16n8k8.row.col.f32.tf32.tf32.f32", "+f", "r"))
SHAPE(M16N8K16S8, int, 4, unsigned, 2, 1, TWO_ONE("m16n8k16.row.col.s32.s8.s8.s32", "+r", "r"))
SHAPE(M16N8K32S8, int, 4, unsigned, 4, 2, FOUR_TWO("m16n8k32.row.col.s32.s8.s8.s32", "+r", "r"))
SHAPE(M8N8K4F64, double, 2, double, 1, 1, ONE_ONE("m8n8k4.row.col.f64.f64.f64.f64", "+d", "d"))
#endif
#if __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200  // the others compute it in f16
SHAPE(M16N8K32E4m3, float, 4, unsigned, 4, 2,
      FOUR_TWO("m16n8k32.row.col.f32.e4m3.e4m3.f32", "+f", "r"))
#endif
#if __CUDA_ARCH__ == 900  // the others compute them by the smaller shape
SHAPE(M16N8K4F64, double, 4, double, 2, 1, TWO_ONE("m16n8k4.row.col.f64.f64.f64.f64", "+d", "d"))
SHAPE(M16N8K8F64, double, 4, double, 4, 2, FOUR_TWO("m16n8k8.row.col.f64.f64.f64.f64", "+d", "d"))
#endif

// clocks: start and end of every warp, in cycles of its SM; sink: what the accumulators came to.
template <class Shape, int CHAINS, int STEPS>
__device__ __forceinline__ void measure(long long* clocks, double* sink, int iterations, int seed) {
  typename Shape::Value d[CHAINS][Shape::OUTPUTS];
  typename Shape::Operand a[Shape::LEFT], b[Shape::RIGHT];
  // Not known to the compiler, so that no operand is a constant.
#pragma unroll
  for (int i = 0; i < Shape::LEFT; ++i) a[i] = (typename Shape::Operand)(seed * (i + 3));
#pragma unroll
  for (int i = 0; i < Shape::RIGHT; ++i) b[i] = (typename Shape::Operand)(seed * (i + 5));
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) {
#pragma unroll
    for (int j = 0; j < Shape::OUTPUTS; ++j) {
      d[i][j] = (typename Shape::Value)(seed * (int)(threadIdx.x + i + j));
    }
  }
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int u = 0; u < STEPS; ++u) {
#pragma unroll
      for (int i = 0; i < CHAINS; ++i) Shape::step(d[i], a, b);
    }
  }
  double sum = 0;
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) {
#pragma unroll
    for (int j = 0; j < Shape::OUTPUTS; ++j) sum += (double)d[i][j];
  }
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  sink[thread] = sum;
  long long stop = clock64();
  if (threadIdx.x % 32 == 0) {
    clocks[thread / 32 * 2] = start;
    clocks[thread / 32 * 2 + 1] = stop;
  }
}

#define KERNEL(NAME, TYPE, CHAINS, STEPS)                                                       \
  extern "C" __global__ void NAME##_##CHAINS##x##STEPS(long long* clocks, double* sink,         \
                                                       int iterations, int seed) {              \
    measure<TYPE, CHAINS, STEPS>(clocks, sink, iterations, seed);                               \
  }
#define KERNELS(NAME, TYPE)  \
  KERNEL(NAME, TYPE, 1, 16)  \
  KERNEL(NAME, TYPE, 1, 48)  \
  KERNEL(NAME, TYPE, 2, 16)  \
  KERNEL(NAME, TYPE, 4, 16)

KERNELS(m16n8k8_f16, M16N8K8F16)
#if __CUDA_ARCH__ < 1000
KERNELS(m8n8k16_s8, M8N8K16S8)
#endif
#if __CUDA_ARCH__ >= 800
KERNELS(m16n8k16_f16, M16N8K16F16)
KERNELS(m16n8k16_f16_in_f16, M16N8K16F16InF16)
KERNELS(m16n8k8_bf16, M16N8K8Bf16)
KERNELS(m16n8k16_bf16, M16N8K16Bf16)
KERNELS(m16n8k4_tf32, M16N8K4Tf32)
KERNELS(m16n8k8_tf32, M16N8K8Tf32)
KERNELS(m16n8k16_s8, M16N8K16S8)
KERNELS(m16n8k32_s8, M16N8K32S8)
KERNELS(m8n8k4_f64, M8N8K4F64)
#endif
#if __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
KERNELS(m16n8k32_e4m3, M16N8K32E4m3)
#endif
#if __CUDA_ARCH__ == 900
KERNELS(m16n8k4_f64, M16N8K4F64)
KERNELS(m16n8k8_f64, M16N8K8F64)
#endif
