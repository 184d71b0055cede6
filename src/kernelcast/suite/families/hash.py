"""Launches of the hash functions and tables."""

from kernelcast.suite.table import BLOCKS, Geometry, rows

LOADED = Geometry(
    "cdiv(slots // share, block)",
    "block",
    rows("block share", (256, 2), (64, 2), (128, 4), (512, 2), (1024, 8), (256, 3)),
    {"slots": 2048},
    {"slots": 1 << 22},
)
PROBING = Geometry(
    "cdiv(n, block)",
    "block",
    rows("block filled", (256, 50), (64, 50), (128, 25), (512, 75), (1024, 50), (256, 90)),
    {"n": 1500, "slots": 2048},
    {"n": 1 << 22, "slots": 1 << 22},
)
TEXTS = Geometry("cdiv(n, block)", "block", BLOCKS, {"n": 300}, {"n": 1 << 18})

STRINGS = {
    "length": "s32[n] randint(0, pitch + 1, 1)",
    "text": "u8[n, pitch] random(2)",
}

KERNELS = (
    LOADED.kernel(
        "hash_build",
        n="slots // share",
        slots="slots",
        key="s32[n] randint(0, 2 * slots, 1)",
        table="s32[slots] randint(-1, 0, 2)",
    ),
    PROBING.kernel(
        "hash_probe",
        n="n",
        slots="slots",
        key="s32[n] randint(0, 4 * slots, 1)",
        table="s32[slots] randint(-4 * slots * (100 - filled) // filled, 4 * slots, 2)",
        steps="s32[n]",
    ),
    TEXTS.kernel("hash_fnv", n="n", pitch="40", **STRINGS, hash="u64[n]"),
    TEXTS.kernel("hash_murmur3", n="n", pitch="64", seed="7", **STRINGS, hash="u32[n]"),
)
