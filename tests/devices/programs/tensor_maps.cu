// A host makes tensor maps, by which blocks copy tiles.
#include <cstdio>
#include <cuda.h>
#define SAY asm volatile
typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                           const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                           CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                           CUtensorMapFloatOOBfill);
__device__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void twice(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(1024) int s[8][32];
  __shared__ unsigned long long b;
  int x = 32 * blockIdx.x, y = 8 * blockIdx.y;
  if (threadIdx.x == 0) {
    SAY("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place(&b)) : "memory");
    SAY("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(place(&b)) : "memory");
    SAY("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(place(s)), "l"(&from), "r"(x), "r"(y), "r"(place(&b))
        : "memory");
  }
  __syncthreads();
  SAY("{.reg .pred p; W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W%=;}"
      ::"r"(place(&b)) : "memory");
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i / 32][i % 32] *= 2;
  SAY("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    SAY("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
        ::"l"(&to), "r"(x), "r"(y), "r"(place(s)) : "memory");
    SAY("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}
int main() {
  const int width = 80, height = 20;
  static int given[height][width], found[height][width];
  int *from, *to, wrong = 0;
  void *encode = nullptr;
  cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &encode, cudaEnableDefault);
  for (int i = 0; i < width * height; i++) given[0][i] = i;
  cudaMalloc(&from, sizeof given), cudaMalloc(&to, sizeof found);
  cudaMemcpy(from, given, sizeof given, cudaMemcpyHostToDevice);
  cuuint64_t extents[] = {width, height}, strides[] = {sizeof given[0]};
  cuuint32_t box[] = {32, 8}, steps[] = {1, 1};
  auto made = [&](CUtensorMap *map, void *start, CUtensorMapSwizzle swizzle, int type) {
    return ((Encode)encode)(map, (CUtensorMapDataType)type, 2, start, extents, strides, box, steps,
                            CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                            CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  CUtensorMap a, b;
  made(&a, from, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_DATA_TYPE_INT32);
  made(&b, to, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_DATA_TYPE_INT32);
  twice<<<dim3(3, 3), 64>>>(a, b);
  cudaMemcpy(found, to, sizeof found, cudaMemcpyDeviceToHost);
  for (int i = 0; i < width * height; i++) wrong += found[0][i] != 2 * i;
  printf("%d wrong, %s\n", wrong, cudaGetErrorName(cudaGetLastError()));
  printf("%d ", made(&a, (char *)from + 4, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_DATA_TYPE_INT32));
  printf("%d ", made(&a, from, CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_DATA_TYPE_INT32));
  strides[0] = 8;
  printf("%d ", made(&a, from, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_DATA_TYPE_INT32));
  strides[0] = sizeof given[0], box[0] = 8;
  printf("%d\n", made(&a, from, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_DATA_TYPE_INT32));
}
