/* kernelcast
num_rows = 8192
num_cols = 8192
num_threads = 512
[[launch]]
kernel = "mat_vec_mul_tiles<unsigned int>"
grid = "cdiv(num_rows, num_threads)"
block = "num_threads"
smem = "4 * num_threads"
[launch.args]
out = "u32[cdiv(num_rows, num_threads) * num_threads]"    # every thread writes
in_mat = "u32[num_rows, num_cols]"
in_vec = "u32[num_cols]"
m = "num_rows"
n = "num_cols"
*/
#include <cstdint>
#include "mat_vec_mul_kernels.cuh"
