// Arrays, textures and surfaces, checked on the host: a box filter by coordinates, what stands
// beyond the edge, fetches from linear memory, and a surface that is written and read back.
#include <cmath>
#include <cstdio>
#include <vector>

const int WIDTH = 37, HEIGHT = 21, DEPTH = 5;

__global__ void mean(cudaTextureObject_t t, float* out, float shift) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < WIDTH) out[y * WIDTH + x] = tex2D<float>(t, x + 0.5f + shift, y + 0.5f);
}
__global__ void shares(cudaTextureObject_t t, float4* out) {
  int x = threadIdx.x;
  out[x] = tex2D<float4>(t, (x - 8 + 0.5f) / WIDTH, 0.5f / HEIGHT);
}
__global__ void fetch(cudaTextureObject_t t, unsigned char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<unsigned char>(t, n - 1 - i);
}
__global__ void turn(cudaSurfaceObject_t s) {
  int x = threadIdx.x;
  uchar4 v = surf2Dread<uchar4>(s, 4 * x, blockIdx.x);
  surf2Dwrite(make_uchar4(v.w, v.z, v.y, v.x), s, 4 * x, blockIdx.x);
}
__global__ void volume(cudaTextureObject_t t, int* out) {
  int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  out[(z * HEIGHT + y) * WIDTH + x] = tex3D<int>(t, x, y, z);
}

template <class T>
T* device(size_t n) {
  T* p;
  cudaMalloc(&p, n * sizeof(T));
  return p;
}

cudaTextureDesc reading(cudaTextureAddressMode mode, cudaTextureFilterMode filter) {
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = mode;
  how.filterMode = filter;
  return how;
}

int wrong;
void expect(const char* what, bool right) {
  if (!right) printf("%s is wrong\n", what), wrong++;
}

void filters() {
  std::vector<float> image(WIDTH * HEIGHT), found(WIDTH * HEIGHT);
  for (int i = 0; i < WIDTH * HEIGHT; i++) image[i] = float((i * 7) % 31);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMallocArray(&array, &format, WIDTH, HEIGHT);
  cudaMemcpy2DToArray(array, 0, 0, image.data(), 4 * WIDTH, 4 * WIDTH, HEIGHT,
                      cudaMemcpyHostToDevice);
  cudaResourceDesc what = {};
  what.resType = cudaResourceTypeArray;
  what.res.array.array = array;
  cudaTextureDesc how = reading(cudaAddressModeBorder, cudaFilterModeLinear);
  cudaTextureObject_t t;
  cudaCreateTextureObject(&t, &what, &how, nullptr);
  float* out = device<float>(WIDTH * HEIGHT);
  mean<<<dim3(2, HEIGHT), 32>>>(t, out, 0.5f);
  cudaMemcpy(found.data(), out, 4 * WIDTH * HEIGHT, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) {
      float next = x + 1 < WIDTH ? image[y * WIDTH + x + 1] : 0;
      right &= found[y * WIDTH + x] == (image[y * WIDTH + x] + next) / 2;
    }
  expect("a filtered read", right);
  cudaMemset(out, 0, 4 * WIDTH * HEIGHT);
  cudaMemcpy2DFromArray(found.data(), 4 * WIDTH, array, 0, 0, 4 * WIDTH, HEIGHT,
                        cudaMemcpyDeviceToHost);
  expect("the array read back", found == image);
  cudaExtent extent;
  unsigned flags;
  cudaArrayGetInfo(&format, &extent, &flags, array);
  expect("what the array is", extent.width == WIDTH && extent.height == HEIGHT && format.x == 32 &&
                                  format.f == cudaChannelFormatKindFloat);
  cudaDestroyTextureObject(t);
  expect("giving the array back", cudaFreeArray(array) == cudaSuccess);
}

void repeats() {
  std::vector<uchar4> row(WIDTH * HEIGHT);
  for (int i = 0; i < WIDTH; i++) row[i] = make_uchar4(i, 2 * i, 255, 0);
  uchar4* held;
  size_t pitch;
  cudaMallocPitch(&held, &pitch, 4 * WIDTH, HEIGHT);
  cudaMemcpy2D(held, pitch, row.data(), 4 * WIDTH, 4 * WIDTH, HEIGHT, cudaMemcpyHostToDevice);
  cudaResourceDesc what = {};
  what.resType = cudaResourceTypePitch2D;
  what.res.pitch2D.devPtr = held;
  what.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
  what.res.pitch2D.width = WIDTH;
  what.res.pitch2D.height = HEIGHT;
  what.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc how = reading(cudaAddressModeWrap, cudaFilterModePoint);
  how.addressMode[1] = cudaAddressModeClamp;
  how.readMode = cudaReadModeNormalizedFloat;
  how.normalizedCoords = 1;
  cudaTextureObject_t t;
  cudaCreateTextureObject(&t, &what, &how, nullptr);
  float4* out = device<float4>(64);
  shares<<<1, 64>>>(t, out);
  float4 found[64];
  cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < 64; i++) {
    uchar4 from = row[(i - 8 + WIDTH) % WIDTH];
    right &= std::fabs(found[i].x - from.x / 255.f) < 1e-6 && found[i].z == 1 && found[i].w == 0;
  }
  expect("what repeats", right);
}

void fetches() {
  const int n = 999;
  unsigned char bytes[n], found[n];
  for (int i = 0; i < n; i++) bytes[i] = i % 251;
  unsigned char *held = device<unsigned char>(n), *out = device<unsigned char>(n);
  cudaMemcpy(held, bytes, n, cudaMemcpyHostToDevice);
  cudaResourceDesc what = {};
  what.resType = cudaResourceTypeLinear;
  what.res.linear.devPtr = held;
  what.res.linear.desc = cudaCreateChannelDesc<unsigned char>();
  what.res.linear.sizeInBytes = n;
  cudaTextureDesc how = {};
  cudaTextureObject_t t;
  cudaCreateTextureObject(&t, &what, &how, nullptr);
  fetch<<<8, 128>>>(t, out, n);
  cudaMemcpy(found, out, n, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < n; i++) right &= found[i] == bytes[n - 1 - i];
  expect("a fetch", right);
}

void surfaces() {
  std::vector<uchar4> image(16 * HEIGHT), found(16 * HEIGHT);
  for (int i = 0; i < 16 * HEIGHT; i++) image[i] = make_uchar4(i, i + 1, i + 2, i + 3);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
  cudaArray_t array;
  cudaMallocArray(&array, &format, 16, HEIGHT, cudaArraySurfaceLoadStore);
  size_t bytes = image.size() * 4;
  cudaMemcpy2DToArray(array, 0, 0, image.data(), 64, 64, HEIGHT, cudaMemcpyHostToDevice);
  cudaResourceDesc what = {};
  what.resType = cudaResourceTypeArray;
  what.res.array.array = array;
  cudaSurfaceObject_t s;
  cudaCreateSurfaceObject(&s, &what);
  turn<<<HEIGHT, 16>>>(s);
  cudaMemcpy2DFromArray(found.data(), 64, array, 0, 0, 64, HEIGHT, cudaMemcpyDeviceToHost);
  bool right = bytes == 64 * HEIGHT;
  for (size_t i = 0; i < image.size(); i++)
    right &= found[i].x == image[i].w && found[i].w == image[i].x;
  expect("a surface", right);
  cudaDestroySurfaceObject(s);
}

void volumes() {
  std::vector<int> values(WIDTH * HEIGHT * DEPTH), found(values.size());
  for (size_t i = 0; i < values.size(); i++) values[i] = int(i * i) - 7;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaExtent extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
  cudaArray_t array;
  cudaMalloc3DArray(&array, &format, extent);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(values.data(), 4 * WIDTH, WIDTH, HEIGHT);
  copy.dstArray = array;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);
  cudaResourceDesc what = {};
  what.resType = cudaResourceTypeArray;
  what.res.array.array = array;
  cudaTextureDesc how = reading(cudaAddressModeClamp, cudaFilterModePoint);
  cudaTextureObject_t t;
  cudaCreateTextureObject(&t, &what, &how, nullptr);
  int* out = device<int>(values.size());
  volume<<<dim3(HEIGHT, DEPTH), WIDTH>>>(t, out);
  cudaMemcpy(found.data(), out, 4 * values.size(), cudaMemcpyDeviceToHost);
  expect("a volume", found == values);
}

int main() {
  filters();
  repeats();
  fetches();
  surfaces();
  volumes();
  printf("%s, %d wrong\n", cudaGetErrorName(cudaDeviceSynchronize()), wrong);
  return wrong != 0;
}
