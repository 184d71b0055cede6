"""The benchmarks of the suite that are not in the runner itself, one module per subject.

In a folder that measures by itself this package lies beside the runner: it imports nothing but the
standard library, and runs on Python 3.10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import (
    addresses,
    blocks,
    branches,
    constants,
    contention,
    copies,
    outstanding,
    patterns,
    tensor,
)

BENCHMARKS: Mapping[str, Callable[[Any], Iterator[dict[str, Any]]]] = {
    **tensor.BENCHMARKS,
    **constants.BENCHMARKS,
    **addresses.BENCHMARKS,
    **patterns.BENCHMARKS,
    **contention.BENCHMARKS,
    **branches.BENCHMARKS,
    **outstanding.BENCHMARKS,
    **blocks.BENCHMARKS,
    **copies.BENCHMARKS,
}
"""Benchmarks by name; each takes the runner's session and yields samples."""
