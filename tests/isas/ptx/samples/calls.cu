// Compiled with NVRTC 13.5, -lineinfo, for compute_75 and compute_120; paths shortened by hand.
struct Pair { int words[3]; float scale; };

__constant__ float weights[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ int counter = 7;

__device__ __noinline__ float triangle(float x, int n) {
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; i++) sum += x * i;
  return sum;
}

__device__ __noinline__ Pair bump(Pair p, int i) {
  p.words[i] += 1;
  p.scale *= 2;
  return p;
}

__device__ __noinline__ float twice(float x, int n) { return triangle(x, n) + triangle(x, n + 1); }

extern "C" __global__ void __launch_bounds__(128) calls(Pair p, float* out, int n) {
  __shared__ float tile[64];
  extern __shared__ float dynamic[];
  int i = threadIdx.x;
  tile[i] = out[i] * weights[i & 3];
  __syncthreads();
  if (i == n) printf("%d", i);
  Pair q = bump(p, i & 1);
  out[i] = twice(tile[63 - i], n) + dynamic[i] + q.words[2];
  assert(q.scale < n);
  atomicAdd(&counter, q.words[0] + __syncthreads_count(i & 1));
}

extern "C" __global__ void saxpy(int n, float a, const float* __restrict__ x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
