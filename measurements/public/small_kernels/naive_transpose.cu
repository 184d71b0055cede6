/* kernelcast
caches = "warm"
rows = 4096
cols = 4096
[[launch]]
kernel = "naive_transpose_kernel"
grid = ["cdiv(cols, 16)", "cdiv(rows, 16)"]
block = [16, 16]
[launch.args]
A = "f32[rows, cols]"
B = "f32[cols, rows]"
row_count = "rows"
column_count = "cols"
*/
#undef rows
#undef cols
#undef block
#include "naive_transpose.cuh"
