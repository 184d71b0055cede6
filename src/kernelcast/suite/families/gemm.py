"""Launches of the matrix products."""

from kernelcast.suite.table import BLOCKS_2D, Geometry, rows, vary

RAGGED = {"m": 33, "n": 70, "k": 20}, {"m": 1024, "n": 1024, "k": 1024}
SQUARE = Geometry("cdiv(n, bx), cdiv(m, by)", "bx, by", BLOCKS_2D, *RAGGED)
TURNED = Geometry("cdiv(m, bx), cdiv(n, by)", "bx, by", BLOCKS_2D, *RAGGED)
TILED = Geometry(
    "n // tile, m // tile",
    "tile, tile",
    vary(tile=(16, 8, 32), share=(1, 4)),
    {"m": 64, "n": 96, "depth": 128},
    {"m": 2048, "n": 2048, "depth": 2048},
)
IN_REGISTERS = Geometry(
    "n // bn, m // bm",
    "bm // tm * (bn // tn)",
    rows(
        "bm bn bk tm tn",
        (32, 32, 8, 4, 4),
        (64, 64, 8, 4, 4),
        (64, 64, 16, 8, 4),
        (128, 64, 8, 8, 4),
        (64, 64, 8, 8, 8),
        (128, 128, 8, 8, 8),
    ),
    {"m": 128, "n": 128, "k": 16},
    {"m": 2048, "n": 2048, "k": 2048},
)

OPERANDS = {
    "m": "m",
    "n": "n",
    "k": "k",
    "a": "f32[m, k] random(1)",
    "b": "f32[k, n] random(2)",
    "c": "f32[m, n]",
}
PARTS = {**OPERANDS, "k": "depth // share"}
DOUBLES = {
    **PARTS,
    "a": "f64[m, k] random(1)",
    "b": "f64[k, n] random(2)",
    "c": "f64[m, n]",
}

KERNELS = (
    SQUARE.kernel("gemm_naive", **OPERANDS),
    TURNED.kernel("gemm_by_columns", **OPERANDS),
    TILED.kernel("gemm_tiled<{tile}>", **PARTS),
    TILED.kernel("gemm_tiled_double<{tile}>", **DOUBLES),
    IN_REGISTERS.kernel("gemm_register<{bm}, {bn}, {bk}, {tm}, {tn}>", **OPERANDS),
)
