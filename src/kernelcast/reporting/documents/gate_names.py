"""What `gate --names` answers: the quantities and units of conditions."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class QuantityName(Struct, frozen=True):
    """A name of conditions, the unit of its value, and what it is."""

    name: str
    unit: str
    meaning: str


class GateNamesDocument(Struct, frozen=True):
    """All that `gate --names --json` prints."""

    schema: Literal["kernelcast/gate-names/1"]
    names: list[QuantityName]
    units: list[str]
