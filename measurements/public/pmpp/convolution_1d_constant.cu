/* kernelcast
array_size = "1 << 26"
mask_width = 5
block_dim = 512
threads = "cdiv(array_size, block_dim) * block_dim"    # each reads and writes
[[launch]]
kernel = "convolution_1D_constant_memory_kernel"
grid = "cdiv(array_size, block_dim)"
block = "block_dim"
[launch.args]
N = "f32[threads]"
P = "f32[threads]"
width_of_mask = "mask_width"
width = "array_size"
*/
#undef mask_width
__constant__ float M[121];
#include "convolution_kernels.cuh"
