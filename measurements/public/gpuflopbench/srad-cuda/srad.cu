/* kernelcast
caches = "flushed"
Nr = 502
Nc = 458
Ne = "Nr * Nc"
[[launch]]
kernel = "neighbours"
grid = 1
block = 512
[launch.args]
iN = "s32[Nr]"
iS = "s32[Nr]"
jE = "s32[Nc]"
jW = "s32[Nc]"
Nr = "Nr"
Nc = "Nc"
[[launch]]
kernel = "srad"
grid = "cdiv(Ne, 256)"
block = 256
[launch.args]
d_lambda = 0.5
d_Nr = "Nr"
d_Nc = "Nc"
d_Ne = "Ne"
iN = "s32[Nr]"
iS = "s32[Nr]"
jE = "s32[Nc]"
jW = "s32[Nc]"
d_dN = "f32[Ne]"
d_dS = "f32[Ne]"
d_dE = "f32[Ne]"
d_dW = "f32[Ne]"
d_q0sqr = 0.5
d_c = "f32[Ne]"
d_I = "f32[Ne] random(1)"
*/
#include "srad-cuda/main.h"
#include "srad-cuda/srad_kernel.cu"

// The rows and columns beside each, those at the edges beside themselves.
__global__ void neighbours(int *iN, int *iS, int *jE, int *jW, int Nr, int Nc)
{
    int at = threadIdx.x;
    if (at < Nr) {
        iN[at] = max(at - 1, 0);
        iS[at] = min(at + 1, Nr - 1);
    }
    if (at < Nc) {
        jW[at] = max(at - 1, 0);
        jE[at] = min(at + 1, Nc - 1);
    }
}
