/* kernelcast
caches = "warm"
N = "1 << 22"
iters = 100
block = 256
[[launch]]
kernel = "atomic_hotspot_kernel"
grid = "cdiv(N, block)"
block = "block"
[launch.args]
counter = "u32[1]"
times = "iters"
*/
#undef iters
#undef block
#include "atomic_hotspot.cuh"
