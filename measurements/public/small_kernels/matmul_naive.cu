/* kernelcast
caches = "warm"
rows = 2048
[[launch]]
kernel = "matmul_naive_kernel"
grid = ["cdiv(rows, 16)", "cdiv(rows, 16)"]
block = [16, 16]
[launch.args]
A = "f32[rows, rows]"
B = "f32[rows, rows]"
C = "f32[rows, rows]"
N = "rows"
*/
#undef rows
#undef cols
#undef block
#include "matmul_naive.cuh"
