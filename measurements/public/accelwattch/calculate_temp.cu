/* kernelcast
# 1024 x 1024 points, two steps a launch: a block computes 12 x 12 of its 16 x 16.
size = 1024
steps = 2
[[launch]]
kernel = "calculate_temp"
grid = ["cdiv(size, 16 - 2 * steps)", "cdiv(size, 16 - 2 * steps)"]
block = [16, 16]
[launch.args]
iteration = "steps"
power = "f32[size, size] random(1)"
temp_src = "f32[size, size] random(2)"
temp_dst = "f32[size, size]"
grid_cols = "size"
grid_rows = "size"
border_cols = "steps"
border_rows = "steps"
Cap = 0.5
Rx = 0.1
Ry = 0.1
Rz = 0.1
step = 0.1
time_elapsed = 0.001
*/
#define BLOCK_SIZE 16
#include "hotspot.cu"
