/* kernelcast
log2Data = 23
log2N = 11
[[launch]]
kernel = "fwtBatch1Kernel"
grid = "1 << (log2Data - log2N)"
block = "1 << (log2N - 2)"
smem = "4 << log2N"
[launch.args]
d_Output = "f32[1 << log2Data]"
d_Input = "f32[1 << log2Data] random(1)"
log2N = "log2N"
*/
#include "fastWalshTransform_kernel.cuh"
