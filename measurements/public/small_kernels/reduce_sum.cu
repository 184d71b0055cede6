/* kernelcast
caches = "warm"
N = "1 << 24"
block = 256
[[launch]]
kernel = "reduce_sum_kernel"
grid = "cdiv(N, 2 * block)"
block = "block"
smem = "4 * block"
[launch.args]
in = "f32[N]"
out = "f32[cdiv(N, 2 * block)]"
count = "N"
*/
#undef N
#undef block
#include "reduce_sum.cuh"
