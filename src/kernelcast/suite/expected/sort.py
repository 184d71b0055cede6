"""Results of sorting and searching."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, Given, exact


def sort_bitonic_shared(g: Given) -> ExpectedResult:
    return exact(keys=np.sort(g.keys.reshape(g.launch.blocks, -1), axis=1))


sort_odd_even = sort_bitonic_shared


def sort_bitonic_step(g: Given) -> ExpectedResult:
    lower = np.arange(g.n)[np.arange(g.n) & g.step == 0]
    upper = lower + g.step
    keys = g.keys.copy()
    swapped = (keys[lower] > keys[upper]) == (lower & g.size == 0)
    keys[lower] = np.where(swapped, g.keys[upper], g.keys[lower])
    keys[upper] = np.where(swapped, g.keys[lower], g.keys[upper])
    return exact(keys=keys)


def sort_radix_count(g: Given) -> ExpectedResult:
    digits = (g.keys >> g.shift) & 15
    block = np.arange(g.n) // g.per_block
    counts = np.zeros_like(g.counts)
    np.add.at(counts, (digits, block), 1)
    return exact(counts=counts)


def sort_radix_split(g: Given) -> ExpectedResult:
    keys = g.keys.reshape(g.launch.blocks, -1)
    digits = (keys >> g.shift) & ((1 << g.bits) - 1)
    order = np.argsort(digits, axis=1, kind="stable")
    return exact(keys=np.take_along_axis(keys, order, 1))


def sort_lower_bound(g: Given) -> ExpectedResult:
    return exact(place=np.searchsorted(g.sorted, g.key))
