// On which SMs the first blocks of a grid come to lie, and how many each gets: grids that do not fill the chip.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("{\"error\":\"%s line %d: %s\"}\n", #x, __LINE__, cudaGetErrorString(e_)); fflush(stdout); exit(1); } } while (0)

__global__ void place(unsigned* sms, long long* starts, int cycles) {
  extern __shared__ char room[];
  long long start = clock64();
  if (threadIdx.x == 0) {
    unsigned sm;
    unsigned long long now;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    sms[blockIdx.x] = sm;
    starts[blockIdx.x] = now;
  }
  if (blockIdx.x < 1u << 30)
    while (clock64() - start < cycles) {}
  if (cycles < 0) room[threadIdx.x] = 0;
}

int main(int argc, char** argv) {
  bool quick = argc > 1;
  unsigned* sms;
  long long* starts;
  OK(cudaMalloc(&sms, 8192 * 4));
  OK(cudaMalloc(&starts, 8192 * 8));
  static unsigned host[8192];
  static long long began[8192];
  int grids[] = {20, 66, 100, 132, 133, 160, 198, 264, 391, 528, 700, 1056, 1200};
  for (int threads : {32, 64, 128, 256, 512, 1024})
    for (int room : {0, 40000})
      for (int grid : grids) {
        if (quick && (grid != 391 || threads != 256 || room)) continue;
        OK(cudaFuncSetAttribute(place, cudaFuncAttributeMaxDynamicSharedMemorySize, 40000));
        for (int i = 0; i < 2; ++i) {
          place<<<grid, threads, room>>>(sms, starts, quick ? 100 : 40000);
          OK(cudaGetLastError());
          OK(cudaDeviceSynchronize());
        }
        OK(cudaMemcpy(host, sms, grid * 4, cudaMemcpyDeviceToHost));
        OK(cudaMemcpy(began, starts, grid * 8, cudaMemcpyDeviceToHost));
        int of[256] = {}, used = 0, most = 0;
        long long first = began[0], last = began[0];
        for (int i = 0; i < grid; ++i) {
          if (!of[host[i]]++) ++used;
          if (of[host[i]] > most) most = of[host[i]];
          if (began[i] < first) first = began[i];
          if (began[i] > last) last = began[i];
        }
        printf("{\"probe\":\"places\",\"threads\":%d,\"shared\":%d,\"grid\":%d,\"sms\":%d,\"most\":%d,\"last_start_ns\":%lld,\"of_sm\":[", threads, room, grid, used, most, last - first);
        for (int i = 0; i < 132; ++i) printf("%s%d", i ? "," : "", of[i]);
        printf("],\"places\":[");
        for (int i = 0; i < grid && i < 400; ++i) printf("%s%u", i ? "," : "", host[i]);
        printf("]}\n");
        fflush(stdout);
      }
  return 0;
}
