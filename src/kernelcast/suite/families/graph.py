"""Launches of the steps of graph algorithms."""

from kernelcast.suite.table import BLOCKS, Geometry, rows

SIZES = {"n": 900}, {"n": 1 << 19}
SHAPES = rows("block mean", (256, 8), (64, 8), (128, 3), (512, 16), (1024, 8), (256, 32))
VERTICES = Geometry("cdiv(n, block)", "block", SHAPES, *SIZES)
FRONTIER = Geometry("cdiv(n // 4, block)", "block", SHAPES, *SIZES)
EDGES = Geometry("cdiv(n * mean, block)", "block", SHAPES, *SIZES)
LINKS = Geometry("cdiv(n, block)", "block", BLOCKS, {"n": 900}, {"n": 1 << 22})

ROWS = {
    "jitter": "s32[n + 1] randint(0, mean, 1)",
    "neighbour": "s32[(n + 1) * mean] randint(0, n, 2)",
}
PAIRS = {
    "edges": "n * mean",
    "tail": "s32[n * mean] randint(0, n, 1)",
    "head": "s32[n * mean] randint(0, n, 2)",
}

KERNELS = (
    FRONTIER.kernel(
        "graph_bfs_push",
        frontier_size="n // 4",
        mean="mean",
        depth="2",
        **ROWS,
        frontier="s32[n] permutation(3)",
        level="s32[n] randint(-1, 3, 4)",
        next="s32[n]",
        next_size="u32[1]",
    ),
    VERTICES.kernel(
        "graph_bfs_pull",
        n="n",
        mean="mean",
        depth="6",
        **ROWS,
        level="s32[n] randint(-1, 7, 4)",
        parent="s32[n]",
    ),
    VERTICES.kernel(
        "graph_pagerank_pull",
        n="n",
        mean="mean",
        damping="0.85",
        **ROWS,
        rank="f32[n] random(3)",
        out_degree="f32[n] randint(1, 2 * mean, 4)",
        next="f32[n]",
    ),
    EDGES.kernel(
        "graph_components_hook",
        **PAIRS,
        label="s32[n] randint(0, n, 3)",
        next="s32[n] arange",
    ),
    LINKS.kernel(
        "graph_components_compress", n="n", link="s32[n] randint(0, 1 << 30, 1)", root="s32[n]"
    ),
    EDGES.kernel(
        "graph_relax",
        **PAIRS,
        length="s32[n * mean] randint(1, 100, 3)",
        distance="s32[n] randint(0, 1000, 4)",
        next="s32[n] randint(0, 1000, 4)",
    ),
)
