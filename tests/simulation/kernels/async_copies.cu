/* kernelcast
[[launch]]
kernel = "copies"
grid = 8
block = 256
args = { in = "f32[8 * 64 * 256] random(1)", out = "f32[8 * 256]", n = 64 }
*/

// Copies of 4 bytes a lane, the next one under way while the block waits for the one before.
extern "C" __global__ void copies(const float* in, float* out, int n) {
  __shared__ float s[2][256];
  int t = threadIdx.x;
  unsigned even = (unsigned)__cvta_generic_to_shared(&s[0][t]);
  unsigned odd = (unsigned)__cvta_generic_to_shared(&s[1][t]);
  const float* from = in + (size_t)blockIdx.x * n * 256 + t;
  float sum = 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group;"
               :: "r"(even), "l"(from) : "memory");
  for (int i = 0; i < n; i++) {
    if (i + 1 < n)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                   :: "r"(i & 1 ? even : odd), "l"(from + (i + 1) * 256) : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    sum += s[i & 1][t ^ 1];
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = sum;
}
