"""Launches of the layers of neural networks."""

from kernelcast.suite.table import BLOCKS, Geometry, rows

SHAPES = rows(
    "block width", (256, 1024), (64, 256), (128, 512), (512, 4096), (1024, 4096), (256, 1000)
)
SIZES = {"m": 3, "shrink": 8}, {"m": 4096, "shrink": 1}
ROW_PER_BLOCK = Geometry("m", "block", SHAPES, *SIZES)
ROW_PER_WARP = Geometry("cdiv(m, block // 32)", "block", SHAPES, *SIZES)
ELEMENTS = Geometry(
    "cdiv(n, block)", "block", BLOCKS, {"n": 3000, "width": 100}, {"n": 1 << 23, "width": 1000}
)
BAGS = Geometry(
    "bags",
    "block",
    rows("block bag", (128, 8), (64, 8), (32, 32), (256, 4), (128, 32), (64, 1)),
    {"bags": 20, "width": 48, "words": 100},
    {"bags": 16384, "width": 128, "words": 1 << 17},
)

MATRIX = {"x": "f32[m, width // shrink] random(1)", "y": "f32[m, width // shrink]"}

KERNELS = (
    ROW_PER_BLOCK.kernel("neural_softmax", width="width // shrink", **MATRIX),
    ROW_PER_WARP.kernel("neural_softmax_online", rows="m", width="width // shrink", **MATRIX),
    ROW_PER_BLOCK.kernel(
        "neural_layer_norm",
        width="width // shrink",
        epsilon="0.00001",
        x=MATRIX["x"],
        gain="f32[width // shrink] random(2)",
        bias="f32[width // shrink] random(3)",
        y=MATRIX["y"],
    ),
    ELEMENTS.kernel(
        "neural_gelu",
        n="n",
        width="width",
        x="f32[n] random(1)",
        bias="f32[width] random(2)",
        y="f32[n]",
    ),
    BAGS.kernel(
        "neural_embedding_bag",
        bag="bag",
        width="width",
        token="s32[bags, bag] randint(0, words, 1)",
        table="f32[words, width] random(2)",
        y="f32[bags, width]",
    ),
)
