/* kernelcast
# The benchmark counts zeros: every atomic is on the first bin.
array_size = "1 << 26"
num_bins = 512
num_threads = 512
[[launch]]
kernel = "histogram_shared"
grid = "cdiv(array_size, num_threads)"
block = "num_threads"
smem = "4 * num_bins"
[launch.args]
input = "u32[array_size]"
bins = "u32[num_bins]"
elements = "array_size"
bin_count = "num_bins"
*/
#undef num_bins
#include "histogram_kernels.cuh"
