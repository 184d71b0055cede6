"""What `validate record` answers: the launches of every set that were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, NotNegative
from kernelcast.validation.recorded import RecordedSet


class RecordedRow(Struct, frozen=True):
    """A set: its launches that were recorded, and the mean error of their forecasts, null where
    there are none."""

    title: str
    gpu: str
    launches: Natural
    mean_error: NotNegative | None


class RecordDocument(Struct, frozen=True):
    """All that `validate record --json` prints."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["record"]
    sets: list[RecordedRow]


def record_document(found: Sequence[RecordedSet]) -> RecordDocument:
    """The sets in the order in which they were recorded."""
    rows = []
    for one in found:
        errors = [abs(record.ratio - 1) for record in one.launches]
        mean = sum(errors) / len(errors) if errors else None
        rows.append(RecordedRow(one.title, one.gpu, len(errors), mean))
    return RecordDocument("kernelcast/validate/1", "record", rows)
