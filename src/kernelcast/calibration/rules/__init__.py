"""Which number of a machine comes from which benchmark, by which fit; one module per subject."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcast.calibration.rules import (
    arithmetic,
    bandwidth,
    blocks,
    concurrency,
    control,
    latency,
    matrices,
    models,
)
from kernelcast.calibration.rules.base import Fitted, Rule
from kernelcast.measuring.harness.microbenchmarks.tensor import Capability

__all__ = ["Fitted", "Rule", "rules"]


def rules(capability: Capability) -> Iterator[Rule]:
    """All rules for chips of a compute capability, in no order that matters."""
    yield from arithmetic.rules()
    yield from matrices.rules(capability)
    yield from latency.rules()
    yield from control.rules()
    yield from bandwidth.rules()
    yield from concurrency.rules()
    yield from blocks.rules()
    yield from models.rules()
