// Memory that a graph takes each time it is launched, captured and built; the graph gives it back, or
// the program behind it.
#include <cstdio>

__global__ void fill(int *x, int n) { x[threadIdx.x] = n; }
__global__ void add(int *to, const int *from) { to[threadIdx.x] += from[threadIdx.x]; }

int main() {
  int *sum, *x, held[32];
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaStreamCreate(&stream);
  cudaMalloc(&sum, sizeof held);
  cudaMemset(sum, 0, sizeof held);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMallocAsync(&x, sizeof held, stream);
  fill<<<1, 32, 0, stream>>>(x, 7);
  add<<<1, 32, 0, stream>>>(sum, x);
  cudaFreeAsync(x, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&ready, graph, 0);
  for (int i = 0; i < 3; i++) cudaGraphLaunch(ready, stream);

  cudaGraph_t built;
  cudaGraphNode_t memory, kernel;
  cudaMemAllocNodeParams room = {};
  room.bytesize = 1 << 20;
  cudaGraphCreate(&built, 0);
  cudaGraphAddMemAllocNode(&memory, built, nullptr, 0, &room);
  int nine = 9;
  void *given[] = {&room.dptr, &nine};
  cudaKernelNodeParams p = {(void *)fill, dim3(1), dim3(32), 0, given, nullptr};
  cudaGraphAddKernelNode(&kernel, built, &memory, 1, &p);
  cudaGraphInstantiate(&ready, built, 0);
  for (int i = 0; i < 2; i++) {
    cudaGraphLaunch(ready, stream);
    cudaFreeAsync(room.dptr, stream);
  }
  unsigned long long used;
  cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &used);
  cudaMemcpy(held, sum, sizeof held, cudaMemcpyDeviceToHost);
  printf("%d, %llu bytes, %s\n", held[31], used, cudaGetErrorName(cudaDeviceSynchronize()));
}
