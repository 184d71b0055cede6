"""Two products of matrices in Numba, with and without tiles, forecast on two GPUs.

Run it without a GPU: python examples/python/numba_matmul.py
"""

from numba import cuda, float32

import kernelcast as kc
from kernelcast.adapters.numba import forecast

N = 512
TILE = 16


@cuda.jit
def naive(a, b, c):
    """An element of the product by each thread."""
    row, column = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@cuda.jit
def tiled(a, b, c):
    """The same, with tiles in shared memory; lengths are multiples of a tile's."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * TILE + y, cuda.blockIdx.x * TILE + x
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        a_tile[y, x] = a[row, start + x]
        b_tile[y, x] = b[start + y, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[y, k] * b_tile[k, x]
        cuda.syncthreads()
    c[row, column] = total


ARGUMENTS = [kc.f32(N, N, fill="random(1)"), kc.f32(N, N, fill="random(2)"), kc.f32(N, N)]

for gpu in ("h100-sxm", "rtx-4090"):
    for kernel in (naive, tiled):
        found = forecast(kernel, (N // TILE, N // TILE), (TILE, TILE), ARGUMENTS, gpu)
        name = kernel.py_func.__name__
        print(f"{name:6} on {gpu}: {1e6 * found.time_s:.1f} us, bound by {found.bottleneck}")
