/* kernelcast
[[launch]]
kernel = "copies"
grid = 8
block = 32
args = { in = "f32[8 * 64 * 32] random(1)", out = "f32[8 * 32]", n = 64 }
*/

// Bulk copies of 128 bytes, two under way: a barrier in shared memory says when each is there.
#define COPY "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void begin(float* to, const float* from, unsigned long long* full) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 128;" :: "r"(place(full)));
  asm volatile(COPY " [%0], [%1], 128, [%2];"
               :: "r"(place(to)), "l"(from), "r"(place(full)) : "memory");
}
__device__ void wait(unsigned long long* full, int parity) {
  asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;"
               " @!p bra AGAIN; }" :: "r"(place(full)), "r"(parity) : "memory");
}
extern "C" __global__ void copies(const float* in, float* out, int n) {
  __shared__ alignas(128) float s[2][32];
  __shared__ unsigned long long full[2];
  int t = threadIdx.x;
  const float* from = in + (size_t)blockIdx.x * n * 32;
  float sum = 0;
  if (t == 0)
    for (int i = 0; i < 2; i++) {
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(place(&full[i])));
      begin(s[i], from + i * 32, &full[i]);
    }
  __syncwarp();
  for (int i = 0; i < n; i++) {
    wait(&full[i & 1], i >> 1 & 1);
    sum += s[i & 1][t ^ 1];
    __syncwarp();
    if (t == 0 && i + 2 < n) begin(s[i & 1], from + (i + 2) * 32, &full[i & 1]);
  }
  out[blockIdx.x * 32 + t] = sum;
}
