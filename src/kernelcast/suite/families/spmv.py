"""Launches of the products of a sparse matrix and a vector."""

from kernelcast.suite.table import Geometry, rows, vary

SIZES = {"m": 500}, {"m": 1 << 18}
SHAPES = rows("block mean", (256, 16), (64, 16), (128, 4), (256, 4), (512, 32), (256, 64))
ROW_PER_THREAD = Geometry("cdiv(m, block)", "block", SHAPES, *SIZES)
SHARED_ROWS = Geometry("cdiv(m * lanes, 256)", "256", vary(lanes=(32, 4, 8), mean=(16, 48)), *SIZES)
ENTRIES = Geometry("cdiv(m * mean, block)", "block", SHAPES, *SIZES)

COMPRESSED = {
    "rows": "m",
    "mean": "mean",
    "jitter": "s32[m + 1] randint(0, mean, 1)",
    "column": "s32[(m + 1) * mean] randint(0, m, 2)",
    "value": "f32[(m + 1) * mean] random(3)",
    "x": "f32[m] random(4)",
    "y": "f32[m]",
}

KERNELS = (
    ROW_PER_THREAD.kernel("spmv_csr_scalar", **COMPRESSED),
    SHARED_ROWS.kernel("spmv_csr_vector<{lanes}>", **COMPRESSED),
    ROW_PER_THREAD.kernel(
        "spmv_ell",
        rows="m",
        width="mean",
        column="s32[mean, m] randint(-m // 4, m, 2)",
        value="f32[mean, m] random(3)",
        x="f32[m] random(4)",
        y="f32[m]",
    ),
    ENTRIES.kernel(
        "spmv_coo",
        entries="m * mean",
        row="s32[m * mean] randint(0, m, 1)",
        column="s32[m * mean] randint(0, m, 2)",
        value="f32[m * mean] random(3)",
        x="f32[m] random(4)",
        y="f32[m]",
    ),
)
