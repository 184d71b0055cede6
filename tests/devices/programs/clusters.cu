// Blocks of a cluster read each other's shared memory.
#include <cstdio>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ void exchange(int *x) {
  __shared__ int v;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) v = 10 * blockIdx.x;
  cluster.sync();
  if (threadIdx.x == 0) x[blockIdx.x] = *cluster.map_shared_rank(&v, cluster.block_rank() ^ 1);
  cluster.sync();
}
__global__ void __cluster_dims__(2, 1, 1) swap(int *x) { exchange(x); }
__global__ void plain(int *x) { exchange(x); }
int main() {
  int *x, h[6];
  cudaError_t error;
  cudaMalloc(&x, sizeof h);
  swap<<<6, 32>>>(x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDefault);
  for (int i = 0; i < 6; i++) printf("%d ", h[i]);
  cudaLaunchAttribute cluster = {cudaLaunchAttributeClusterDimension};
  cluster.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t launch = {6, 32, 0, 0, &cluster, 1};
  cudaMemset(x, 0, sizeof h);
  error = cudaLaunchKernelEx(&launch, plain, x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDefault);
  for (int i = 0; i < 6; i++) printf("%d ", h[i]);
  int clusters = 0, largest = 0;
  cudaOccupancyMaxActiveClusters(&clusters, plain, &launch);
  cudaOccupancyMaxPotentialClusterSize(&largest, plain, &launch);
  printf("%d %d %s ", clusters, largest, cudaGetErrorName(error));
  cluster.val.clusterDim = {0, 0, 0};
  printf("%s ", cudaGetErrorName(cudaOccupancyMaxActiveClusters(&clusters, plain, &launch)));
  cudaGetLastError();
  swap<<<5, 32>>>(x);
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
