/* kernelcast
caches = "flushed"
n = 1000000
[[launch]]
kernel = "simd_intrinsics"
grid = "cdiv(n, 256)"
block = 256
[launch.args]
n = "n"
input = "s32[n] randint(0, 1 << 30, 1)"
output = "u32[n]"
*/
#include "intrinsics-simd-cuda/main.cu"
