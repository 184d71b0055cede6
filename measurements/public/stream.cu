/* kernelcast
# Kernels that stream 128 Mi + 2 doubles, an element per thread, with one or two blocks on an SM at
# a time: shared memory leaves room for no more. --kernel: fill, read, scale, triad, stencil_3 or
# stencil_5.
n = "(128 << 20) + 2"
block = 1024
blocks = 2
[[launch]]
kernel = "triad"
grid = "n // block + 1"
block = "block"
smem = "(50 - 38 * (blocks == 2)) << 10"
args = { n = "n", never = 0, out = "f64[n]", a = "f64[n] random(1)", b = "f64[n] random(2)", c = "f64[n] random(3)" }
*/

// The work of the kernels of gpu-benches' gpu-stream, written anew.
#undef block
#undef blocks

#include "reserved_bytes.cuh"

// One thread per element from `from` to n - `from`; `never` is false and keeps `reserved` alive.
#define STREAM(name, from, result)                                                               \
    __global__ void name(long long n, int never, double* __restrict__ out,                       \
                         const double* __restrict__ a, const double* __restrict__ b,             \
                         const double* __restrict__ c) {                                         \
        __shared__ double reserved[RESERVED_BYTES / 8];                                          \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                           \
        if (i < from || i >= n - from) return;                                                   \
        if (never) reserved[threadIdx.x] = a[threadIdx.x];                                       \
        result;                                                                                  \
        if (never) out[i] = reserved[i % 32];                                                    \
    }

STREAM(fill, 0, out[i] = 0.25)
STREAM(read, 0, if (a[i] == 123.0) out[i] = 0.0)
STREAM(scale, 0, out[i] = 1.5 * a[i])
STREAM(triad, 0, out[i] = a[i] + b[i] * c[i])
STREAM(stencil_3, 1, out[i] = 0.5 * a[i - 1] - a[i] + 0.5 * a[i + 1])
// Every neighbour has a product of its own, five operations one after the other.
STREAM(stencil_5, 2,
       out[i] = 0.25 * a[i - 2] + 0.25 * a[i - 1] - a[i] + 0.5 * a[i + 1] + 0.5 * a[i + 2])
