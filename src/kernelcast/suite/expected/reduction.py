"""Results of the reductions."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, ExpectedValues, Given, exact, near


def dealt(x: ExpectedValues, groups: int, size: int, missing: float = 0) -> ExpectedValues:
    """One row per group of `size` threads: the elements it gets when the grid strides over `x`."""
    rounds = -(-x.size // (groups * size))
    padded = np.full(rounds * groups * size, missing, x.dtype)
    padded[: x.size] = x
    return padded.reshape(rounds, groups, size).swapaxes(0, 1).reshape(groups, -1)


def per_block(g: Given, x: ExpectedValues) -> ExpectedValues:
    return dealt(x, g.launch.blocks, g.launch.threads_per_block)


def reduce_tree(g: Given) -> ExpectedResult:
    return exact(sums=per_block(g, g.x).sum(1, dtype=np.int32))


reduce_interleaved = reduce_tree


def reduce_shuffle(g: Given) -> ExpectedResult:
    return near(1e-5, sums=per_block(g, g.x.astype(float)).sum(1))


def reduce_atomic(g: Given) -> ExpectedResult:
    return exact(total=g.x.sum(dtype=np.int64) % (1 << 32))


def reduce_dot_double(g: Given) -> ExpectedResult:
    return near(1e-13, sums=per_block(g, g.x * g.y).sum(1))


def reduce_argmax(g: Given) -> ExpectedResult:
    warps = g.launch.threads // 32
    values = dealt(g.x, warps, 32, -1)
    places = dealt(np.arange(g.n), warps, 32, g.n)
    first = values.argmax(1)[:, None]
    largest = np.take_along_axis(values, first, 1)
    place = np.where(largest < 0, g.n, np.take_along_axis(places, first, 1))
    return exact(largest=largest, place=place)
