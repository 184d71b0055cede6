"""The benchmarks of the suite, one module per subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import (
    addresses,
    arithmetic,
    blocks,
    branches,
    chases,
    constants,
    contention,
    control,
    copies,
    outstanding,
    patterns,
    streams,
    tensor,
)

BENCHMARKS: Mapping[str, Callable[[Any], Iterator[dict[str, Any]]]] = {
    **arithmetic.BENCHMARKS,
    **chases.BENCHMARKS,
    **streams.BENCHMARKS,
    **control.BENCHMARKS,
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
"""Benchmarks by name, in the order in which they run; each takes a session, yields samples."""
