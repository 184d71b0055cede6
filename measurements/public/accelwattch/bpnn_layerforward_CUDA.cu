/* kernelcast
inputs = 65536
hid = 16
[[launch]]
kernel = "bpnn_layerforward_CUDA"
grid = [1, "inputs // 16"]
block = [16, 16]
[launch.args]
input_cuda = "f32[inputs + 1] random(1)"
output_hidden_cuda = "f32[hid + 1]"
input_hidden_cuda = "f32[inputs + 1, hid + 1] random(2)"
hidden_partial_sum = "f32[inputs // 16, hid]"
in = "inputs"
hid = "hid"
*/
#include "backprop_cuda_kernel.cu"
