/* kernelcast
caches = "warm"
N = "1 << 24"
block = 256
[[launch]]
kernel = "vector_add_divergent_kernel"
grid = "cdiv(N, block)"
block = "block"
[launch.args]
A = "f32[N]"
B = "f32[N]"
C = "f32[N]"
count = "N"
*/
#undef N
#undef block
#include "vector_add_divergent.cuh"
