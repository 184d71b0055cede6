/* kernelcast
caches = "warm"
# The indices were zeros.
N = "1 << 24"
block = 256
[[launch]]
kernel = "random_access_kernel"
grid = "cdiv(N, block)"
block = "block"
[launch.args]
A = "f32[N]"
idx = "s32[N]"
B = "f32[N]"
count = "N"
*/
#undef N
#undef block
#include "random_access.cuh"
