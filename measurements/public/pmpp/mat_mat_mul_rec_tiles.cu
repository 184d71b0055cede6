/* kernelcast
# The benchmark launches four times the blocks that the product has.
num_rows_1 = 2048
num_cols_1_rows_2 = 2048
num_cols_2 = 2048
num_threads = 16
[[launch]]
kernel = "mat_mat_mul_rec_tiles<unsigned int>"
grid = ["cdiv(num_cols_2, num_threads // 2)", "cdiv(num_rows_1, num_threads)"]
block = ["num_threads", "num_threads"]
smem = "3 * 4 * num_threads * num_threads"
[launch.args]
in_mat1 = "u32[num_rows_1, num_cols_1_rows_2]"
in_mat2 = "u32[num_cols_1_rows_2, num_cols_2]"
out_mat = "u32[num_rows_1, num_cols_2]"
mat1_rows = "num_rows_1"
mat1_cols = "num_cols_1_rows_2"
mat2_rows = "num_cols_1_rows_2"
mat2_cols = "num_cols_2"
*/
#include <cstdint>
#include "mat_mat_mul_kernels.cuh"
