/* kernelcast
caches = "flushed"
n = 1024
[[launch]]
kernel = "step_1_col_sub"
grid = "n * n // 256"
block = 256
*/
#define INT_MAX 2147483647
#include "hungarian-cuda/main.cu"
