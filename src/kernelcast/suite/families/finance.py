"""Launches of the option prices."""

from kernelcast.suite.table import GRIDS, Geometry, rows

STRIDING = Geometry(
    "blocks // part", "block", GRIDS, {"n": 4000, "part": 33}, {"n": 1 << 22, "part": 1}
)
TREES = Geometry(
    "cdiv(n, block)",
    "block",
    rows("block steps", (256, 16), (64, 16), (128, 32), (512, 8), (1024, 16), (256, 63)),
    {"n": 300},
    {"n": 1 << 18},
)

SINGLE = {
    "n": "n",
    "rate": "0.02",
    "volatility": "0.3",
    "spot": "f32[n] random(1)",
    "strike": "f32[n] random(2)",
    "years": "f32[n] random(3)",
    "call": "f32[n]",
    "put": "f32[n]",
}
DOUBLE = {label: text.replace("f32", "f64") for label, text in SINGLE.items()}

KERNELS = (
    STRIDING.kernel("finance_black_scholes", **SINGLE),
    STRIDING.kernel("finance_black_scholes_double", **DOUBLE),
    TREES.kernel(
        "finance_binomial_put",
        n="n",
        steps="steps",
        up="1.05",
        probability="0.5",
        discount="0.999",
        spot="f32[n] random(1)",
        price="f32[n]",
    ),
)
