"""Launches of the attention kernels."""

from kernelcast.suite.table import Geometry, rows

SIZES = {"heads": 2, "length": 40}, {"heads": 16, "length": 2048}
QUERIES = Geometry(
    "length, heads",
    "block",
    rows("block size", (128, 32), (64, 32), (256, 32), (64, 64), (128, 64), (256, 64)),
    *SIZES,
    smem="4 * length",
)
ONLINE = Geometry(
    "cdiv(length, block), heads",
    "block",
    rows(
        "block size tile",
        (64, 16, 32),
        (128, 16, 32),
        (64, 32, 32),
        (128, 32, 32),
        (64, 32, 64),
        (256, 32, 64),
    ),
    *SIZES,
)
SPARSE = Geometry(
    "cdiv(length, block // 32), heads",
    "block",
    rows(
        "block size chosen",
        (128, 64, 16),
        (64, 64, 16),
        (256, 64, 32),
        (128, 32, 64),
        (128, 128, 16),
        (256, 32, 8),
    ),
    *SIZES,
)

HEADS = "f32[heads, length, size]"
INPUTS = {"q": f"{HEADS} random(1)", "k": f"{HEADS} random(2)", "v": f"{HEADS} random(3)"}

KERNELS = (
    QUERIES.kernel("attention_query<{size}>", tokens="length", **INPUTS, y=HEADS),
    ONLINE.kernel("attention_online<{size}, {tile}>", tokens="length", **INPUTS, y=HEADS),
    SPARSE.kernel(
        "attention_sparse<{size}>",
        tokens="length",
        chosen="chosen",
        index="s32[length, chosen] randint(0, length, 4)",
        **INPUTS,
        y=HEADS,
    ),
)
