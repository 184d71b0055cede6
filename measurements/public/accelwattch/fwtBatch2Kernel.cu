/* kernelcast
log2Data = 23
log2N = 23
[[launch]]
kernel = "fwtBatch2Kernel"
grid = ["(1 << log2N) // 1024", "1 << (log2Data - log2N)"]
block = 256
[launch.args]
d_Output = "f32[1 << log2Data]"
d_Input = "f32[1 << log2Data] random(1)"
stride = "1 << (log2N - 2)"
*/
#include "fastWalshTransform_kernel.cuh"
