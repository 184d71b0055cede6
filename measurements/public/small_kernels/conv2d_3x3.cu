/* kernelcast
caches = "warm"
rows = 4096
cols = 4096
[[launch]]
kernel = "conv2d_3x3_kernel"
grid = ["cdiv(cols, 16)", "cdiv(rows, 16)"]
block = [16, 16]
[launch.args]
img = "f32[rows, cols]"
k = "f32[3, 3]"
out = "f32[rows, cols]"
H = "rows"
W = "cols"
*/
#undef rows
#undef cols
#undef block
#include "conv2d_3x3.cuh"
