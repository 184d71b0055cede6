/* kernelcast
caches = "flushed"
[[launch]]
kernel = "Swap"
grid = [16, 64, 64]
block = [16, 4, 4]
[launch.args]
cnew = "f64[256, 256, 256]"
cold = "f64[256, 256, 256]"
*/
#include "che-cuda/kernels.h"
