"""Launches of the reductions."""

from kernelcast.suite.table import Geometry, rows

SHAPES = rows(
    "block blocks",
    (256, 6),
    (64, 24),
    (128, 12),
    (512, 3),
    (1024, 2),
    (256, 24),
)
SIZES = {"n": 5000, "scale": 1}, {"n": 1 << 23, "scale": 88}
PLAIN = Geometry("blocks * scale", "block", SHAPES, *SIZES)
WITH_WORDS = Geometry("blocks * scale", "block", SHAPES, *SIZES, smem="4 * block")
WITH_DOUBLES = Geometry("blocks * scale", "block", SHAPES, *SIZES, smem="8 * block")

INTEGERS = {"n": "n", "x": "s32[n] random(1)", "sums": "s32[blocks * scale]"}
PER_WARP = "blocks * scale * block // 32"

KERNELS = (
    WITH_WORDS.kernel("reduce_interleaved", **INTEGERS),
    WITH_WORDS.kernel("reduce_tree", **INTEGERS),
    PLAIN.kernel("reduce_shuffle", n="n", x="f32[n] random(1)", sums="f32[blocks * scale]"),
    PLAIN.kernel("reduce_atomic", n="n", x="s32[n] random(1)", total="u32[1]"),
    WITH_DOUBLES.kernel(
        "reduce_dot_double",
        n="n",
        x="f64[n] random(1)",
        y="f64[n] random(2)",
        sums="f64[blocks * scale]",
    ),
    PLAIN.kernel(
        "reduce_argmax",
        n="n",
        x="f32[n] random(1)",
        largest=f"f32[{PER_WARP}]",
        place=f"s32[{PER_WARP}]",
    ),
)
