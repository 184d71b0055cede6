/* kernelcast
# Distances of the detectors' edges and the first angle; none of them is so large that sin() takes another path.
caches = "flushed"
n = 2049
[[launch]]
kernel = "rot_detector_kernel"
grid = "n // 256 + 1"
block = 256
[launch.args]
d_pRdetY = "f64[n]"
d_pRdetZ = "f64[n]"
d_pYcoord = "f64[n] random(1)"
d_pZcoord = "f64[n] random(2)"
yOffset = 0.0
zOffset = 25.0
phi = -0.0366
nElem = "n"
*/
#include "ddbp-cuda/main.cu"
