"""A `cupy.RawKernel` forecast on a GPU that is not there.

Run it without a GPU: python examples/python/cupy_histogram.py
"""

import cupy
import numpy as np

from kernelcast.adapters.cupy import forecast

histogram = cupy.RawKernel(
    r"""
extern "C" __global__ void histogram(const unsigned char* values, unsigned int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[values[i] % BINS], 1u);
}
""",
    "histogram",
    options=("-DBINS=64",),
)

n = 1 << 20
values = np.random.default_rng(1).integers(0, 256, n, dtype=np.uint8)
bins = np.zeros(64, np.uint32)
print(forecast(histogram, (n // 256,), (256,), (values, bins, np.int32(n)), "rtx-4090"))
