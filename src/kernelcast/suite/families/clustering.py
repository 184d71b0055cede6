"""Launches of the kernels on points."""

from kernelcast.suite.table import BLOCKS, Geometry, rows

SHAPES = rows(
    "block k dims",
    (256, 16, 4),
    (64, 16, 4),
    (128, 8, 8),
    (512, 64, 2),
    (1024, 16, 4),
    (256, 32, 16),
)
SIZES = {"n": 700, "blocks": 2}, {"n": 1 << 20, "blocks": 264}
POINTS = Geometry("cdiv(n, block)", "block", SHAPES, *SIZES)
STRIDING = Geometry("blocks", "block", SHAPES, *SIZES, smem="4 * k * (dims + 1)")
PAIRS = Geometry("cdiv(n, block)", "block", BLOCKS, {"n": 200}, {"n": 1 << 15}, smem="8 * block")

CLOUD = {"n": "n", "k": "k", "dims": "dims", "point": "f32[dims, n] randint(0, 64, 1)"}

KERNELS = (
    POINTS.kernel(
        "clustering_assign",
        **CLOUD,
        centre="f32[k, dims] randint(0, 64, 2)",
        label="s32[n]",
    ),
    STRIDING.kernel(
        "clustering_accumulate",
        **CLOUD,
        label="s32[n] randint(0, k, 2)",
        sum="f32[k, dims]",
        count="s32[k]",
    ),
    PAIRS.kernel(
        "clustering_density",
        n="n",
        radius="10.0",
        point="f32[n, 2] randint(0, 64, 1)",
        neighbours="s32[n]",
    ),
)
