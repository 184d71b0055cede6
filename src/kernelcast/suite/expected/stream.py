"""Results of the bandwidth kernels."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, Given, exact, near


def stream_copy(g: Given) -> ExpectedResult:
    return exact(y=g.x)


stream_copy_bytes = stream_copy_float4 = stream_copy


def stream_scale(g: Given) -> ExpectedResult:
    return exact(y=np.float32(g.a) * g.x)


def stream_add(g: Given) -> ExpectedResult:
    return exact(z=g.x + g.y)


def stream_triad(g: Given) -> ExpectedResult:
    return near(1e-6, z=g.x + np.float32(g.a) * g.y)


def stream_triad_double(g: Given) -> ExpectedResult:
    return near(1e-15, z=g.x + g.a * g.y)


def stream_unrolled(g: Given) -> ExpectedResult:
    return exact(y=g.x + np.float32(1))


def stream_strided(g: Given) -> ExpectedResult:
    return exact(y=g.x[:: g.stride])


def stream_offset(g: Given) -> ExpectedResult:
    return exact(y=g.x[g.offset :])


def stream_gather(g: Given) -> ExpectedResult:
    return exact(y=g.x[g.index])


def stream_scatter(g: Given) -> ExpectedResult:
    y = g.y.copy()
    y[g.index] = g.x
    return exact(y=y)
