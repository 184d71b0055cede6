// Layers, cubes, levels of detail, gathers and layers of surfaces, checked on the host.
#include <cmath>
#include <cstdio>
#include <vector>

const int N = 16, LAYERS = 3, LEVELS = 4;

__global__ void layers(cudaTextureObject_t t, float* out) {
  int x = threadIdx.x, y = blockIdx.x, layer = blockIdx.y;
  out[(layer * N + y) * N + x] = tex2DLayered<float>(t, x + 0.5f, y + 0.5f, LAYERS - 1 - layer);
}
__global__ void faces(cudaTextureObject_t t, float* out) {
  int axis = threadIdx.x / 2, sign = threadIdx.x % 2 ? -1 : 1;
  float d[3] = {0.1f, 0.1f, 0.1f};
  d[axis] = sign;
  out[threadIdx.x] = texCubemap<float>(t, d[0], d[1], d[2]);
}
__global__ void cubes(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = texCubemapLayered<float>(t, 0.f, 0.f, -1.f, threadIdx.x);
}
__global__ void levels(cudaTextureObject_t t, float* out) {
  float level = threadIdx.x / 4.f;
  out[threadIdx.x] = tex2DLod<float>(t, 0.5f, 0.5f, level);
  out[32 + threadIdx.x] = tex2D<float>(t, 0.5f, 0.5f);
}
__global__ void gathers(cudaTextureObject_t t, float4* out) {
  out[threadIdx.x] = tex2Dgather<float4>(t, threadIdx.x + 1.f, 3.f, 1);
}
__global__ void turn(cudaSurfaceObject_t s) {
  int x = threadIdx.x, layer = blockIdx.x;
  int v = surf2DLayeredread<int>(s, 4 * x, 1, layer);
  surf2DLayeredwrite(v + 100 * layer, s, 4 * x, 0, layer);
}

int wrong;
void expect(const char* what, bool right) {
  if (!right) printf("%s is wrong\n", what), wrong++;
}

template <class T>
cudaArray_t array(const std::vector<T>& values, cudaExtent extent, unsigned flags) {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  cudaArray_t made;
  cudaMalloc3DArray(&made, &format, extent, flags);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr((void*)values.data(), extent.width * sizeof(T), extent.width,
                                    extent.height);
  copy.dstArray = made;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);
  return made;
}

cudaTextureObject_t texture(cudaResourceDesc what, bool normalized) {
  cudaTextureDesc how = {};
  for (auto& mode : how.addressMode) mode = cudaAddressModeClamp;
  how.normalizedCoords = normalized;
  how.mipmapFilterMode = cudaFilterModeLinear;
  how.maxMipmapLevelClamp = LEVELS - 1;
  cudaTextureObject_t t;
  cudaCreateTextureObject(&t, &what, &how, nullptr);
  return t;
}

cudaTextureObject_t texture(cudaArray_t of, bool normalized) {
  cudaResourceDesc what = {};
  what.resType = cudaResourceTypeArray;
  what.res.array.array = of;
  return texture(what, normalized);
}

float* out;
std::vector<float> found(int n) {
  std::vector<float> values(n);
  cudaMemcpy(values.data(), out, 4 * n, cudaMemcpyDeviceToHost);
  return values;
}

void layered() {
  std::vector<float> values(N * N * LAYERS);
  for (size_t i = 0; i < values.size(); i++) values[i] = i;
  auto held = array(values, make_cudaExtent(N, N, LAYERS), cudaArrayLayered);
  layers<<<dim3(N, LAYERS), N>>>(texture(held, false), out);
  auto read = found(values.size());
  bool right = true;
  for (int layer = 0; layer < LAYERS; layer++)
    for (int i = 0; i < N * N; i++)
      right &= read[layer * N * N + i] == values[(LAYERS - 1 - layer) * N * N + i];
  expect("a layer", right);
  expect("freeing layers", cudaFreeArray(held) == cudaSuccess);
}

void cube() {
  std::vector<float> values(N * N * 6);
  for (size_t i = 0; i < values.size(); i++) values[i] = i / (N * N);
  auto held = array(values, make_cudaExtent(N, N, 6), cudaArrayCubemap);
  faces<<<1, 6>>>(texture(held, true), out);
  auto read = found(6);
  bool right = true;
  for (int face = 0; face < 6; face++) right &= read[face] == face;
  expect("a face", right);
  std::vector<float> more(N * N * 12);
  for (size_t i = 0; i < more.size(); i++) more[i] = i / (N * N);
  held = array(more, make_cudaExtent(N, N, 12), cudaArrayCubemap | cudaArrayLayered);
  cubes<<<1, 4>>>(texture(held, true), out);
  read = found(4);
  expect("a cube of several", read[0] == 5 && read[1] == 11 && read[3] == 11);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  expect("a cube of five faces",
         cudaMalloc3DArray(&held, &format, make_cudaExtent(N, N, 5), cudaArrayCubemap) ==
             cudaErrorInvalidValue);
  cudaGetLastError();
}

void mipmaps() {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t held;
  cudaMallocMipmappedArray(&held, &format, make_cudaExtent(N, N, 0), LEVELS);
  for (int level = 0; level < LEVELS; level++) {
    cudaArray_t one;
    cudaGetMipmappedArrayLevel(&one, held, level);
    cudaExtent extent;
    cudaArrayGetInfo(nullptr, &extent, nullptr, one);
    expect("the extent of a level", int(extent.width) == N >> level);
    std::vector<float> values(extent.width * extent.height, 10.f * level);
    cudaMemcpy2DToArray(one, 0, 0, values.data(), 4 * extent.width, 4 * extent.width,
                        extent.height, cudaMemcpyHostToDevice);
  }
  cudaResourceDesc what = {};
  what.resType = cudaResourceTypeMipmappedArray;
  what.res.mipmap.mipmap = held;
  levels<<<1, 32>>>(texture(what, true), out);
  auto read = found(64);
  bool right = true;
  for (int i = 0; i < 32; i++)
    right &= read[i] == 10 * std::fmin(i / 4.f, LEVELS - 1) && read[32 + i] == 0;
  expect("a level", right);
  expect("freeing levels", cudaFreeMipmappedArray(held) == cudaSuccess);
}

void gather() {
  std::vector<float4> values(N * N);
  for (int i = 0; i < N * N; i++) values[i] = make_float4(0, i, 0, 0);
  auto held = array(values, make_cudaExtent(N, N, 0), cudaArrayTextureGather);
  gathers<<<1, 8>>>(texture(held, false), (float4*)out);
  auto read = found(32);
  bool right = true;
  for (int i = 0; i < 8; i++)
    right &= read[4 * i] == 3 * N + i && read[4 * i + 1] == 3 * N + i + 1 &&
             read[4 * i + 2] == 2 * N + i + 1 && read[4 * i + 3] == 2 * N + i;
  expect("a gather", right);
}

void surface() {
  std::vector<int> values(N * 2 * LAYERS), read(values.size());
  for (size_t i = 0; i < values.size(); i++) values[i] = i;
  cudaExtent extent = make_cudaExtent(N, 2, LAYERS);
  auto held = array(values, extent, cudaArrayLayered | cudaArraySurfaceLoadStore);
  cudaResourceDesc what = {};
  what.resType = cudaResourceTypeArray;
  what.res.array.array = held;
  cudaSurfaceObject_t s;
  cudaCreateSurfaceObject(&s, &what);
  turn<<<LAYERS, N>>>(s);
  cudaMemcpy3DParms copy = {};
  copy.srcArray = held;
  copy.dstPtr = make_cudaPitchedPtr(read.data(), 4 * N, N, 2);
  copy.extent = extent;
  copy.kind = cudaMemcpyDeviceToHost;
  cudaMemcpy3D(&copy);
  bool right = true;
  for (int layer = 0; layer < LAYERS; layer++)
    for (int x = 0; x < N; x++)
      right &= read[layer * 2 * N + x] == values[layer * 2 * N + N + x] + 100 * layer;
  expect("a layer of a surface", right);
}

int main() {
  cudaMalloc(&out, 4 * N * N * LAYERS);
  layered();
  cube();
  mipmaps();
  gather();
  surface();
  printf("%s, %d wrong\n", cudaGetErrorName(cudaDeviceSynchronize()), wrong);
  return wrong != 0;
}
