/* kernelcast
# KERNEL: reduction4, reduction5, reduction6 or reduction7. It is launched on its own result until one
# value is left; up to 2^20 elements less often than here, where the last are of one value.
array_size = "1 << 26"
num_threads = 512
blocks = "cdiv(array_size, (2 * num_threads))"
blocks_2 = "cdiv(blocks, (2 * num_threads))"
blocks_3 = "cdiv(blocks_2, (2 * num_threads))"
[[launch]]
kernel = "KERNEL<unsigned int>"
grid = "blocks"
block = "num_threads"
smem = "4 * num_threads"
args = { X = "u32[array_size]", n = "array_size", Y = "u32[blocks]" }
[[launch]]
kernel = "KERNEL<unsigned int>"
grid = "blocks_2"
block = "num_threads"
smem = "4 * num_threads"
args = { Y = "u32[blocks]", n = "blocks", Z = "u32[blocks_2]" }
[[launch]]
kernel = "KERNEL<unsigned int>"
grid = "blocks_3"
block = "num_threads"
smem = "4 * num_threads"
args = { Z = "u32[blocks_2]", n = "blocks_2", sum = "u32[blocks_3]" }
*/
#ifndef KERNEL
#define KERNEL reduction4
#endif
#include <cstdint>
#include "reduction_kernels.cuh"
