"""Launches of divisions, roots and double precision."""

from kernelcast.suite.table import BLOCKS, Geometry, rows

SIZES = {"n": 600}, {"n": 1 << 22}
ONCE = Geometry("cdiv(n, block)", "block", BLOCKS, *SIZES)
REPEATED = Geometry(
    "cdiv(n, block)",
    "block",
    rows("block times", (256, 16), (64, 16), (128, 32), (512, 8), (1024, 16), (256, 4)),
    {"n": 600},
    {"n": 1 << 20},
)

SIGNED = {
    "n": "n",
    "a": "s32[n] random(1)",
    "b": "s32[n] randint(1, 5000, 2)",
    "quotient": "s32[n]",
    "remainder": "s32[n]",
}
LONG = {
    label: text.replace("s32", "s64").replace("5000", "1 << 40") for label, text in SIGNED.items()
}

KERNELS = (
    REPEATED.kernel(
        "precision_horner_double",
        n="n",
        degree="times",
        x="f64[n] random(1)",
        coefficient="f64[times + 1] random(2)",
        y="f64[n]",
    ),
    ONCE.kernel("precision_cube_root", n="n", most="60", x="f64[n] random(1)", root="f64[n]"),
    ONCE.kernel("precision_divide_int", **SIGNED),
    ONCE.kernel("precision_divide_long", **LONG),
    REPEATED.kernel(
        "precision_divide_float", n="n", depth="times", x="f32[n] random(1)", y="f32[n]"
    ),
    REPEATED.kernel(
        "precision_divide_double", n="n", depth="times", x="f64[n] random(1)", y="f64[n]"
    ),
    REPEATED.kernel(
        "precision_kahan", n="n", rows="times", x="f32[times, n] random(1)", sum="f32[n]"
    ),
    ONCE.kernel(
        "precision_functions", n="n", x="f32[n] random(1)", y="f32[n] random(2)", z="f32[n]"
    ),
)
