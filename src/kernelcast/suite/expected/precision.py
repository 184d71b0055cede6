"""Results of divisions, roots and double precision."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, Given, exact, near


def precision_horner_double(g: Given) -> ExpectedResult:
    return near(1e-14, y=np.polynomial.polynomial.polyval(g.x, g.coefficient))


def precision_cube_root(g: Given) -> ExpectedResult:
    return near(1e-12, root=np.cbrt(1 + 1000 * g.x))


def precision_divide_int(g: Given) -> ExpectedResult:
    rest = np.fmod(g.a, g.b)
    return exact(quotient=(g.a - rest) // g.b, remainder=rest)


precision_divide_long = precision_divide_int


def precision_divide_float(g: Given) -> ExpectedResult:
    """Divisions and sums are rounded alike everywhere: no product for a fused operation."""
    value = np.ones_like(g.x)
    for _ in range(g.depth):
        value = 1 + g.x / value
    return exact(y=value)


precision_divide_double = precision_divide_float


def precision_kahan(g: Given) -> ExpectedResult:
    """One rounding of the sum, and little more."""
    return near(2**-23, sum=g.x.sum(0, dtype=float))


def precision_functions(g: Given) -> ExpectedResult:
    a, b = g.x + np.float32(0.5), g.y + np.float32(0.5)
    rest = np.fmod(np.float32(10), b)
    a, b = a.astype(float), b.astype(float)
    parts = np.arctan2(a, b) + a**b + np.log1p(a) + np.cbrt(b) + np.hypot(a, b) + rest
    return near(1e-6, z=parts)
