/* kernelcast
N = "4 << 20"
[[launch]]
kernel = "mergeSortSharedKernel<1U>"
grid = "N // 1024"
block = 512
[launch.args]
d_DstKey = "u32[N]"
d_DstVal = "u32[N]"
d_SrcKey = "u32[N] randint(0, 65536, 1)"
d_SrcVal = "u32[N] arange"
arrayLength = 1024
*/
#include "mergeSort.cu"
