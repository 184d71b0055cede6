/* kernelcast
caches = "warm"
N = "1 << 24"
block = 256
[[launch]]
kernel = "dot_product_kernel"
grid = "cdiv(N, 2 * block)"
block = "block"
smem = "4 * block"
[launch.args]
A = "f32[N]"
B = "f32[N]"
partial = "f32[cdiv(N, 2 * block)]"
count = "N"
*/
#undef N
#undef block
#include "dot_product.cuh"
