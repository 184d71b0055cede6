/* kernelcast
caches = "warm"
# The data were zeros: every value falls into the first bin.
N = "1 << 24"
block = 256
[[launch]]
kernel = "histogram_kernel"
grid = "cdiv(N, block)"
block = "block"
smem = 1024
[launch.args]
data = "u32[N]"
count = "N"
bins = "u32[256]"
*/
#undef N
#undef block
#include "histogram.cuh"
