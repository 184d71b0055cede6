/* kernelcast
# Neighbours are compared, so the colours are spread as the program's: evenly from 0 to 0.4.
caches = "flushed"
width = 2048
height = 2048
[[launch]]
kernel = "colours"
grid = "3 * width * height // 256"
block = 256
args = { rgba = "f32[3 * width * height]", even = "f32[3 * width * height] random(1)" }
[[launch]]
kernel = "check_connect"
grid = "width * height // 256"
block = 256
[launch.args]
rgba = "f32[3 * width * height]"
connect = "u32[width * height]"
w = "width"
h = "height"
*/
typedef unsigned int uint;
#include "depixel-cuda/kernels.h"

__global__ void colours(float *rgba, const float *even)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    rgba[at] = 0.4f * even[at];
}
