"""Results of the stencils."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, ExpectedValues, Given, exact, near


def shifted(u: ExpectedValues, *by: int) -> ExpectedValues:
    """The inner cells of `u`, moved by so many along each axis."""
    return u[tuple(slice(1 + b, n - 1 + b) for b, n in zip(by, u.shape, strict=True))]


def with_inner(u: ExpectedValues, inner: ExpectedValues) -> ExpectedValues:
    v = u.copy()
    v[(slice(1, -1),) * u.ndim] = inner
    return v


def stencil_5pt(g: Given) -> ExpectedResult:
    u = g.u.astype(float)
    around = shifted(u, 0, -1) + shifted(u, 0, 1) + shifted(u, -1, 0) + shifted(u, 1, 0)
    return near(1e-6, v=with_inner(u, 0.5 * shifted(u, 0, 0) + 0.125 * around))


stencil_5pt_shared = stencil_5pt


def stencil_9pt(g: Given) -> ExpectedResult:
    u = g.u.astype(float)
    weights = ((-1, 1), (0, 2), (1, 1))
    total = sum(a * b * shifted(u, y, x) for y, a in weights for x, b in weights)
    return near(1e-6, v=with_inner(u, np.asarray(total) / 16))


def stencil_7pt(g: Given) -> ExpectedResult:
    u = g.u.astype(float)
    around = sum(shifted(u, *d) + shifted(u, *(-d)) for d in np.eye(3, dtype=int))
    return near(1e-6, v=with_inner(u, 0.4 * shifted(u, 0, 0, 0) + 0.1 * np.asarray(around)))


stencil_7pt_march = stencil_7pt


def stencil_life(g: Given) -> ExpectedResult:
    turns = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0)]
    alive = np.sum([np.roll(g.u, turn, (0, 1)) for turn in turns], axis=0)
    return exact(v=(alive == 3) | ((alive == 2) & (g.u == 1)))
