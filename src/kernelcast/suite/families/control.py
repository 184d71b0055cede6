"""Launches of the kernels with much control flow."""

from kernelcast.suite.table import BLOCKS, BLOCKS_2D, Geometry, rows, vary

SIZES = {"n": 600}, {"n": 1 << 20}
THREADS = Geometry("cdiv(n, block)", "block", BLOCKS, *SIZES)
LISTS = Geometry("cdiv(n, block)", "block", BLOCKS, {"n": 600}, {"n": 1 << 18})
PICTURE = Geometry(
    "cdiv(nx, bx), cdiv(ny, by)",
    "bx, by",
    BLOCKS_2D,
    {"nx": 48, "ny": 24, "most": 40},
    {"nx": 2048, "ny": 1024, "most": 256},
)
AGREEING = Geometry(
    "cdiv(n, block)", "block", vary(spread=(8, 1, 2, 4, 16, 32), block=(256,)), *SIZES
)
TREES = Geometry(
    "cdiv(n, block)",
    "block",
    rows("block depth", (256, 8), (64, 8), (128, 12), (512, 16), (1024, 4), (256, 20)),
    *SIZES,
)

KERNELS = (
    PICTURE.kernel("control_mandelbrot", nx="nx", ny="ny", most="most", steps="s32[ny, nx]"),
    AGREEING.kernel(
        "control_switch",
        n="n",
        length="24",
        spread="spread",
        program="u8[length, n] randint(0, 8, 1)",
        result="u32[n]",
    ),
    THREADS.kernel("control_calls", n="n", most="20", steps="s32[n]", digits="u32[n]"),
    THREADS.kernel(
        "control_votes", n="n", work="s32[n] randint(0, 40, 1)", rounds="s32[n]", busy="s32[n]"
    ),
    LISTS.kernel("control_local_sort", n="n", x="s32[24, n] random(1)", y="s32[24, n]"),
    TREES.kernel(
        "control_tree",
        n="n",
        nodes="(1 << depth) - 1",
        x="f32[n] random(1)",
        threshold="f32[nodes] random(2)",
        leaf="s32[n]",
    ),
    PICTURE.kernel(
        "control_rays",
        nx="nx",
        ny="ny",
        spheres="12",
        most="most",
        sphere="f32[spheres, 4] random(1)",
        depth="f32[ny, nx]",
        steps="s32[ny, nx]",
    ),
)
