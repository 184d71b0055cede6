/* kernelcast
# HotSpot's heat equation on grid_width x grid_height points, as Kernel Tuner tunes it.
grid_width = 4096
grid_height = 4096
block_size_x = 16
block_size_y = 16
tile_size_x = 1
tile_size_y = 1
max_tfactor = 10
# The last blocks read past the end of what is meant to be read: arrays have rows for that.
[[launch]]
kernel = "calculate_temp"
grid = ["cdiv(grid_width, block_size_x * tile_size_x)", "cdiv(grid_height, block_size_y * tile_size_y)"]
block = ["block_size_x", "block_size_y"]
args = { power = "f32[grid_height + 3 * max_tfactor, grid_width + 2 * max_tfactor] random(1)", temp = "f32[grid_height + 3 * max_tfactor, grid_width + 2 * max_tfactor] random(2)", temp_dst = "f32[grid_height, grid_width]", Rx_1 = 0.1, Ry_1 = 0.1, Rz_1 = 0.1, step_div_cap = 0.1 }
*/
#define kernel_tuner 1
#define block_size_z 1
// nvcc's preprocessor leaves macros in pragmas as they are.
constexpr int unrolled_steps = loop_unroll_factor_t;
#undef loop_unroll_factor_t
constexpr int loop_unroll_factor_t = unrolled_steps;
#include "hotspot.cu"
