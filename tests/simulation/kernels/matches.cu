// As in measurements/data/h100-sxm/probes/waits.cu: loops of matches by how many values the lanes of a warp hold.

template <typename T>
__device__ void in_a_row(int values, int iterations, unsigned* sink) {
  unsigned lane = threadIdx.x % 32, got = 0;
  T value = lane % values;
#pragma unroll 1
  for (int n = 0; n < iterations; n += 4)
#pragma unroll
    for (int u = 0; u < 4; ++u) got = __match_any_sync(0xffffffffu, value + (T)(got & 0x0u)) ^ got;
  if (got == 0x5eed1234) *sink = got;
}

template <typename T>
__device__ void random_values(int values, int iterations, unsigned* sink) {
  unsigned x = threadIdx.x * 2654435761u, got = 0;
#pragma unroll 1
  for (int n = 0; n < iterations; ++n) {
    x = x * 1664525u + 1013904223u;
    got ^= __match_any_sync(0xffffffffu, (T)__umulhi(x, values));
  }
  if (got == 0x5eed1234) *sink = got;
}

extern "C" __global__ void cycles(int values, int n, unsigned* sink) { in_a_row<unsigned>(values, n, sink); }
extern "C" __global__ void cycles_64(int values, int n, unsigned* sink) { in_a_row<unsigned long long>(values, n, sink); }
extern "C" __global__ void cycles_random(int values, int n, unsigned* sink) { random_values<unsigned>(values, n, sink); }
extern "C" __global__ void cycles_random_64(int values, int n, unsigned* sink) { random_values<unsigned long long>(values, n, sink); }
