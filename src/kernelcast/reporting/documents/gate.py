"""What `gate` answers: which bounds hold, which are broken, and which cannot be told."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, NotNegative, Positive, json_schema

GATE_SCHEMA: Literal["kernelcast/gate/1"] = "kernelcast/gate/1"

Status = Literal["holds", "broken", "cannot tell"]


class FoundPart(Struct, frozen=True):
    """A quantity of a forecast in SI units, with its least and greatest value; null where it is not
    known. Of unit `share` 1 is the whole."""

    name: str
    unit: Literal["s", "B", "B/s", "share", "count", "ratio"]
    value: float | None
    low: float | None
    high: float | None


class CheckPart(Struct, frozen=True):
    """One bound on one launch: a clause of the condition, or the time beside the baseline's.

    `file` and `line` are where most of what the bound is about stands, `line` null where the code
    does not say it. `causes` say why it is slower than the baseline, the strongest first.
    """

    rule: str
    status: Status
    message: str
    file: str
    line: Positive | None
    kernel: str
    title: str
    gpu: str
    model_label: str
    found: list[FoundPart]
    causes: list[str]


class GateDocument(Struct, frozen=True):
    """All that `gate --json` prints.

    `status` is `broken` where some check is, else `cannot tell` where some is. `tolerance` is the
    share by which a launch may be slower than in the `baseline`.
    """

    schema: Literal["kernelcast/gate/1"]
    kernelcast: str
    condition: str | None
    baseline: str | None
    tolerance: NotNegative | None
    status: Status
    held: Natural
    broken: Natural
    untold: Natural
    checks: list[CheckPart]


def gate_schema() -> dict[str, Any]:
    """The JSON Schema of `gate --json`."""
    return json_schema(GateDocument, GATE_SCHEMA, "kernelcast gate --json")
