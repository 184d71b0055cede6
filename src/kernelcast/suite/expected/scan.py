"""Results of the scans."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import (
    ExpectedResult,
    ExpectedValues,
    Given,
    exact,
    in_any_order,
)


def running_sums(x: ExpectedValues, size: int) -> ExpectedValues:
    """Sums up to every element, begun anew every `size` elements."""
    padded = np.zeros(-(-x.size // size) * size, np.int32)
    padded[: x.size] = x
    return padded.reshape(-1, size).cumsum(1, dtype=np.int32).ravel()[: x.size]


def scan_hillis_steele(g: Given) -> ExpectedResult:
    return exact(y=running_sums(g.x, g.launch.threads_per_block))


scan_warp_shuffle = scan_hillis_steele


def scan_blelloch(g: Given) -> ExpectedResult:
    return exact(y=running_sums(g.x, 2 * g.launch.threads_per_block) - g.x)


def scan_compact(g: Given) -> ExpectedResult:
    kept = g.x > np.float32(g.limit)
    return in_any_order("kept", kept=np.where(kept, g.x, 0), count=kept.sum())
