/* kernelcast
caches = "warm"
rows = 4096
cols = 4096
[[launch]]
kernel = "shared_transpose_kernel"
grid = ["cdiv(cols, 32)", "cdiv(rows, 32)"]
block = [32, 32]
[launch.args]
A = "f32[rows, cols]"
B = "f32[cols, rows]"
row_count = "rows"
column_count = "cols"
*/
#undef rows
#undef cols
#undef block
#include "shared_transpose.cuh"
