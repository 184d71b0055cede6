"""Launches of the stencils."""

from kernelcast.suite.table import BLOCKS_2D, Geometry, rows

PLANE = {"nx": 100, "ny": 37}, {"nx": 4096, "ny": 2048}
CUBE = {"nx": 40, "ny": 18, "nz": 6}, {"nx": 256, "ny": 256, "nz": 128}
FLAT = Geometry("cdiv(nx, bx), cdiv(ny, by)", "bx, by", BLOCKS_2D, *PLANE)
DEEP = Geometry("cdiv(nx, bx), cdiv(ny, by), nz", "bx, by", BLOCKS_2D, *CUBE)
MARCHING = Geometry("cdiv(nx, bx), cdiv(ny, by)", "bx, by", BLOCKS_2D, *CUBE)
TILED = Geometry(
    "cdiv(nx, bx), cdiv(ny, by)",
    "bx, by",
    rows("bx by", (32, 8), (16, 16), (32, 4), (32, 16), (64, 8), (8, 8)),
    *PLANE,
)

FLAT_GRID = {"nx": "nx", "ny": "ny", "u": "f32[ny, nx] random(1)", "v": "f32[ny, nx]"}
CUBE_GRID = {
    "nx": "nx",
    "ny": "ny",
    "nz": "nz",
    "u": "f32[nz, ny, nx] random(1)",
    "v": "f32[nz, ny, nx]",
}

KERNELS = (
    FLAT.kernel("stencil_5pt", **FLAT_GRID),
    FLAT.kernel("stencil_9pt", **FLAT_GRID),
    TILED.kernel("stencil_5pt_shared<{bx}, {by}>", **FLAT_GRID),
    DEEP.kernel("stencil_7pt", **CUBE_GRID),
    MARCHING.kernel("stencil_7pt_march", **CUBE_GRID),
    FLAT.kernel("stencil_life", nx="nx", ny="ny", u="u8[ny, nx] randint(0, 2, 1)", v="u8[ny, nx]"),
)
