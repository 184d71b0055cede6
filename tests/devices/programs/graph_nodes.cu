// A graph built node by node, out of order: a fill, a copy, two kernels, a child and a host function;
// changed after it can be launched, updated from another graph, and asked what it is made of.
#include <cstdio>

__device__ int factor = 3;

__global__ void add(int *x, int n) { x[threadIdx.x] += n; }
__global__ void scale(int *x) { x[threadIdx.x] *= factor; }

static void count(void *calls) { ++*(int *)calls; }

static cudaKernelNodeParams call(void *kernel, void **arguments) {
  cudaKernelNodeParams p = {};
  p.func = kernel;
  p.gridDim = dim3(1);
  p.blockDim = dim3(32);
  p.kernelParams = arguments;
  return p;
}

int main() {
  int *x, host[32], n = 5, six = 6, calls = 0, four = 4;
  cudaGraph_t graph, child;
  cudaGraphNode_t fill, plus, times, copy, function, inner, symbol;
  cudaGraphExec_t ready;
  cudaMalloc(&x, sizeof host);
  void *of_add[] = {&x, &n}, *of_scale[] = {&x}, *of_six[] = {&x, &six};
  cudaGraphCreate(&graph, 0);
  cudaGraphCreate(&child, 0);

  cudaKernelNodeParams six_more = call((void *)add, of_six);
  cudaGraphAddKernelNode(&inner, child, nullptr, 0, &six_more);

  // Added first, and due last.
  cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, host, x, sizeof host, cudaMemcpyDeviceToHost);
  cudaMemsetParams zero = {};
  zero.dst = x;
  zero.elementSize = 4;
  zero.value = 1;
  zero.width = 32;
  zero.height = 1;
  cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero);
  cudaKernelNodeParams p = call((void *)add, of_add);
  cudaGraphAddKernelNode(&plus, graph, &fill, 1, &p);
  p = call((void *)scale, of_scale);
  cudaGraphAddKernelNode(&times, graph, &plus, 1, &p);
  cudaGraphAddChildGraphNode(&inner, graph, &times, 1, child);
  cudaHostNodeParams tell = {count, &calls};
  cudaGraphAddHostNode(&function, graph, &inner, 1, &tell);
  cudaGraphAddDependencies(graph, &inner, &copy, nullptr, 1);

  size_t nodes = 0, roots = 0, before = 0;
  cudaGraphNodeType type;
  cudaGraphGetNodes(graph, nullptr, &nodes);
  cudaGraphGetRootNodes(graph, nullptr, &roots);
  cudaGraphNodeGetDependencies(copy, nullptr, nullptr, &before);
  cudaGraphNodeGetType(function, &type);
  printf("%zu nodes, %zu roots, %zu before, a host function: %d\n", nodes, roots, before,
         type == cudaGraphNodeTypeHost);

  cudaGraphInstantiate(&ready, graph, 0);
  for (int i = 0; i < 2; i++) cudaGraphLaunch(ready, 0);
  cudaDeviceSynchronize();
  printf("%d after %d calls\n", host[7], calls);  // (1 + 5) * 3 + 6

  n = 9;
  p = call((void *)add, of_add);
  cudaGraphExecKernelNodeSetParams(ready, plus, &p);
  cudaGraphNodeSetEnabled(ready, function, 0);
  cudaGraphLaunch(ready, 0);
  printf("%d after %d calls\n", host[7], calls);  // (1 + 9) * 3 + 6

  n = 1;
  p = call((void *)add, of_add);
  cudaGraphKernelNodeSetParams(plus, &p);
  cudaGraphAddMemcpyNodeToSymbol(&symbol, graph, nullptr, 0, factor, &four, 4, 0,
                                 cudaMemcpyHostToDevice);
  cudaGraphExecUpdateResultInfo told;
  cudaError_t status = cudaGraphExecUpdate(ready, graph, &told);
  printf("%s %d\n", cudaGetErrorName(status), told.result == cudaGraphExecUpdateErrorTopologyChanged);
  cudaGetLastError();
  cudaGraphDestroyNode(symbol);
  status = cudaGraphExecUpdate(ready, graph, &told);
  cudaGraphLaunch(ready, 0);
  printf("%d, %s\n", host[7], cudaGetErrorName(status));  // (1 + 1) * 3 + 6

  // A cycle cannot be launched.
  cudaGraphAddDependencies(graph, &copy, &fill, nullptr, 1);
  printf("%s\n", cudaGetErrorName(cudaGraphInstantiate(&ready, graph, 0)));
  cudaGraphDestroy(graph);
  cudaGraphDestroy(child);
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
