// What timers show in kernels, beside what events tell the host.
#include <cstdio>

__global__ void waits(long long *seen, float *x, int steps) {
  unsigned long long begin, end;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin)::"memory");
  long long first = clock64();
  float y = x[0];
  for (int i = 0; i < steps; i++) y = y * 1.5f + 1.0f;
  x[threadIdx.x] = y;
  seen[2] = clock64() - first;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(end)::"memory");
  seen[0] = begin;
  seen[1] = end;
}

int main() {
  long long *seen, host[2][3];
  float *x, milliseconds;
  cudaMalloc(&seen, sizeof host);
  cudaMalloc(&x, 128);
  cudaMemset(x, 0, 128);
  cudaEvent_t events[2];
  for (auto &event : events) cudaEventCreate(&event);
  cudaEventRecord(events[0]);
  for (int i = 0; i < 2; i++) waits<<<1, 32>>>(seen + 3 * i, x, 100000);
  cudaEventRecord(events[1]);
  cudaEventSynchronize(events[1]);
  cudaEventElapsedTime(&milliseconds, events[0], events[1]);
  cudaMemcpy(host, seen, sizeof host, cudaMemcpyDefault);
  printf("%g %lld %lld %lld %d\n", milliseconds * 1e6, host[0][1] - host[0][0],
         host[1][1] - host[0][0], host[0][2], host[1][0] > host[0][1]);
  return 0;
}
