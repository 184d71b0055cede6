/* kernelcast
axis_size = 8192
num_channels = 1
mask_width = 5
block_axis_dim = 16
[[launch]]
kernel = "convolution_2D_constant_memory_kernel"
grid = ["cdiv(axis_size, block_axis_dim)", "cdiv(axis_size, block_axis_dim)"]
block = ["block_axis_dim", "block_axis_dim"]
[launch.args]
N = "f32[axis_size, axis_size, num_channels]"
P = "f32[axis_size, axis_size, num_channels]"
height_of_mask = "mask_width"
width_of_mask = "mask_width"
height = "axis_size"
width = "axis_size"
channels = "num_channels"
*/
#undef mask_width
__constant__ float M[121];
#include "convolution_kernels.cuh"
