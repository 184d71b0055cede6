/* kernelcast
bytes = "64 << 20"
blocks = "cdiv(bytes, 64 * 240)"
[[launch]]
kernel = "histogram64Kernel"
grid = "blocks"
block = 64
[launch.args]
d_PartialHistograms = "u32[blocks, 64]"
d_Data = "u32[bytes // 4] randint(0, 1 << 30, 1)"
dataCount = "bytes // 16"
*/
#include "histogram64.cu"
