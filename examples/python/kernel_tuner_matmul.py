"""Kernel Tuner searches the tile of a product of matrices; a forecast stands for each time.

Run it without a GPU: python examples/python/kernel_tuner_matmul.py
"""

import numpy as np

from kernelcast.adapters.kernel_tuner import tune_kernel

SOURCE = """
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
    int column = blockIdx.x * block_size_x + threadIdx.x;
    int row = (blockIdx.y * block_size_y + threadIdx.y) * rows;
    float total[rows] = {};
    for (int k = 0; k < n; k++)
        for (int r = 0; r < rows; r++) total[r] += a[(row + r) * n + k] * b[k * n + column];
    for (int r = 0; r < rows; r++) c[(row + r) * n + column] = total[r];
}
"""

n = 256
numbers = np.random.default_rng(1)
a, b = (numbers.random((n, n), dtype=np.float32) for _ in range(2))
c = np.zeros((n, n), np.float32)

results, environment = tune_kernel(
    "matmul",
    SOURCE,
    (n, n),
    [a, b, c, np.int32(n)],
    {"block_size_x": [16, 32], "block_size_y": [4, 8], "rows": [1, 4]},
    grid_div_y=["block_size_y", "rows"],
    gpu="rtx-4090",
    answer=[None, None, a @ b, None],
    atol=1e-3,
    metrics={"GFLOP/s": lambda p: 2e-9 * n**3 / (1e-3 * p["time"])},
)
best = environment["best_config"]
print(f"best on {environment['device_name']}: {best['GFLOP/s']:.0f} GFLOP/s, {best['bound_by']}")
