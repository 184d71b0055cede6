// A library of PTX: its kernel is launched by handle, its variable read and written.
#include <cstdio>

static const char image[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 total = 5;
.visible .entry bump(.param .u32 by) {
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u32 %r1, [by];
  mov.u64 %rd1, total;
  red.global.add.u32 [%rd1], %r1;
  ret;
}
)";

int main(int, char **arguments) {
  cudaLibrary_t library, missing;
  cudaKernel_t bump, none;
  printf("%s ", cudaGetErrorName(cudaLibraryLoadFromFile(&missing, arguments[1], nullptr, nullptr, 0,
                                                         nullptr, nullptr, 0)));
  cudaLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  cudaLibraryGetKernel(&bump, library, "bump");
  printf("%s ", cudaGetErrorName(cudaLibraryGetKernel(&none, library, "jump")));
  unsigned *total, by = 1, held;
  size_t bytes;
  cudaLibraryGetGlobal((void **)&total, &bytes, library, "total");
  void *given[] = {&by};
  cudaLaunchKernel((void *)bump, dim3(2), dim3(1), given, 0, 0);
  cudaMemcpy(&held, total, bytes, cudaMemcpyDeviceToHost);
  printf("%u ", held);
  by = 5;
  cudaLaunchKernel((void *)bump, dim3(1), dim3(1), given, 0, 0);
  cudaMemcpy(&held, total, bytes, cudaMemcpyDeviceToHost);
  cudaLibraryUnload(library);
  cudaGetLastError();
  printf("%u, %s\n", held, cudaGetErrorName(cudaDeviceSynchronize()));
}
