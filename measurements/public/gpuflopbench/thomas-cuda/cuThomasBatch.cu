/* kernelcast
caches = "flushed"
M = 1024
N = 16384
[[launch]]
kernel = "cuThomasBatch"
grid = "N // 64 + 1"
block = 64
[launch.args]
L = "f64[M, N] random(1)"
D = "f64[M, N] ones"
U = "f64[M, N] random(2)"
RHS = "f64[M, N] random(3)"
M = "M"
BATCHCOUNT = "N"
*/
#include "thomas-cuda/cuThomasBatch.cu"
