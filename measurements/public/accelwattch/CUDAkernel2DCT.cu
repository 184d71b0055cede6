/* kernelcast
size = 512
[[launch]]
kernel = "CUDAkernel2DCT"
grid = ["size // 32", "size // 16"]
block = [8, 4, 2]
[launch.args]
dst = "f32[size, size]"
src = "f32[size, size] random(1)"
ImgStride = "size"
*/
#include "dct8x8_kernel2.cuh"
