"""Launches of the bandwidth kernels."""

from kernelcast.suite.table import BLOCKS, GRIDS, Geometry, rows, vary

SMALL = {"n": 3000}
FULL = {"n": 1 << 23}
PER_THREAD = Geometry("cdiv(n, block)", "block", BLOCKS, SMALL, FULL)
STRIDING = Geometry("blocks", "block", GRIDS, {"n": 70_000}, FULL)
STRIDING_DOUBLES = Geometry("blocks", "block", GRIDS, {"n": 70_000}, {"n": 1 << 22})
UNROLLED = Geometry(
    "cdiv(n, block * loads)", "block", vary(loads=(4, 2, 8), block=(256, 128)), SMALL, FULL
)
STRIDED = Geometry(
    "cdiv(n, 256)", "256", vary(stride=(2, 1, 3, 4, 8, 32)), {"n": 3000}, {"n": 1 << 20}
)
SHIFTED = Geometry("cdiv(n, 256)", "256", vary(offset=(1, 0, 4, 8, 13, 31)), SMALL, FULL)
INDEXED = Geometry(
    "cdiv(n, block)",
    "block",
    rows("block near", (256, 1), (64, 1), (1024, 1), (256, 64), (256, 1024), (128, 8)),
    {"n": 4096},
    {"n": 1 << 22},
)

KERNELS = (
    PER_THREAD.kernel("stream_copy", n="n", x="f32[n] random(1)", y="f32[n]"),
    PER_THREAD.kernel("stream_scale", n="n", a="2.5", x="f32[n] random(1)", y="f32[n]"),
    PER_THREAD.kernel("stream_add", n="n", x="f32[n] random(1)", y="f32[n] random(2)", z="f32[n]"),
    STRIDING.kernel(
        "stream_triad", n="n", a="0.75", x="f32[n] random(1)", y="f32[n] random(2)", z="f32[n]"
    ),
    STRIDING_DOUBLES.kernel(
        "stream_triad_double",
        n="n",
        a="0.7",
        x="f64[n] random(1)",
        y="f64[n] random(2)",
        z="f64[n]",
    ),
    PER_THREAD.kernel("stream_copy_bytes", n="n", x="u8[n] random(1)", y="u8[n]"),
    PER_THREAD.kernel("stream_copy_float4", n="n // 4", x="f32[n] random(1)", y="f32[n]"),
    UNROLLED.kernel("stream_unrolled<{loads}>", n="n", x="f32[n] random(1)", y="f32[n]"),
    STRIDED.kernel(
        "stream_strided", n="n", stride="stride", x="f32[n * stride] random(1)", y="f32[n]"
    ),
    SHIFTED.kernel(
        "stream_offset", n="n", offset="offset", x="f32[n + offset] random(1)", y="f32[n]"
    ),
    INDEXED.kernel(
        "stream_gather",
        n="n",
        index="s32[n] randint(0, n // near, 1)",
        x="f32[n // near] random(2)",
        y="f32[n]",
    ),
    PER_THREAD.kernel(
        "stream_scatter", n="n", index="s32[n] permutation(1)", x="f32[n] random(2)", y="f32[n]"
    ),
)
