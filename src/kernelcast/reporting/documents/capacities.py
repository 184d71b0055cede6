"""What `validate capacities` answers: where caches overflow, measured and simulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import NotNegative
from kernelcast.validation.capacities import Capacity


class CapacityRow(Struct, frozen=True):
    """One capacity; `simulated_bytes` and `error` are null where the simulated caches have none."""

    measured_bytes: NotNegative
    simulated_bytes: NotNegative | None
    error: NotNegative | None


class CapacitiesDocument(Struct, frozen=True):
    """All that `validate capacities --json` prints."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["capacities"]
    gpu: str
    title: str
    capacities: list[CapacityRow]


def capacities_document(found: Sequence[Capacity], gpu: str, title: str) -> CapacitiesDocument:
    """The capacities of a GPU, smallest first."""
    rows = [
        CapacityRow(
            c.measured_bytes, c.simulated_bytes, None if c.simulated_bytes is None else c.error
        )
        for c in found
    ]
    return CapacitiesDocument("kernelcast/validate/1", "capacities", gpu, title, rows)
