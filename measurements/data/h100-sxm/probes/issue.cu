// Issue side of an SM: pipes that instructions share, the order in which warps issue, what a held
// dispatch stops, what branches cost. One JSON object per line. One block on one SM.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <vector>
#define CHECK(call)                                                                     \
  do {                                                                                  \
    cudaError_t e = (call);                                                             \
    if (e != cudaSuccess) {                                                             \
      printf("{\"error\": \"%s\", \"line\": %d}\n", cudaGetErrorString(e), __LINE__);    \
      fflush(stdout); exit(1);                                                          \
    }                                                                                   \
  } while (0)

struct State { unsigned u; unsigned v; float f; double d; unsigned b, c; float fb, fc; double db, dc; unsigned addr; unsigned long long w; };
#define OP(NAME, ASM) struct NAME { static const char* name() { return #NAME; } \
  static __device__ __forceinline__ void step(State& s) { ASM; } };
namespace ops {
OP(none, )
OP(fadd, asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(s.f) : "f"(s.fb)))
OP(fmul, asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(s.f) : "f"(s.fb)))
OP(ffma, asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(s.f) : "f"(s.fb), "f"(s.fc)))
OP(ffma_imm, asm volatile("fma.rn.f32 %0, %0, %1, 0f3f800001;" : "+f"(s.f) : "f"(s.fb)))
OP(imad, asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(s.v) : "r"(s.b), "r"(s.c)))
OP(imad_wide, asm volatile("{.reg .u32 lo, hi;\n\tmov.b64 {lo, hi}, %0;\n\tmad.wide.u32 %0, lo, %1, %0;}" : "+l"(s.w) : "r"(s.b)))
OP(imad_hi, asm volatile("mul.hi.u32 %0, %0, %1;" : "+r"(s.v) : "r"(s.b)))
OP(iadd3, asm volatile("{.reg .u32 t;\n\tadd.u32 t, %0, %1;\n\tadd.u32 %0, t, %2;}" : "+r"(s.u) : "r"(s.b), "r"(s.c)))
OP(add2, asm volatile("add.u32 %0, %0, %1;" : "+r"(s.u) : "r"(s.b)))
OP(add_imm, asm volatile("add.u32 %0, %0, 12345;" : "+r"(s.u)))
OP(add_imm2, asm volatile("add.s32 %0, %0, %1;\n\txor.b32 %0, %0, 12345;" : "+r"(s.u) : "r"(s.b)))
OP(add_lt, asm volatile("{.reg .pred p;\n\tadd.s32 %0, %0, 1;\n\tsetp.lt.s32 p, %0, %1;\n\tselp.s32 %0, %0, %2, p;}" : "+r"(s.u) : "r"(s.b), "r"(s.c)))
OP(lop3, asm volatile("lop3.b32 %0, %0, %1, %2, 0x6a;" : "+r"(s.u) : "r"(s.b), "r"(s.c)))
OP(shf, asm volatile("shf.l.wrap.b32 %0, %0, %1, %2;" : "+r"(s.u) : "r"(s.b), "r"(s.c)))
OP(shl_, asm volatile("shl.b32 %0, %0, %1;" : "+r"(s.u) : "r"(s.b)))
OP(prmt, asm volatile("prmt.b32 %0, %0, %1, 0x3021;" : "+r"(s.u) : "r"(s.b)))
OP(imnmx, asm volatile("min.s32 %0, %0, %1;\n\tmax.s32 %0, %0, %2;" : "+r"(s.u) : "r"(s.b), "r"(s.c)))
OP(setsel, asm volatile("{.reg .pred p;\n\tsetp.lt.s32 p, %0, %1;\n\tselp.s32 %0, %2, %0, p;}" : "+r"(s.u) : "r"(s.b), "r"(s.c)))
OP(fsetsel, asm volatile("{.reg .pred p;\n\tsetp.lt.f32 p, %0, %1;\n\tselp.f32 %0, %2, %0, p;}" : "+f"(s.f) : "f"(s.fb), "f"(s.fc)))
OP(popc, asm volatile("popc.b32 %0, %0;" : "+r"(s.u)))
OP(flo, asm volatile("bfind.u32 %0, %0;" : "+r"(s.u)))
OP(brev, asm volatile("brev.b32 %0, %0;" : "+r"(s.u)))
OP(ex2, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(s.f)))
OP(i2f_rn, asm volatile("{.reg .f32 t;\n\tcvt.rn.f32.s32 t, %0;\n\tmov.b32 %0, t;}" : "+r"(s.v)))
OP(i2f_rp, asm volatile("{.reg .f32 t;\n\tcvt.rp.f32.u32 t, %0;\n\tmov.b32 %0, t;}" : "+r"(s.v)))
OP(f2i, asm volatile("{.reg .s32 t;\n\tcvt.rzi.s32.f32 t, %0;\n\tmov.b32 %0, t;}" : "+f"(s.f)))
OP(frnd, asm volatile("cvt.rmi.f32.f32 %0, %0;" : "+f"(s.f)))
OP(f2f64, asm volatile("{.reg .f32 t;\n\tcvt.rn.f32.f64 t, %0;\n\tcvt.f64.f32 %0, t;}" : "+d"(s.d)))
OP(f2fp_h, asm volatile("{.reg .b32 t;\n\tcvt.rn.f16x2.f32 t, %0, %1;\n\tmov.b32 %0, t;}" : "+f"(s.f) : "f"(s.fb)))
OP(rcp64h, asm volatile("rcp.approx.ftz.f64 %0, %0;" : "+d"(s.d)))
OP(hfma2, asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(s.v) : "r"(s.b), "r"(s.c)))
OP(hadd2, asm volatile("add.rn.f16x2 %0, %0, %1;" : "+r"(s.v) : "r"(s.b)))
OP(dfma, asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(s.d) : "d"(s.db), "d"(s.dc)))
OP(dadd, asm volatile("add.rn.f64 %0, %0, %1;" : "+d"(s.d) : "d"(s.db)))
OP(dmul, asm volatile("mul.rn.f64 %0, %0, %1;" : "+d"(s.d) : "d"(s.db)))
OP(dsetp, asm volatile("{.reg .pred p;\n\tsetp.lt.f64 p, %0, %1;\n\tselp.f64 %0, %2, %0, p;}" : "+d"(s.d) : "d"(s.db), "d"(s.dc)))
OP(shfl, asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;" : "+r"(s.u)))
OP(vote, asm volatile("{.reg .pred p;\n\tsetp.ne.u32 p, %0, 0;\n\tvote.sync.ballot.b32 %0, p, 0xffffffff;}" : "+r"(s.v)))
OP(redux, asm volatile("redux.sync.add.u32 %0, %0, 0xffffffff;" : "+r"(s.v)))
OP(match_any, asm volatile("match.any.sync.b32 %0, %0, 0xffffffff;" : "+r"(s.v)))
OP(lds, asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(s.v) : "r"(s.addr)))
OP(lds_chain, asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(s.addr)))
OP(sts, asm volatile("st.volatile.shared.u32 [%1], %0;" : : "r"(s.b), "r"(s.addr)))
OP(clk, asm volatile("{.reg .u64 t;\n\tmov.u64 t, %%clock64;\n\tadd.u64 %0, %0, t;}" : "+l"(s.w)))
OP(dp4a, asm volatile("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(s.v) : "r"(s.b), "r"(s.c)))
OP(bfe_, asm volatile("bfe.u32 %0, %0, %1, 9;" : "+r"(s.u) : "r"(s.b)))
}  // namespace ops

__device__ __forceinline__ void init(State& s, int seed, unsigned shared_at) {
  s.u = seed * 3 + threadIdx.x; s.v = seed * 5 + threadIdx.x; s.f = seed * 0.5f + threadIdx.x;
  s.d = seed * 0.25 + threadIdx.x; s.b = seed * 7 + 3; s.c = seed * 11 + 5; s.fb = seed * 0.75f; s.fc = seed * 1.25f;
  s.db = seed * 0.3; s.dc = seed * 0.7; s.addr = shared_at + threadIdx.x % 32 * 4; s.w = seed + threadIdx.x;
}
__device__ __forceinline__ void fold(State& s, float* sink) {
  sink[threadIdx.x] = (float)s.u + s.v + s.f + (float)s.d + s.addr + (float)s.w;
}
template <class A, class B, int ILP, int STEPS>
__global__ void __launch_bounds__(1024) mix(long long* clocks, float* sink, int iterations, int seed) {
  __shared__ unsigned words[32];
  unsigned at = (unsigned)__cvta_generic_to_shared(words);
  if (threadIdx.x < 32) words[threadIdx.x] = at + threadIdx.x * 4;
  State s[ILP];
#pragma unroll
  for (int i = 0; i < ILP; ++i) init(s[i], seed + i, at);
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int u = 0; u < STEPS; ++u)
#pragma unroll
      for (int i = 0; i < ILP; ++i) { A::step(s[i]); B::step(s[i]); }
  }
  long long stop = clock64();
#pragma unroll
  for (int i = 1; i < ILP; ++i) { s[0].u += s[i].u; s[0].v += s[i].v; s[0].f += s[i].f; s[0].d += s[i].d; s[0].w += s[i].w; s[0].addr += s[i].addr; }
  fold(s[0], sink);
  if (threadIdx.x % 32 == 0) { clocks[threadIdx.x / 32 * 2] = start; clocks[threadIdx.x / 32 * 2 + 1] = stop; }
}
// Warps of scheduler 0 only: warp 0 executes V, the next `others` execute A.
template <class V, class A, int ILP>
__global__ void __launch_bounds__(1024) victim(long long* clocks, float* sink, int iterations, int seed, int others, int offset) {
  __shared__ unsigned words[32];
  unsigned at = (unsigned)__cvta_generic_to_shared(words);
  if (threadIdx.x < 32) words[threadIdx.x] = at + threadIdx.x * 4;
  State s[ILP];
#pragma unroll
  for (int i = 0; i < ILP; ++i) init(s[i], seed + i, at);
  int warp = threadIdx.x / 32;
  __syncthreads();
  if (warp % 4) return;
  warp /= 4;
  if (warp > others) return;
  if (warp)
    for (int n = 0; n < offset * warp; ++n) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(s[0].f) : "f"(s[0].fb));
  long long start = clock64();
  if (warp == 0) {
#pragma unroll 1
    for (int n = 0; n < iterations; ++n) {
#pragma unroll
      for (int u = 0; u < 64; ++u) V::step(s[0]);
    }
  } else {
#pragma unroll 1
    for (int n = 0; n < 2 * iterations; ++n) {
#pragma unroll
      for (int u = 0; u < 64 / ILP; ++u)
#pragma unroll
        for (int i = 0; i < ILP; ++i) A::step(s[i]);
    }
  }
  long long stop = clock64();
#pragma unroll
  for (int i = 1; i < ILP; ++i) { s[0].u += s[i].u; s[0].v += s[i].v; s[0].f += s[i].f; s[0].d += s[i].d; s[0].w += s[i].w; }
  fold(s[0], sink);
  if (threadIdx.x % 32 == 0) { clocks[warp * 2] = start; clocks[warp * 2 + 1] = stop; }
}
// The order of issue: each warp of scheduler 0 notes the clock after every GROUP instructions.
template <class A, int ILP, int GROUP>
__global__ void __launch_bounds__(1024) order(long long* noted, float* sink, int seed) {
  State s[ILP];
#pragma unroll
  for (int i = 0; i < ILP; ++i) init(s[i], seed + i, 0);
  int warp = threadIdx.x / 32;
  long long t[16];
  __syncthreads();
  if (warp % 4) return;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t[k]));
#pragma unroll
    for (int u = 0; u < GROUP; ++u) A::step(s[u % ILP]);
  }
#pragma unroll
  for (int i = 1; i < ILP; ++i) { s[0].u += s[i].u; s[0].v += s[i].v; s[0].f += s[i].f; }
  fold(s[0], sink);
  if (threadIdx.x % 32 == 0)
    for (int k = 0; k < 16; ++k) noted[warp / 4 * 16 + k] = t[k];
}
// Branches: a loop of LENGTH additions in four chains.
template <int LENGTH>
__global__ void __launch_bounds__(1024) loop(long long* clocks, float* sink, float scale, int iterations) {
  float x[4] = {scale, scale + 1, scale + 2, scale + 3};
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int u = 0; u < LENGTH; ++u) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(x[u % 4]) : "f"(scale));
  }
  long long stop = clock64();
  sink[threadIdx.x] = x[0] + x[1] + x[2] + x[3];
  if (threadIdx.x % 32 == 0) { clocks[threadIdx.x / 32 * 2] = start; clocks[threadIdx.x / 32 * 2 + 1] = stop; }
}
#define TWELVE(X, C) { _Pragma("unroll") for (int q = 0; q < 40; ++q) asm volatile("fma.rn.f32 %0, %0, %1, " C ";" : "+f"(X) : "f"(scale)); }
// A branch over 40 instructions: never taken by any lane, taken by all, or by half of the lanes.
// mode 0: all lanes execute them; 1: all lanes jump over; 2: half of the lanes do.
__global__ void __launch_bounds__(1024) branch_over(long long* clocks, float* sink, float scale, int iterations, int mode) {
  float x = scale;
  int lane = threadIdx.x % 32;
  int choice = mode == 0 ? 0 : mode == 1 ? 1 : lane < 16;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      asm volatile("mov.u32 %0, %0;" : "+r"(choice));
      if (choice != 1) TWELVE(x, "0f3f800001");
      asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(scale));
    }
  }
  long long stop = clock64();
  sink[threadIdx.x] = x;
  if (threadIdx.x % 32 == 0) { clocks[threadIdx.x / 32 * 2] = start; clocks[threadIdx.x / 32 * 2 + 1] = stop; }
}
__device__ __noinline__ float called(float x, float scale) {
  asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(scale));
  return x;
}
__global__ void __launch_bounds__(1024) calls(long long* clocks, float* sink, float scale, int iterations) {
  float x = scale;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int k = 0; k < 4; ++k) x = called(x, scale);
  }
  long long stop = clock64();
  sink[threadIdx.x] = x;
  if (threadIdx.x % 32 == 0) { clocks[threadIdx.x / 32 * 2] = start; clocks[threadIdx.x / 32 * 2 + 1] = stop; }
}
__global__ void __launch_bounds__(1024) jumps(long long* clocks, float* sink, float scale, int iterations, int first) {
  float x = scale;
  int way = first;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
    switch (way) {
#define WAY(N) case N: asm volatile("fma.rn.f32 %0, %0, %1, 0f3f80000" #N ";" : "+f"(x) : "f"(scale)); asm volatile("fma.rn.f32 %0, %0, %0, 0f3f80000" #N ";" : "+f"(x) : "f"(scale)); way = first; asm volatile("mov.u32 %0, %0;" : "+r"(way)); break;
      WAY(0) WAY(1) WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7)
    }
  }
  long long stop = clock64();
  sink[threadIdx.x] = x;
  if (threadIdx.x % 32 == 0) { clocks[threadIdx.x / 32 * 2] = start; clocks[threadIdx.x / 32 * 2 + 1] = stop; }
}

static long long* clocks; static float* sink; static long long* noted;
struct Taken { double span, mean, first; };
template <class F>
static Taken run(int warps, F launch) {
  std::vector<long long> host(64);
  Taken best{1e18, 0, 0};
  for (int r = 0; r < 4; ++r) {
    CHECK(cudaMemset(clocks, 0, 64 * 8));
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host.data(), clocks, 64 * 8, cudaMemcpyDeviceToHost));
    long long lo = host[0], hi = host[1]; double mean = 0;
    for (int w = 0; w < warps; ++w) { lo = std::min(lo, host[2 * w]); hi = std::max(hi, host[2 * w + 1]); mean += double(host[2 * w + 1] - host[2 * w]) / warps; }
    if (r && hi - lo < best.span) best = Taken{double(hi - lo), mean, double(host[1] - host[0])};
  }
  return best;
}
template <class A, class B, int ILP>
static void pair() {
  const int steps = 32 / ILP;
  const int iterations = 32;
  int counts[] = {4, 16, 32};
  printf("{\"test\": \"mix\", \"a\": \"%s\", \"b\": \"%s\", \"ilp\": %d", A::name(), B::name(), ILP);
  for (int warps : counts) {
    Taken t = run(warps, [&] { mix<A, B, ILP, steps><<<1, 32 * warps>>>(clocks, sink, iterations, 3); });
    printf(", \"warps_%d\": %.4f, \"fair_%d\": %.3f", warps, t.span / (32.0 * iterations * (warps / 4)), warps, t.mean / t.span);
  }
  printf("}\n"); fflush(stdout);
}
template <class V, class A, int ILP>
static void disturbed() {
  for (int others : {0, 1, 2, 3, 7}) {
    for (int offset : {0, 1, 3}) {
      if (offset && others != 1) continue;
      Taken t = run(1, [&] { victim<V, A, ILP><<<1, 1024>>>(clocks, sink, 32, 3, others, offset); });
      printf("{\"test\": \"victim\", \"victim\": \"%s\", \"others\": \"%s\", \"ilp\": %d, \"count\": %d, \"offset\": %d, \"cycles\": %.4f}\n",
             V::name(), A::name(), ILP, others, offset, t.first / (32.0 * 64));
    }
  }
  fflush(stdout);
}
template <class A, int ILP, int GROUP>
static void orders() {
  std::vector<long long> host(8 * 16);
  for (int r = 0; r < 2; ++r) {
    order<A, ILP, GROUP><<<1, 1024>>>(noted, sink, 3);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaMemcpy(host.data(), noted, host.size() * 8, cudaMemcpyDeviceToHost));
  long long lo = *std::min_element(host.begin(), host.end());
  printf("{\"test\": \"order\", \"op\": \"%s\", \"ilp\": %d, \"group\": %d, \"clocks\": [", A::name(), ILP, GROUP);
  for (int w = 0; w < 8; ++w) {
    printf("%s[", w ? ", " : "");
    for (int k = 0; k < 16; ++k) printf("%s%lld", k ? ", " : "", host[w * 16 + k] - lo);
    printf("]");
  }
  printf("]}\n"); fflush(stdout);
}
template <int LENGTH>
static void loops() {
  printf("{\"test\": \"loop\", \"length\": %d", LENGTH);
  for (int warps : {1, 4, 8, 16, 32}) {
    Taken t = run(warps, [&] { loop<LENGTH><<<1, 32 * warps>>>(clocks, sink, 1.5f, 256); });
    printf(", \"warps_%d\": %.3f", warps, t.span / 256);
  }
  printf("}\n"); fflush(stdout);
}
int main() {
  CHECK(cudaMalloc(&clocks, 64 * 8)); CHECK(cudaMalloc(&sink, 4096 * 4)); CHECK(cudaMalloc(&noted, 8 * 16 * 8));
  orders<ops::iadd3, 4, 4>(); orders<ops::fadd, 1, 4>(); orders<ops::fadd, 4, 8>(); orders<ops::ex2, 2, 2>(); orders<ops::ffma, 1, 4>(); orders<ops::imad, 2, 2>(); orders<ops::ffma, 2, 4>();
  loops<4>(); loops<8>(); loops<16>(); loops<32>(); loops<64>();
  for (int mode : {0, 1, 2}) {
    printf("{\"test\": \"branch_over\", \"mode\": %d", mode);
    for (int warps : {1, 4, 8, 16, 32}) {
      Taken t = run(warps, [&] { branch_over<<<1, 32 * warps>>>(clocks, sink, 1.5f, 128, mode); });
      printf(", \"warps_%d\": %.3f", warps, t.span / (128 * 4));
    }
    printf("}\n");
  }
  printf("{\"test\": \"calls\"");
  for (int warps : {1, 4, 8, 16, 32}) {
    Taken t = run(warps, [&] { calls<<<1, 32 * warps>>>(clocks, sink, 1.5f, 128); });
    printf(", \"warps_%d\": %.3f", warps, t.span / (128 * 4));
  }
  printf("}\n{\"test\": \"jumps\"");
  for (int warps : {1, 4, 8, 16, 32}) {
    Taken t = run(warps, [&] { jumps<<<1, 32 * warps>>>(clocks, sink, 1.5f, 256, 3); });
    printf(", \"warps_%d\": %.3f", warps, t.span / 256);
  }
  printf("}\n"); fflush(stdout);
  disturbed<ops::fadd, ops::dfma, 1>(); disturbed<ops::dfma, ops::dfma, 1>(); disturbed<ops::fadd, ops::ffma, 1>(); disturbed<ops::fadd, ops::imad, 4>();
  disturbed<ops::fadd, ops::ex2, 2>(); disturbed<ops::fadd, ops::lds_chain, 2>(); disturbed<ops::ffma, ops::ffma, 1>(); disturbed<ops::fadd, ops::iadd3, 4>(); disturbed<ops::dfma, ops::ffma, 1>();
  disturbed<ops::hfma2, ops::hfma2, 1>(); disturbed<ops::fadd, ops::hfma2, 1>(); disturbed<ops::dfma, ops::hfma2, 1>();
#define ALONE(X) pair<ops::X, ops::none, 2>();
  ALONE(fadd) ALONE(fmul) ALONE(ffma) ALONE(ffma_imm) ALONE(imad) ALONE(imad_wide) ALONE(imad_hi) ALONE(iadd3) ALONE(add_lt) ALONE(add2) ALONE(add_imm) ALONE(add_imm2) ALONE(lop3) ALONE(shf) ALONE(shl_)
  ALONE(prmt) ALONE(imnmx) ALONE(setsel) ALONE(fsetsel) ALONE(popc) ALONE(flo) ALONE(brev) ALONE(ex2) ALONE(i2f_rn) ALONE(i2f_rp) ALONE(f2i)
  ALONE(frnd) ALONE(f2f64) ALONE(f2fp_h)    ALONE(rcp64h) ALONE(hfma2) ALONE(hadd2) ALONE(dfma) ALONE(dadd) ALONE(dmul) ALONE(dsetp)
  ALONE(shfl) ALONE(vote) ALONE(redux) ALONE(match_any) ALONE(lds) ALONE(lds_chain) ALONE(sts) ALONE(clk) ALONE(dp4a) ALONE(bfe_) 
#define WITH(X, Y) pair<ops::X, ops::Y, 2>();
  WITH(popc, ex2) WITH(flo, ex2) WITH(brev, ex2) WITH(f2i, ex2) WITH(i2f_rp, ex2) WITH(i2f_rn, ex2) WITH(frnd, ex2) WITH(popc, iadd3) WITH(popc, ffma) WITH(popc, shfl) WITH(popc, lds_chain) WITH(redux, iadd3) WITH(redux, popc)
  WITH(rcp64h, ex2) WITH(f2f64, ex2)
  WITH(i2f_rn, iadd3) WITH(i2f_rn, ffma) WITH(i2f_rp, iadd3) WITH(f2fp_h, iadd3) WITH(f2fp_h, fadd)
  WITH(ffma, iadd3) WITH(fadd, iadd3) WITH(ffma_imm, iadd3) WITH(fadd, lop3) WITH(ffma, imad) WITH(fadd, imad) WITH(imad, iadd3) WITH(imad, lop3) WITH(imad_wide, fadd) WITH(imad_wide, iadd3) WITH(imad, dp4a) WITH(imad_hi, iadd3)
  WITH(hfma2, fadd) WITH(hfma2, imad) WITH(hfma2, iadd3) WITH(hfma2, dfma) WITH(hadd2, imad) WITH(hadd2, fadd) WITH(add_lt, imad_hi) WITH(add_lt, imad) WITH(add_lt, fadd) WITH(add_lt, ffma) WITH(add2, imad) WITH(add2, fadd) WITH(add2, lop3) WITH(imad_wide, imad) WITH(imad_wide, lop3) WITH(imad_hi, fadd) WITH(imad_hi, imad) WITH(add_imm2, imad) WITH(add_imm2, fadd) WITH(fadd, fmul) WITH(imad, shl_) WITH(shl_, iadd3) WITH(shl_, ffma)
  WITH(dfma, fadd) WITH(dfma, iadd3) WITH(dfma, imad) WITH(dfma, ex2) WITH(dadd, fadd) WITH(dsetp, dfma) WITH(dfma, lds_chain)
  WITH(vote, iadd3) WITH(vote, shfl) WITH(vote, fadd) WITH(lds_chain, shfl) WITH(lds_chain, fadd) WITH(lds_chain, ex2) WITH(lds_chain, sts) WITH(shfl, ex2) WITH(prmt, iadd3) WITH(setsel, fadd) WITH(fsetsel, imad)
  CHECK(cudaDeviceSynchronize());
  printf("{\"test\": \"done\"}\n");
  return 0;
}
