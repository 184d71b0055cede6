"""Results of the filters."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, ExpectedValues, Given, near


def filtered(u: ExpectedValues, radius: int, axis: int) -> ExpectedValues:
    """A triangle of height 17 over `u`, whose last cells go on for ever."""
    padding = [(0, 0)] * u.ndim
    padding[axis] = (radius, radius)
    cells = np.pad(u.astype(float), padding, "edge")
    places = range(2 * radius + 1)
    parts = [np.take(cells, np.arange(u.shape[axis]) + k, axis) for k in places]
    weighted = [(17 - abs(k - radius)) * part for k, part in enumerate(parts)]
    return np.asarray(np.sum(weighted, axis=0))


def convolution_1d(g: Given) -> ExpectedResult:
    radius = int(g.launch.kernel.strip(">").partition("<")[2])
    return near(1e-5, y=filtered(g.x, radius, 0))


def convolution_rows(g: Given) -> ExpectedResult:
    return near(1e-5, v=filtered(g.u, g.radius, 1))


def convolution_columns(g: Given) -> ExpectedResult:
    return near(1e-5, v=filtered(g.u, g.radius, 0))


def convolution_2d(g: Given) -> ExpectedResult:
    cells = np.pad(g.u.astype(float), g.radius, "edge")
    v = np.zeros(g.u.shape)
    for (y, x), weight in np.ndenumerate(g.weight):
        v += weight * cells[y : y + g.ny, x : x + g.nx]
    return near(1e-5, v=v)


def convolution_layer(g: Given) -> ExpectedResult:
    cells = np.pad(g.u.astype(float), ((0, 0), (1, 1), (1, 1)))
    v = np.full(g.v.shape, -2.0 * g.channels)
    for y, x in np.ndindex(3, 3):
        v += np.einsum("oi,iyx->oyx", g.weight[:, :, y, x], cells[:, y : y + g.ny, x : x + g.nx])
    return near(1e-5, 1e-5 * g.channels, v=np.maximum(v, 0))
