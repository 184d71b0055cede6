"""Launches of the filters."""

from kernelcast.suite.table import Geometry, rows, vary

PLANE = {"nx": 90, "ny": 35}, {"nx": 4096, "ny": 2048}
SHAPES = rows(
    "bx by radius", (32, 8, 2), (16, 16, 1), (32, 4, 3), (64, 4, 5), (128, 2, 2), (32, 16, 8)
)
LINE = Geometry(
    "cdiv(n, block)",
    "block",
    vary(radius=(8, 2, 16), block=(256, 128)),
    {"n": 2000},
    {"n": 1 << 23},
)
CELLS = Geometry("cdiv(nx, bx), cdiv(ny, by)", "bx, by", SHAPES, *PLANE)
ROW_TILES = Geometry(
    "cdiv(nx, bx), cdiv(ny, by)", "bx, by", SHAPES, *PLANE, smem="4 * (bx + 2 * radius) * by"
)
COLUMN_TILES = Geometry(
    "cdiv(nx, bx), cdiv(ny, by)", "bx, by", SHAPES, *PLANE, smem="4 * (by + 2 * radius) * bx"
)
LAYER = Geometry(
    "cdiv(nx, bx), cdiv(ny, by), channels",
    "bx, by",
    rows(
        "bx by channels",
        (32, 8, 8),
        (16, 16, 16),
        (32, 4, 16),
        (8, 8, 32),
        (64, 4, 16),
        (32, 16, 4),
    ),
    {"nx": 28, "ny": 14},
    {"nx": 512, "ny": 512},
)

GRID = {"u": "f32[ny, nx] random(1)", "v": "f32[ny, nx]"}
SEPARABLE = {"nx": "nx", "ny": "ny", "radius": "radius", **GRID}

KERNELS = (
    LINE.kernel("convolution_1d<{radius}>", n="n", x="f32[n] random(1)", y="f32[n]"),
    CELLS.kernel(
        "convolution_2d",
        nx="nx",
        ny="ny",
        radius="radius",
        weight="f32[2 * radius + 1, 2 * radius + 1] random(2)",
        **GRID,
    ),
    ROW_TILES.kernel("convolution_rows", **SEPARABLE),
    COLUMN_TILES.kernel("convolution_columns", **SEPARABLE),
    LAYER.kernel(
        "convolution_layer",
        channels="channels",
        nx="nx",
        ny="ny",
        weight="f32[channels, channels, 3, 3] random(2)",
        u="f32[channels, ny, nx] random(1)",
        v="f32[channels, ny, nx]",
    ),
)
