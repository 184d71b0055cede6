/* kernelcast
# --kernel: array_add_coalesced<float> or array_add_not_coalesced<float>
axis_size = 8192
[[launch]]
kernel = "array_add_coalesced<float>"
grid = ["cdiv(axis_size, 16)", "cdiv(axis_size, 16)"]
block = [16, 16]
[launch.args]
a = "f32[axis_size, axis_size]"
b = "f32[axis_size, axis_size]"
c = "f32[axis_size, axis_size]"
m = "axis_size"
n = "axis_size"
*/
#include "array_add_kernels.cuh"
