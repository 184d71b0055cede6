"""Launches of the gravitation kernels."""

from kernelcast.suite.table import BLOCKS, Geometry

SIZES = {"n": 150}, {"n": 1 << 15}
DIRECT = Geometry("cdiv(n, block)", "block", BLOCKS, *SIZES)
TILED = Geometry("cdiv(n, block)", "block", BLOCKS, *SIZES, smem="16 * block")

BODIES = {"n": "n", "body": "f32[n, 4] random(1)", "acceleration": "f32[n, 3]"}

KERNELS = (
    DIRECT.kernel("nbody_direct", **BODIES),
    TILED.kernel("nbody_tiled", **BODIES),
)
