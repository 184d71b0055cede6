/* kernelcast
# The same under the names of KTT's output; HFS is half the filter's extent. PADDING had no effect:
# the shared memory that the output records is that without padding, in every configuration.
HFS = 7
BLOCK_SIZE_X = 16
BLOCK_SIZE_Y = 16
TILE_SIZE_X = 1
TILE_SIZE_Y = 1
[[launch]]
kernel = "convolution_kernel"
grid = ["cdiv(4096, BLOCK_SIZE_X * TILE_SIZE_X)", "cdiv(4096, BLOCK_SIZE_Y * TILE_SIZE_Y)"]
block = ["BLOCK_SIZE_X", "BLOCK_SIZE_Y"]
args = { output = "f32[4096, 4096]", input = "f32[4096 + 2 * HFS, 4096 + 2 * HFS] random(1)", filter = "f32[2 * HFS + 1, 2 * HFS + 1] random(2)" }
*/
#define filter_width (2 * HFS + 1)
#define filter_height (2 * HFS + 1)
#define block_size_x BLOCK_SIZE_X
#define block_size_y BLOCK_SIZE_Y
#define tile_size_x TILE_SIZE_X
#define tile_size_y TILE_SIZE_Y
#define read_only READ_ONLY
#define use_padding 0
#include "convolution.cu"
