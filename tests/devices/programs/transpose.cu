// Transposes a matrix without and with a tile in shared memory, in a stream, timed by events.
#include <cstdio>
#include <vector>

const int N = 512, TILE = 32;

__global__ void naive(const float *in, float *out) {
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += 8) out[x * N + y + j] = in[(y + j) * N + x];
}

__global__ void tiled(const float *in, float *out) {
  extern __shared__ float tile[];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += 8)
    tile[(threadIdx.y + j) * (TILE + 1) + threadIdx.x] = in[(y + j) * N + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += 8)
    out[(y + j) * N + x] = tile[threadIdx.x * (TILE + 1) + threadIdx.y + j];
}

int main() {
  size_t bytes = N * N * sizeof(float), pitch;
  float *pinned, *in, *out;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMallocHost(&pinned, bytes);
  cudaMallocPitch(&in, &pitch, N * sizeof(float), N);
  cudaMalloc(&out, bytes);
  for (int i = 0; i < N * N; i++) pinned[i] = i;
  cudaMemcpy2DAsync(in, pitch, pinned, N * sizeof(float), N * sizeof(float), N,
                    cudaMemcpyHostToDevice, stream);
  cudaEvent_t events[3];
  for (auto &event : events) cudaEventCreate(&event);
  std::vector<float> first(N * N), second(N * N);
  dim3 grid(N / TILE, N / TILE), block(TILE, 8);
  cudaEventRecord(events[0], stream);
  naive<<<grid, block, 0, stream>>>(in, out);
  cudaMemcpyAsync(first.data(), out, bytes, cudaMemcpyDeviceToHost, stream);
  cudaMemsetAsync(out, 0, bytes, stream);
  cudaEventRecord(events[1], stream);
  tiled<<<grid, block, TILE * (TILE + 1) * sizeof(float), stream>>>(in, out);
  cudaEventRecord(events[2], stream);
  cudaEventSynchronize(events[2]);
  cudaMemcpy(second.data(), out, bytes, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int y = 0; y < N; y++)
    for (int x = 0; x < N; x++)
      wrong += first[x * N + y] != y * N + x || second[x * N + y] != y * N + x;
  float before, tile, both;
  cudaEventElapsedTime(&before, events[0], events[1]);
  cudaEventElapsedTime(&tile, events[1], events[2]);
  cudaEventElapsedTime(&both, events[0], events[2]);
  printf("%d wrong, %.9f ms, %.9f ms, %.9f ms\n", wrong, before, tile, both);
  return wrong != 0;
}
