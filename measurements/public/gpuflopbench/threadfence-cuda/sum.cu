/* kernelcast
caches = "flushed"
n = 10000000
[[launch]]
kernel = "sum"
grid = "cdiv(n, 256)"
block = 256
[launch.args]
array = "f32[n] ones"
N = "n"
count = "u32[1]"
result = "f32[cdiv(n, 256)]"
*/
#include "threadfence-cuda/main.cu"
