/* kernelcast
axis_size = 8192
num_threads = 16
[[launch]]
kernel = "color_to_grayscale_conversion"
grid = ["cdiv(axis_size, num_threads)", "cdiv(axis_size, num_threads)"]
block = ["num_threads", "num_threads"]
[launch.args]
in = "u8[3 * axis_size * axis_size]"
out = "u8[axis_size * axis_size]"
width = "axis_size"
height = "axis_size"
*/
#include <cstdint>
#include "img_to_gray_kernels.cuh"
