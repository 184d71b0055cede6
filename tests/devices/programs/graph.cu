// A graph captured from two streams and replayed: a copy, a fill, two kernels and a host function.
#include <cstdio>

__global__ void add(int *x, int n) { x[threadIdx.x] += n; }

static void count(void *calls) { ++*(int *)calls; }

int main() {
  int *x, *host, calls = 0, status;
  cudaStream_t first, second;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t replayed;
  cudaMalloc(&x, 64 * sizeof(int));
  cudaMallocHost(&host, 64 * sizeof(int));
  cudaStreamCreate(&first), cudaStreamCreate(&second);
  cudaEventCreate(&fork), cudaEventCreate(&join);
  cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal);
  cudaStreamIsCapturing(first, (cudaStreamCaptureStatus *)&status);
  cudaMemsetAsync(x, 0, 64 * sizeof(int), first);
  cudaEventRecord(fork, first);
  cudaStreamWaitEvent(second, fork, 0);
  for (int n = 1; n <= 3; n++) add<<<1, 32, 0, first>>>(x, n);
  add<<<1, 32, 0, second>>>(x + 32, 10);
  cudaEventRecord(join, second);
  cudaStreamWaitEvent(first, join, 0);
  cudaMemcpyAsync(host, x, 64 * sizeof(int), cudaMemcpyDeviceToHost, first);
  cudaLaunchHostFunc(first, count, &calls);
  cudaStreamEndCapture(first, &graph);
  host[0] = host[32] = -1;
  printf("%d %d %d, ", status, host[0], calls);
  cudaGraphInstantiate(&replayed, graph, 0);
  cudaGraphDestroy(graph);
  for (int i = 0; i < 5; i++) cudaGraphLaunch(replayed, first);
  cudaStreamSynchronize(first);
  printf("%d %d %d, %s\n", host[0], host[32], calls, cudaGetErrorName(cudaGetLastError()));
  cudaGraphExecDestroy(replayed);
  return 0;
}
