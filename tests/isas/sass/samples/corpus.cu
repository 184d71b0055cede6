// Small kernels that between them use most of what compilers emit: one subject each.
// They are compiled and read, never run.

extern "C" {

__global__ void fp64_arithmetic(double* y, const double* x, double a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = fma(a, x[i], y[i]) + x[i] * x[i] - fmin(x[i], y[i]);
}

__global__ void fp64_division_and_root(double* y, const double* x) {
  int i = threadIdx.x;
  y[i] = sqrt(x[i]) / (x[i] + 3.0) + rint(x[i]);
}

__global__ void fp32_arithmetic(float* y, const float* x, float a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] > a ? fmaf(a, x[i], y[i]) : fmaxf(fabsf(x[i]), -y[i]) * __saturatef(a);
}

__global__ void fp32_division_and_root(float* y, const float* x) {
  int i = threadIdx.x;
  y[i] = x[i] / y[i] + sqrtf(x[i]) + rsqrtf(y[i]) + 1.0f / x[i];
}

__global__ void transcendental(float* y, const float* x) {
  int i = threadIdx.x;
  y[i] = sinf(x[i]) + __expf(x[i]) + logf(x[i]) + powf(x[i], y[i]) + tanhf(x[i]);
}

__global__ void fp16_pairs(unsigned* y, const unsigned* x) {
  int i = threadIdx.x;
  unsigned sum, product, chosen;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(x[i]), "r"(y[i]));
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(product) : "r"(sum), "r"(x[i]), "r"(y[i]));
  asm("{.reg .pred p, q; setp.lt.f16x2 p|q, %1, %2; selp.b32 %0, %1, %2, p;}"
      : "=r"(chosen) : "r"(sum), "r"(product));
  y[i] = chosen;
}

__global__ void conversions(int* y, const float* x, const double* d, const long long* l) {
  int i = threadIdx.x;
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x[i]));
  y[i] = (int)x[i] + (int)d[i] + (int)(float)l[i] + (int)(float)d[i] + h;
  y[i + 32] = (int)(long long)x[i] + (int)(unsigned long long)d[i] + (int)floorf(x[i]);
  ((double*)y)[i + 64] = (double)y[i] + (double)x[i] + (double)l[i];
}

__global__ void shared_tile(float* y, const float* x) {
  __shared__ float tile[32][33];
  tile[threadIdx.y][threadIdx.x] = x[blockIdx.x * 1024 + threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  y[blockIdx.x * 1024 + threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void dynamic_shared(float* y, const float* x, int n) {
  extern __shared__ float values[];
  values[threadIdx.x] = x[threadIdx.x];
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) values[threadIdx.x] += values[threadIdx.x + step];
  }
  if (threadIdx.x == 0) y[blockIdx.x] = values[0] / n;
}

__global__ void global_atomics(int* counts, float* sums, unsigned long long* wide) {
  int old = atomicAdd(&counts[threadIdx.x % 7], 1);
  atomicMax(&counts[8], old);
  atomicAdd(sums, 1.5f);
  atomicExch(&counts[9], old);
  unsigned long long seen = atomicCAS(wide, 1ull, (unsigned long long)old);
  if (atomicCAS(&counts[10], old, 3) == 2) atomicAdd(&wide[1], seen);
}

__global__ void shared_atomics(int* out, const int* x) {
  __shared__ int bins[64];
  bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[x[threadIdx.x] & 63], 1);
  atomicMin(&bins[0], x[threadIdx.x]);
  atomicCAS(&bins[1], 2, 3);
  __syncthreads();
  out[threadIdx.x] = bins[threadIdx.x];
}

__global__ void shuffles(float* y, const float* x) {
  float v = x[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  v += __shfl_up_sync(~0u, v, 1) + __shfl_down_sync(~0u, v, 2) + __shfl_sync(~0u, v, 3);
  y[threadIdx.x] = v;
}

__global__ void votes(unsigned* y, const int* x) {
  int v = x[threadIdx.x];
  unsigned ballot = __ballot_sync(~0u, v > 3);
  y[threadIdx.x] = __popc(ballot) + __any_sync(~0u, v < 0) + 2 * __all_sync(~0u, v > 5)
                 + __match_any_sync(~0u, v) + __activemask();
}

__global__ void wide_loads(float4* y, const float4* x, const double2* d, const char* bytes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = x[i];
  double2 w = d[i];
  v.x += w.x + bytes[i];
  v.y += w.y + ((const short*)bytes)[i];
  y[i] = v;
}

__global__ void local_array(int* y, const int* x) {
  int kept[40];
  for (int i = 0; i < 40; ++i) kept[i] = x[i * 32 + threadIdx.x];
  for (int i = 0; i < 40; ++i) kept[(kept[i] & 31)] += i;
  y[threadIdx.x] = kept[x[threadIdx.x] & 31];
}

__device__ __noinline__ int called(int a, int b) { return a * b + (a >> b); }
__device__ __noinline__ int recursive(int n) { return n < 2 ? n : recursive(n - 1) + called(n, 2); }

__global__ void calls(int* y) { y[threadIdx.x] = called(y[threadIdx.x], 3); }
__global__ void recursion(int* y) { y[threadIdx.x] = recursive(y[threadIdx.x] & 7); }

__device__ int add_one(int a) { return a + 1; }
__device__ int times_three(int a) { return a * 3; }
__global__ void function_pointers(int* y, int choice) {
  int (*chosen)(int) = choice ? add_one : times_three;
  y[threadIdx.x] = chosen(y[threadIdx.x]);
}

__global__ void integer_division(int* y, unsigned* u, long long* l) {
  int i = threadIdx.x;
  y[i] = y[i] / y[i + 32] + y[i] % 7;
  u[i] = u[i] / u[i + 32] + u[i] % 1000;
  l[i] = l[i] / l[i + 32] + l[i] % 10;
}

__global__ void wide_integers(long long* y, const long long* x, int s) {
  int i = threadIdx.x;
  long long v = x[i] * y[i] + __mul64hi(x[i], y[i]);
  y[i] = (v << s) ^ (x[i] >> s) ^ (v < x[i] ? v - x[i] : x[i] - v);
}

__global__ void bits(unsigned* y, const unsigned* x, int s) {
  unsigned v = x[threadIdx.x];
  y[threadIdx.x] = __popc(v) + __clz(v) + __brev(v) + __ffs(v) + __funnelshift_l(v, y[0], s)
                 + __byte_perm(v, y[0], 0x5140) + ((v >> 5) & 0x3ff) + (v & ~y[1] | 0xf0f0);
}

__global__ void extremes(int* y, const int* x) {
  int i = threadIdx.x;
  y[i] = max(min(x[i], y[i]), -x[i]) + abs(y[i]) + (int)max((unsigned)x[i], 17u);
  y[i] += __dp4a(x[i], y[i], 5) + __sad(x[i], y[i], 1u);
}

__global__ void jump_table(int* y, const int* x) {
  int v = y[threadIdx.x];
  switch (x[threadIdx.x]) {
    case 0: v = v * 3 + 1; break;
    case 1: v = __popc(v); break;
    case 2: v ^= 0x5a5a; break;
    case 3: v = v / 11; break;
    case 4: v = x[v & 31]; break;
    case 5: v = __brev(v) - 9; break;
    case 6: v = (v << 7) + x[3]; break;
    case 7: v = v * v; break;
    default: v = -v;
  }
  y[threadIdx.x] = v;
}

__global__ void irregular_loops(int* y, const int* x, int n) {
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    int v = x[i];
    while (v > 1) {
      if (v == 77) goto done;
      v = v & 1 ? 3 * v + 1 : v / 2;
      if (++sum > 1000) break;
    }
  }
done:
  y[threadIdx.x] = sum;
}

__global__ void spin_lock(int* lock, int* y) {
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int*)y += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

__global__ void barriers(int* y) {
  if (threadIdx.x < 64) asm volatile("bar.sync 1, 64;");
  int count = __syncthreads_count(y[threadIdx.x] > 0);
  __syncwarp();
  __threadfence_system();
  y[threadIdx.x] = count + __syncthreads_or(count == 3);
}

__constant__ float table[256];
__global__ void constants(float* y, const int* x) {
  y[threadIdx.x] = table[x[threadIdx.x] & 255] + table[5] + table[blockIdx.x];
}

__global__ void clocks(long long* y) {
  long long start = clock64();
  y[threadIdx.x] = y[threadIdx.x + 32] * 3;
  y[threadIdx.x + 64] = clock64() - start + clock();
}

__global__ void matrices(float* y, const unsigned* x) {
  int i = threadIdx.x;
  float c0 = y[i], c1 = y[i + 32], c2 = y[i + 64], c3 = y[i + 96];
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(x[i]), "r"(x[i + 32]), "r"(x[i + 64]));
  y[i] = c0; y[i + 32] = c1; y[i + 64] = c2; y[i + 96] = c3;
}

__global__ void matrix_loads(unsigned* y, const unsigned* x) {
  __shared__ unsigned rows[128];
  rows[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  unsigned a, b;
  unsigned address = (unsigned)__cvta_generic_to_shared(rows) + threadIdx.x % 16 * 16;
  asm("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(address));
  y[threadIdx.x] = a ^ b;
}

#if __CUDA_ARCH__ >= 800
__global__ void asynchronous_copies(float* y, const float* x) {
  __shared__ float staged[256];
  unsigned address = (unsigned)__cvta_generic_to_shared(&staged[threadIdx.x * 4]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group;"
               :: "r"(address), "l"(x + threadIdx.x * 4));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group;"
               :: "r"(address ^ 512), "l"(x + 128 + threadIdx.x * 4));
  asm volatile("cp.async.wait_group 1;");
  __syncthreads();
  y[threadIdx.x] = staged[threadIdx.x];
}

__global__ void reductions(unsigned* y) {
  y[threadIdx.x] = __reduce_add_sync(~0u, y[threadIdx.x]) + __reduce_max_sync(~0u, y[32]);
}

__global__ void fp64_matrices(double* y, const double* x) {
  int i = threadIdx.x;
  double c0 = y[i], c1 = y[i + 32];
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c0), "+d"(c1) : "d"(x[i]), "d"(x[i + 32]));
  y[i] = c0; y[i + 32] = c1;
}
#endif

}
