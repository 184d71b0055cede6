"""Launches of the products of a matrix and a vector."""

from kernelcast.suite.table import BLOCKS, Geometry, rows

SIZES = {"m": 70, "n": 93}, {"m": 4096, "n": 4096}
THREADS = Geometry("cdiv(m, block)", "block", BLOCKS, *SIZES)
WARPS = Geometry("cdiv(m, block // 32)", "block", BLOCKS, *SIZES)
WHOLE_BLOCKS = Geometry("m", "block", BLOCKS, *SIZES)
COLUMNS = Geometry(
    "cdiv(n, block), cdiv(m, part)",
    "block",
    rows("block part", (256, 32), (128, 32), (64, 64), (256, 128), (512, 16), (1024, 8)),
    *SIZES,
)

MATRIX = {
    "m": "m",
    "n": "n",
    "a": "f32[m, n] random(1)",
    "x": "f32[n] random(2)",
    "y": "f32[m]",
}

KERNELS = (
    THREADS.kernel("gemv_row_per_thread", **MATRIX),
    WARPS.kernel("gemv_row_per_warp", **MATRIX),
    WHOLE_BLOCKS.kernel("gemv_row_per_block", **MATRIX),
    COLUMNS.kernel(
        "gemv_transposed",
        m="m",
        n="n",
        rows="part",
        a="f32[m, n] random(1)",
        x="f32[m] random(2)",
        y="f32[n]",
    ),
)
