"""Launches of the Monte Carlo kernels."""

from kernelcast.suite.table import Geometry, rows

SIZES = {"n": 500}, {"n": 1 << 20}
SAMPLING = Geometry(
    "cdiv(n, block)",
    "block",
    rows("block samples", (256, 16), (64, 16), (128, 32), (512, 8), (1024, 16), (256, 64)),
    *SIZES,
)
WALKING = Geometry(
    "cdiv(n, block)",
    "block",
    rows("block limit", (256, 4), (64, 4), (128, 8), (512, 2), (1024, 4), (32, 8)),
    *SIZES,
)

KERNELS = (
    SAMPLING.kernel("monte_carlo_pi_xorshift", n="n", samples="samples", hits="u32[n]"),
    SAMPLING.kernel(
        "monte_carlo_pi_philox", n="n", samples="samples", key="20111112", hits="u32[1]"
    ),
    SAMPLING.kernel(
        "monte_carlo_option",
        n="n",
        samples="samples",
        drift="0.01",
        spread="0.2",
        strike="0.9",
        payoff="f32[n]",
    ),
    WALKING.kernel("monte_carlo_walk", n="n", limit="limit", most="500", steps="s32[n]"),
)
