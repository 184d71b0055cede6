/* kernelcast
# What is read decides what is looked up, so it is spread as the program's: normally, about 0 by 1.
caches = "flushed"
n = 16777216
[[launch]]
kernel = "numbers"
grid = "n // 256"
block = 256
args = { to = "f32[256]", A = "f32[n]", radius = "f32[n] random(1)", angle = "f32[n] random(2)" }
[[launch]]
kernel = "kQuantize<256, 256>"
grid = "n // 256"
block = 256
[launch.args]
to = "f32[256]"
A = "f32[n]"
out = "u8[n]"
n = "n"
*/
typedef unsigned char uint8_t;
namespace std {
typedef unsigned long size_t;
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
}
#include "quant-cuda/main.cu"

// By Box and Muller.
__global__ void numbers(float *to, float *A, const float *radius, const float *angle)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    A[at] = sqrtf(-2 * logf(1 - radius[at])) * cospif(2 * angle[at]);
    if (blockIdx.x == 0)
        to[threadIdx.x] = code[threadIdx.x];
}
