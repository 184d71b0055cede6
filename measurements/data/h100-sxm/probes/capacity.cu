// What an L2 cache of two halves holds: meant for Nsight Compute, which counts the DRAM's bytes of every launch:
// ncu --cache-control none --clock-control none --metrics dram__bytes_read.sum,dram__bytes_write.sum,gpu__time_duration.sum ./capacity
// One line for each counted launch says what it does; all others are named `flush`.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  printf("{\"error\": \"%s\", \"line\": %d}\n", cudaGetErrorString(e_), __LINE__); fflush(stdout); exit(1); } } while (0)

// Chunks of 2 KB; block b takes those with (index + turned) % blocks == b, so that `turned` gives every chunk to another SM.
template <int WRITES> __device__ void go(uint4* at, size_t chunks, int turned, unsigned* sink) {
  unsigned sum = 0;
  size_t first = (blockIdx.x + turned) % gridDim.x;
  for (size_t c = first; c < chunks; c += gridDim.x) {
    uint4* p = at + c * 128 + threadIdx.x;
    if (WRITES) *p = make_uint4(c, c, c, c);
    else { uint4 v = __ldcg(p); sum ^= v.x ^ v.y ^ v.z ^ v.w; }
  }
  if (sum == 0x5eed) *sink = sum;
}
__global__ void flush(uint4* at, size_t chunks, int turned, unsigned* sink) { go<0>(at, chunks, turned, sink); }
__global__ void reads(uint4* at, size_t chunks, int turned, unsigned* sink) { go<0>(at, chunks, turned, sink); }
__global__ void writes(uint4* at, size_t chunks, int turned, unsigned* sink) { go<1>(at, chunks, turned, sink); }

static uint4 *data, *other;
static unsigned* sink;
static int BLOCKS;
static const size_t MIB = 1 << 20, CHUNK = 2048, FLUSH = 256 * MIB;

static void flushed() {
  for (int n = 0; n < 2; ++n) flush<<<BLOCKS, 128>>>(other, FLUSH / CHUNK, 0, sink);
}
static void told(const char* what, double mib, double before) { printf("{\"launch\": \"%s\", \"mib\": %g, \"before_mib\": %g}\n", what, mib, before); }

int main() {
  cudaDeviceProp d;
  CHECK(cudaGetDeviceProperties(&d, 0));
  BLOCKS = d.multiProcessorCount * 8;
  CHECK(cudaMalloc(&data, 512 * MIB)); CHECK(cudaMalloc(&other, FLUSH)); CHECK(cudaMalloc(&sink, 4));
  CHECK(cudaMemset(data, 0, 512 * MIB)); CHECK(cudaMemset(other, 0, FLUSH));
  int sizes[] = {4, 8, 12, 16, 20, 22, 24, 26, 28, 30, 32, 36, 40, 44, 48, 56, 64};
  for (int mib : sizes) {
    size_t chunks = mib * MIB / CHUNK;
    for (int turned : {0, BLOCKS / 3, 1}) {
      flushed();
      reads<<<BLOCKS, 128>>>(data, chunks, 0, sink); told("read", mib, 0);
      reads<<<BLOCKS, 128>>>(data, chunks, turned, sink); told(turned == 0 ? "read again" : turned == 1 ? "read again, next SM" : "read again, others", mib, mib);
    }
    flushed();
    writes<<<BLOCKS, 128>>>(data, chunks, 0, sink); told("write", mib, 0);
    reads<<<BLOCKS, 128>>>(other, FLUSH / CHUNK, 0, sink); told("read much after writes", 256, mib);
    flushed();
    writes<<<BLOCKS, 128>>>(data, chunks, 0, sink); told("write", mib, 0);
    writes<<<BLOCKS, 128>>>(data, chunks, 0, sink); told("write again", mib, mib);
    flushed();
    writes<<<BLOCKS, 128>>>(data, chunks, 0, sink); told("write", mib, 0);
    reads<<<BLOCKS, 128>>>(data, chunks, 0, sink); told("read what was written", mib, mib);
    for (int written : {8, 16}) {
      flushed();
      writes<<<BLOCKS, 128>>>(other, written * MIB / CHUNK, 0, sink); told("write", written, 0);
      reads<<<BLOCKS, 128>>>(data, chunks, 0, sink); told("read after writes", mib, written);
      reads<<<BLOCKS, 128>>>(other + 16 * MIB, FLUSH / 2 / CHUNK, 0, sink); told("read much after writes and reads", 128, mib);
    }
  }
  CHECK(cudaDeviceSynchronize());
  return 0;
}
