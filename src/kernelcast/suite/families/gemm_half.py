"""Launches of the matrix products in half precision."""

from kernelcast.suite.table import (
    MATRIX_CODE,
    NVIDIA_HEADERS,
    Geometry,
    vary,
)

SMALL = {"m": 64, "n": 64, "depth": 64}
FULL = {"m": 2048, "n": 2048, "depth": 2048}
PAIRS = Geometry(
    "n // tile, m // tile",
    "tile // 2, tile",
    vary(tile=(16, 8, 32), share=(1, 2)),
    SMALL,
    FULL,
)
WARPS = Geometry(
    "n // 16, cdiv(m, 16 * warps)", "32, warps", vary(warps=(2, 1, 4), share=(1, 2)), SMALL, FULL
)

OPERANDS = {
    "m": "m",
    "n": "n",
    "k": "depth // share",
    "a": "f16[m, k] random(1)",
    "b": "f16[k, n] random(2)",
    "c": "f32[m, n]",
}

KERNELS = (
    PAIRS.kernel("gemm_half2<{tile}>", (NVIDIA_HEADERS,), **OPERANDS),
    WARPS.kernel("gemm_wmma<{warps}>", (NVIDIA_HEADERS, MATRIX_CODE), **OPERANDS),
)
