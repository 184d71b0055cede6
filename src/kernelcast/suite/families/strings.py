"""Launches of the searches in texts."""

from kernelcast.suite.table import Geometry, rows

TEXT = {"n": 6000}, {"n": 1 << 24}
PLACES = Geometry(
    "cdiv(n, block)",
    "block",
    rows(
        "block m letters",
        (256, 4, 4),
        (64, 4, 4),
        (128, 8, 2),
        (512, 3, 2),
        (1024, 4, 4),
        (256, 6, 26),
    ),
    *TEXT,
)
PARTS = Geometry(
    "cdiv(n, block * part)",
    "block",
    rows(
        "block m letters part",
        (256, 4, 4, 64),
        (64, 4, 4, 256),
        (128, 6, 2, 64),
        (512, 3, 8, 32),
        (1024, 8, 2, 16),
        (256, 16, 26, 128),
    ),
    *TEXT,
)
COUPLES = Geometry(
    "cdiv(n, block)",
    "block",
    rows("block m", (256, 16), (64, 16), (128, 32), (512, 8), (1024, 16), (256, 5)),
    {"n": 300},
    {"n": 1 << 18},
)

SEARCH = {
    "text": "u8[n] randint(0, letters, 1)",
    "pattern": "u8[m] randint(0, letters, 2)",
    "found": "u32[1]",
}

KERNELS = (
    PLACES.kernel("strings_search", n="n", m="m", **SEARCH),
    PARTS.kernel("strings_horspool", n="n", m="m", part="part", **SEARCH),
    COUPLES.kernel(
        "strings_edit_distance",
        n="n",
        m="m",
        a="u8[n, m] randint(0, 4, 1)",
        b="u8[n, m] randint(0, 4, 2)",
        distance="s32[n]",
    ),
)
