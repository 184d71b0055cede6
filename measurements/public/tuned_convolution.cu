/* kernelcast
# A convolution of 4096 x 4096 pixels, as Kernel Tuner tunes it, 17 x 17 where a file says nothing else.
filter_width = 17
filter_height = 17
block_size_x = 16
block_size_y = 16
tile_size_x = 1
tile_size_y = 1
read_only = 0
use_padding = 1
[[launch]]
kernel = "convolution_kernel"
grid = ["cdiv(4096, block_size_x * tile_size_x)", "cdiv(4096, block_size_y * tile_size_y)"]
block = ["block_size_x", "block_size_y"]
args = { output = "f32[4096, 4096]", input = "f32[4096 + filter_height - 1, 4096 + filter_width - 1] random(1)", filter = "f32[filter_height, filter_width] random(2)" }
*/
#ifndef filter_width
#define filter_width 17
#define filter_height 17
#endif
#ifndef read_only
#define read_only 0
#endif
#include "convolution.cu"
