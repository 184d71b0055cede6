/* kernelcast
caches = "flushed"
n = 4096
[[launch]]
kernel = "add_kernel_non_interleaved"
grid = "n // 256"
block = 256
[launch.args]
dest_ptr = "u32[16, n]"
src_ptr = "u32[16, n]"
num_elements = "n"
*/
#include "interleave-cuda/main.cu"
