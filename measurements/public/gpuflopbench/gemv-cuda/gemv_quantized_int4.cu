/* kernelcast
caches = "flushed"
size = 16384
[[launch]]
kernel = "gemv_quantized_int4"
grid = [1, "size // 2"]
block = [512, 2]
[launch.args]
mat = "u8[size, size // 2]"
vec = "f16[size]"
res = "f16[size]"
n = "size"
scale = "b8[2]"
zero_point = "b8[2]"
num_per_thread = "size // 512"
*/
typedef signed char int8_t;
typedef unsigned char uint8_t;
#include "gemv-cuda/kernels.h"
