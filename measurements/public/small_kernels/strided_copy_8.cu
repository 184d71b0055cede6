/* kernelcast
caches = "warm"
N = "1 << 24"
block = 256
[[launch]]
kernel = "strided_copy_8_kernel"
grid = "cdiv(cdiv(N, 8), block)"
block = "block"
[launch.args]
A = "f32[N]"
C = "f32[N]"
count = "N"
*/
#undef N
#undef block
#include "strided_copy_8.cuh"
