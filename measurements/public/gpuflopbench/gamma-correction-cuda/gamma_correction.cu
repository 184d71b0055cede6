/* kernelcast
caches = "flushed"
pixels = "7680 * 4320"
[[launch]]
kernel = "gamma_correction"
grid = "pixels // 256"
block = 256
args = { pixel = "u32[pixels]" }
*/
namespace std { typedef unsigned char uint8_t; }
#include "gamma-correction-cuda/main.cu"
