"""Launches of the histograms: few bins make threads contend for one address."""

from kernelcast.suite.table import Geometry, rows

SHAPES = rows(
    "block blocks bins",
    (256, 264, 256),
    (256, 264, 16),
    (256, 264, 1024),
    (128, 528, 256),
    (512, 264, 64),
    (1024, 132, 256),
)
SIZES = {"n": 3000, "part": 66}, {"n": 1 << 23, "part": 1}
PLAIN = Geometry("blocks // part", "block", SHAPES, *SIZES)
PER_BLOCK = Geometry("blocks // part", "block", SHAPES, *SIZES, smem="4 * bins")
PER_WARP = Geometry("blocks // part", "block", SHAPES, *SIZES, smem="4 * bins * (block // 32)")

VALUES = {
    "n": "n",
    "bins": "bins",
    "x": "u32[n] randint(0, bins, 1)",
    "counts": "u32[bins]",
}

KERNELS = (
    PLAIN.kernel("histogram_global", **VALUES),
    PER_BLOCK.kernel("histogram_shared", **VALUES),
    PER_WARP.kernel("histogram_per_warp", **VALUES),
    PLAIN.kernel("histogram_matched", **VALUES),
)
