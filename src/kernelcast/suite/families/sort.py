"""Launches of sorting and searching."""

from kernelcast.suite.table import BLOCKS, Geometry, rows

TILES = Geometry("n // (2 * block)", "block", BLOCKS, {"n": 2048}, {"n": 1 << 22}, smem="8 * block")
STEPS = Geometry(
    "n // block",
    "block",
    rows(
        "block size step",
        (256, 512, 1),
        (256, 512, 16),
        (256, 512, 256),
        (64, 1024, 64),
        (512, 1024, 512),
        (1024, 1024, 2),
    ),
    {"n": 2048},
    {"n": 1 << 23},
)
COUNTING = Geometry(
    "cdiv(n, part)",
    "block",
    rows(
        "block part shift",
        (256, 2048, 0),
        (128, 1024, 4),
        (256, 4096, 8),
        (512, 4096, 12),
        (1024, 8192, 28),
        (64, 512, 0),
    ),
    {"n": 5000},
    {"n": 1 << 23},
)
SPLITTING = Geometry(
    "n // block",
    "block",
    rows(
        "block shift bits",
        (256, 0, 4),
        (128, 4, 4),
        (512, 8, 4),
        (1024, 0, 8),
        (64, 0, 2),
        (32, 28, 4),
    ),
    {"n": 2048},
    {"n": 1 << 22},
)
SEARCHING = Geometry(
    "cdiv(queries, block)",
    "block",
    rows("block length", (256, 1), (64, 1), (1024, 1), (256, 16), (256, 256), (128, 4096)),
    {"n": 8192, "queries": 1500},
    {"n": 1 << 22, "queries": 1 << 20},
)

KERNELS = (
    TILES.kernel("sort_bitonic_shared", keys="u32[n] random(1)"),
    STEPS.kernel("sort_bitonic_step", n="n", size="size", step="step", keys="u32[n] random(1)"),
    TILES.kernel("sort_odd_even", keys="u32[n] random(1)"),
    COUNTING.kernel(
        "sort_radix_count",
        n="n",
        per_block="part",
        shift="shift",
        keys="u32[n] random(1)",
        counts="u32[16, cdiv(n, part)]",
    ),
    SPLITTING.kernel("sort_radix_split", shift="shift", bits="bits", keys="u32[n] random(1)"),
    SEARCHING.kernel(
        "sort_lower_bound",
        n="n // length",
        queries="queries",
        sorted="s32[n // length] arange",
        key="s32[queries] randint(-3, n // length + 3, 1)",
        place="s32[queries]",
    ),
)
