/* kernelcast
caches = "flushed"
n = "24 * 24 * 24"
[[launch]]
kernel = "ratt2_kernel<float>"
grid = "n // 128"
block = 128
[launch.args]
T = "f32[n] ones"
RF = "f32[206, n] ones"
RB = "f32[206, n]"
EG = "f32[32, n] ones"
TCONV = 1.0
*/
#define register
#include "s3d-cuda/ratt2.h"
