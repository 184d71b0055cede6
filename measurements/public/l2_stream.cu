/* kernelcast
# Kernels whose threads, 1 Gi + 2 of them, go round arrays of `around` doubles, an element each, with
# one or two blocks on an SM at a time: shared memory leaves room for no more. --kernel: go_round_read,
# go_round_scale, go_round_triad or go_round_write; -D around=24545.
total = "(1 << 30) + 2"
around = 24545
block = 768
blocks = 2
[[launch]]
kernel = "go_round_triad"
grid = "total // block + 1"
block = "block"
smem = "(50 - 38 * (blocks == 2)) << 10"
args = { n = "total", never = 0, out = "f64[around]", a = "f64[around] random(1)", b = "f64[around] random(2)", c = "f64[around] random(3)" }
*/

// The work of the kernels of gpu-benches' gpu-l2-stream, written anew.
#undef block
#undef blocks
#undef total

#include "reserved_bytes.cuh"

// One thread for each of n elements, of which those after `around` are the first ones again; `never`
// is false and keeps `reserved` alive.
#define GO_ROUND(name, result)                                                                   \
    __global__ void go_round_##name(long long n, int never, double* out,                         \
                                    const double* __restrict__ a, const double* __restrict__ b,  \
                                    const double* __restrict__ c) {                              \
        __shared__ double reserved[RESERVED_BYTES / 8];                                          \
        int i = (threadIdx.x + blockIdx.x * blockDim.x) % around;                                \
        if (i >= n) return;                                                                      \
        if (never) reserved[threadIdx.x] = a[threadIdx.x];                                       \
        result;                                                                                  \
        if (never) out[i] = reserved[i % 32];                                                    \
    }

GO_ROUND(read, if (a[i] == 123.0) out[i] = 0.0)
GO_ROUND(scale, out[i] = 1.2 * a[i])
GO_ROUND(triad, out[i] = a[i] * c[i] + b[i])
GO_ROUND(write, out[i] = 0.23)
