/* kernelcast
# The large data set: as many launches as its 2048 samples need.
numX = 262144
[[launch]]
kernel = "ComputeQ_GPU"
grid = "numX // 256"
block = 256
[launch.args]
numK = 2048
kGlobalIndex = 0
x = "f32[numX] random(1)"
y = "f32[numX] random(2)"
z = "f32[numX] random(3)"
Qr = "f32[numX]"
Qi = "f32[numX]"
*/
#include "computeQ.cu"
