// What libraries ask before they work: functions of the driver, captures, parameters, shared memory.
#include <cstdio>

__global__ void k(int *x, char c, double d) {
  __shared__ double held[128];
  held[threadIdx.x] = d;
  x[threadIdx.x] = c + (int)held[threadIdx.x];
}

int main() {
  void *found, *missing;
  cudaDriverEntryPointQueryResult status, none;
  cudaGetDriverEntryPointByVersion("cuMemAlloc", &found, 12000, cudaEnableDefault, &status);
  cudaGetDriverEntryPointByVersion("cuNoSuchThing", &missing, 12000, cudaEnableDefault, &none);
  printf("%d %d %d %d\n", found != nullptr, status == cudaDriverEntryPointSuccess,
         missing != nullptr, none == cudaDriverEntryPointSymbolNotFound);

  cudaStream_t stream;
  cudaStreamCaptureStatus before, during;
  unsigned long long id;
  cudaGraph_t graph, held;
  cudaStreamCreate(&stream);
  cudaStreamGetCaptureInfo(stream, &before, &id, nullptr, nullptr, nullptr, nullptr);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  cudaStreamGetCaptureInfo(stream, &during, &id, &held, nullptr, nullptr, nullptr);
  cudaStreamEndCapture(stream, &graph);
  printf("%d %d %d\n", before, during, held == graph);

  size_t count, offset, size, shared;
  cudaFuncGetParamCount((const void *)k, &count);
  cudaFuncGetParamInfo((const void *)k, 2, &offset, &size);
  cudaError_t beyond = cudaFuncGetParamInfo((const void *)k, 3, &offset, nullptr);
  printf("%zu parameters, the last at %zu of %zu bytes, %s\n", count, offset, size,
         cudaGetErrorName(beyond));
  cudaOccupancyAvailableDynamicSMemPerBlock(&shared, k, 2, 128);
  printf("%zu, %s\n", shared, cudaGetErrorName(cudaDeviceEnablePeerAccess(1, 0)));
}
