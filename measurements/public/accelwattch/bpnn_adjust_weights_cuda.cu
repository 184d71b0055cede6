/* kernelcast
inputs = 65536
hid = 16
[[launch]]
kernel = "bpnn_adjust_weights_cuda"
grid = [1, "inputs // 16"]
block = [16, 16]
[launch.args]
delta = "f32[hid + 1] random(1)"
hid = "hid"
ly = "f32[inputs + 1] random(2)"
in = "inputs"
w = "f32[inputs + 1, hid + 1] random(3)"
oldw = "f32[inputs + 1, hid + 1] random(4)"
*/
#include "backprop_cuda_kernel.cu"
