"""Launches of the transposes."""

from kernelcast.suite.table import BLOCKS_2D, Geometry, rows, vary

SIZES = {"n": 64}, {"n": 4096}
CELLS = Geometry("cdiv(n, bx), cdiv(n, by)", "bx, by", BLOCKS_2D, *SIZES)
TILES = Geometry(
    "n // tile, n // tile",
    "tile, part",
    rows("tile part", (32, 8), (32, 4), (32, 16), (32, 32), (16, 16), (16, 4)),
    *SIZES,
)
WARPS = Geometry(
    "unit * times // (32 * warps), unit * times // 32",
    "32, warps",
    vary(warps=(2, 1, 4), times=(1, 2)),
    {"unit": 128},
    {"unit": 2048},
)

MATRIX = {"n": "n", "a": "f32[n, n] random(1)", "b": "f32[n, n]"}

KERNELS = (
    CELLS.kernel("transpose_naive", **MATRIX),
    TILES.kernel("transpose_tiled<{tile}, {part}>", **MATRIX),
    TILES.kernel("transpose_padded<{tile}, {part}>", **MATRIX),
    WARPS.kernel("transpose_shuffle", **{**MATRIX, "n": "unit * times"}),
)
