"""Results of the gravitation kernels."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, Given, near


def nbody_direct(g: Given) -> ExpectedResult:
    place, mass = g.body[:, :3].astype(float), g.body[:, 3]
    apart = place[None] - place[:, None]
    squared = (apart**2).sum(-1) + 0.01
    acceleration = np.einsum("j,ijd,ij->id", mass, apart, squared**-1.5)
    return near(1e-5, 1e-6 * np.abs(acceleration).max(), acceleration=acceleration)


nbody_tiled = nbody_direct
