/* kernelcast
caches = "flushed"
width = 8192
height = 8192
[[launch]]
kernel = "toCoef2DY"
grid = "cdiv(width, 64)"
block = 64
[launch.args]
image = "f32[height, width]"
pitch = "4 * width"
width = "width"
height = "height"
*/
#include "cbsfil-cuda/kernels.h"
