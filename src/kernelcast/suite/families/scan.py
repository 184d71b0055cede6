"""Launches of the scans."""

from kernelcast.suite.table import BLOCKS, Geometry, rows

SIZES = {"n": 2500}, {"n": 1 << 23}
PLAIN = Geometry("cdiv(n, block)", "block", BLOCKS, *SIZES)
TWO_BUFFERS = Geometry("cdiv(n, block)", "block", BLOCKS, *SIZES, smem="8 * block")
TREE = Geometry("n // (2 * block)", "block", BLOCKS, {"n": 4096}, {"n": 1 << 23}, smem="8 * block")
FILTER = Geometry(
    "cdiv(n, block)",
    "block",
    rows("block limit", (256, 0.5), (256, 0.01), (256, 0.99), (64, 0.5), (1024, 0.5), (128, 0.9)),
    *SIZES,
)

INTEGERS = {"n": "n", "x": "s32[n] random(1)", "y": "s32[n]"}

KERNELS = (
    TWO_BUFFERS.kernel("scan_hillis_steele", **INTEGERS),
    TREE.kernel("scan_blelloch", x="s32[n] random(1)", y="s32[n]"),
    PLAIN.kernel("scan_warp_shuffle", **INTEGERS),
    FILTER.kernel(
        "scan_compact",
        n="n",
        limit="limit",
        x="f32[n] random(1)",
        kept="f32[n]",
        count="u32[1]",
    ),
)
