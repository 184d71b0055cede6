"""What `calibrate` answers: a GPU's numbers as measured, beside those of a machine file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from kernelcast.calibration.calibrate import Calibration, Finding
from kernelcast.calibration.comparison import DIFFERS, LiteratureComparison, compare_with
from kernelcast.calibration.repeats import TOLERANCE, Repeats
from kernelcast.machines.machine import Machine, Provenance
from kernelcast.reporting.documents.base import Natural, NotNegative


class StatedPart(Struct, frozen=True):
    """What the machine file has for a number; `ratio` is that of the measured one to it."""

    value: float
    kind: str
    source: str
    ratio: NotNegative
    unit: str


class CalibratedQuantity(Struct, frozen=True, omit_defaults=True):
    """A number that was found; `is_fitted` where its residual says how well."""

    value: float
    unit: str
    kind: str
    residual: NotNegative
    benchmark: str
    source: str
    is_fitted: bool
    against: StatedPart | None = None


class MissingPart(Struct, frozen=True):
    """A number that was not found."""

    benchmark: str
    why: str


class AgainstPart(Struct, frozen=True):
    """The machine compared with, and the paths whose numbers differ by more than `tolerance`: in
    the order of the machine file, and by falling difference. `compared` counts all."""

    machine: str
    differing: list[str]
    tolerance: NotNegative
    by_difference: list[str]
    compared: Natural


class ApartPart(Struct, frozen=True):
    """A number that has not come back: that of the second measurement over `first`."""

    path: str
    ratio: float | None
    first: float
    unit: str


class RepeatPart(Struct, frozen=True):
    """A second measurement: ratios to the first by path, those `apart` by more than `tolerance`,
    the farthest first, and what one of the two alone has; the others `came_back`."""

    tolerance: NotNegative
    ratios: dict[str, float | None]
    apart: list[str]
    missing: list[str]
    numbers_apart: list[ApartPart]
    came_back: Natural


class CalibrateDocument(Struct, frozen=True, omit_defaults=True):
    """All that `calibrate --json` prints; `against` and `repeat` where they are asked for."""

    schema: Literal["kernelcast/calibration/1"]
    device: dict[str, Any]
    quantities: dict[str, CalibratedQuantity]
    missing: dict[str, MissingPart]
    remarks: list[str]
    against: AgainstPart | None = None
    repeat: RepeatPart | None = None


def calibrate_document(
    calibration: Calibration, against: Machine | None = None, repeats: Repeats | None = None
) -> CalibrateDocument:
    """A calibration, beside a machine and a repeated measurement where there are such."""
    compared = compare_with(calibration, against) if against else {}
    return CalibrateDocument(
        schema="kernelcast/calibration/1",
        device=dict(calibration.raw.device),
        quantities={f.path: _quantity(f, compared.get(f.path)) for f in calibration.findings},
        missing={gap.path: MissingPart(gap.benchmark, gap.why) for gap in calibration.gaps},
        remarks=list(calibration.remarks),
        against=_against(against, compared) if against else None,
        repeat=_repeat(repeats) if repeats else None,
    )


def _quantity(finding: Finding, other: LiteratureComparison | None) -> CalibratedQuantity:
    quantity = finding.quantity
    assert not isinstance(quantity.value, tuple)
    return CalibratedQuantity(
        value=quantity.value,
        unit=quantity.unit,
        kind=quantity.kind.value,
        residual=finding.residual,
        benchmark=finding.benchmark,
        source=quantity.source,
        is_fitted=quantity.kind is not Provenance.STATED,
        against=_stated(other) if other else None,
    )


def _stated(compared: LiteratureComparison) -> StatedPart:
    stated = compared.stated
    assert not isinstance(stated.value, tuple)
    return StatedPart(stated.value, stated.kind.value, stated.source, compared.ratio, stated.unit)


def _against(machine: Machine, compared: Mapping[str, LiteratureComparison]) -> AgainstPart:
    differing = [comparison for comparison in compared.values() if comparison.differs]
    falling = sorted(differing, key=lambda c: max(c.ratio, 1 / c.ratio), reverse=True)
    return AgainstPart(
        machine=machine.name,
        differing=[comparison.path for comparison in differing],
        tolerance=DIFFERS,
        by_difference=[comparison.path for comparison in falling],
        compared=len(compared),
    )


def _repeat(repeats: Repeats) -> RepeatPart:
    apart = repeats.apart()
    return RepeatPart(
        tolerance=TOLERANCE,
        ratios={one.path: one.ratio for one in repeats.numbers},
        apart=[one.path for one in apart],
        missing=[*repeats.only_first, *repeats.only_second],
        numbers_apart=[ApartPart(one.path, one.ratio, one.first, one.unit) for one in apart],
        came_back=len(repeats.numbers) - len(apart),
    )
