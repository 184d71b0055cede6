/* kernelcast
# The first of all: in double precision, by a mask of three.
caches = "flushed"
n = 134217728
[[launch]]
kernel = "conv1d<double>"
grid = "n // 256"
block = 256
[launch.args]
in = "f64[n]"
out = "f64[n]"
input_width = "n"
mask_width = 3
*/
#include "convolution1D-cuda/main.cu"
