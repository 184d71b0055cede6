/* kernelcast
caches = "flushed"
n = 1024
cells = "(n // 2 + 2) * (n + 2)"
[[launch]]
kernel = "red_kernel"
grid = ["n // 256", "n // 2"]
block = [128, 2]
[launch.args]
aP = "f32[n, n] ones"
aW = "f32[n, n]"
aE = "f32[n, n]"
aS = "f32[n, n]"
aN = "f32[n, n]"
b = "f32[n, n]"
temp_black = "f32[cells]"
temp_red = "f32[cells]"
norm_L2 = "f32[cells]"
*/
#include "laplace-cuda/kernels.h"
