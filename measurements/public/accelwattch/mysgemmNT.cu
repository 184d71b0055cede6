/* kernelcast
# The medium data set.
m = 1024
n = 1056
k = 992
[[launch]]
kernel = "mysgemmNT"
grid = ["m // 128", "n // 16"]
block = [16, 8]
[launch.args]
A = "f32[k, m] random(1)"
lda = "m"
B = "f32[k, n] random(2)"
ldb = "n"
C = "f32[n, m]"
ldc = "m"
k = "k"
alpha = 1.0
beta = 0.0
*/
#include <iostream>
#include "sgemm_kernel.cu"
