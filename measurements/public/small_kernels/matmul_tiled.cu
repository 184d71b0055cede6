/* kernelcast
caches = "warm"
rows = 2048
[[launch]]
kernel = "matmul_tiled_kernel"
grid = ["cdiv(rows, 32)", "cdiv(rows, 32)"]
block = [32, 32]
[launch.args]
A = "f32[rows, rows]"
B = "f32[rows, rows]"
C = "f32[rows, rows]"
N = "rows"
*/
#undef rows
#undef cols
#undef block
#include "matmul_tiled.cuh"
