/* kernelcast
n_vectors = 100000
n_dimensions = 100
[[launch]]
kernel = "sobolGPU_kernel"
grid = [512, "n_dimensions"]
block = 64
[launch.args]
n_vectors = "n_vectors"
n_dimensions = "n_dimensions"
d_directions = "u32[n_dimensions, 32] randint(0, 1 << 30, 1)"
d_output = "f32[n_dimensions, n_vectors]"
*/
#include "sobol_gpu.cu"
