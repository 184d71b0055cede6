"""From explained forecasts and bounds to what holds and what does not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.gating.baseline import KeptForecast, kept_of, slowdown
from kernelcast.gating.conditions import UNITS, BoundStatus, Clause, Interval, judge, together
from kernelcast.gating.quantities import QUANTITIES, costliest_line, intervals, unit_of
from kernelcast.reporting.documents.explain import ExplainDocument
from kernelcast.reporting.documents.gate import (
    GATE_SCHEMA,
    CheckPart,
    FoundPart,
    GateDocument,
)
from kernelcast.reporting.documents.gate_names import GateNamesDocument, QuantityName
from kernelcast.reporting.figures import digits, grouped, percent, scaled, seconds, size
from kernelcast.version import VERSION

_UNIT_WORDS = {"s": "seconds", "B": "bytes", "B/s": "bytes/s", "share": "share, 1 or 100 %"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is asked of forecasts: a condition, no more time than in a baseline, or both.

    `baseline` are the forecasts of the file `named`; `tolerance` is the share by which a launch may
    be slower. Files are told relative to `root` where they lie below it.
    """

    condition: str | None
    baseline: Sequence[KeptForecast] | None = None
    named: str = ""
    tolerance: float = 0.0
    root: Path = Path("/")


def gate_document(
    forecasts: Mapping[str, Sequence[ExplainDocument]], bounds: Bounds
) -> GateDocument:
    """What becomes of the bounds on forecasts, by the file that each is of.

    Raises as `judge` and `kept_of` do.
    """
    checks = [
        check
        for file, documents in forecasts.items()
        for document in documents
        for check in _checks(file, document, bounds)
    ]
    statuses = [BoundStatus(check.status) for check in checks]
    return GateDocument(
        schema=GATE_SCHEMA,
        kernelcast=VERSION,
        condition=bounds.condition,
        baseline=bounds.named if bounds.baseline is not None else None,
        tolerance=bounds.tolerance if bounds.baseline is not None else None,
        status=together(statuses).value,
        held=statuses.count(BoundStatus.HOLDS),
        broken=statuses.count(BoundStatus.BROKEN),
        untold=statuses.count(BoundStatus.CANNOT_TELL),
        checks=checks,
    )


def names_document() -> GateNamesDocument:
    """What conditions may name."""
    return GateNamesDocument(
        schema="kernelcast/gate-names/1",
        names=[
            QuantityName(q.name, _UNIT_WORDS.get(q.unit, q.unit), q.meaning) for q in QUANTITIES
        ],
        units=list(UNITS),
    )


def check_condition(condition: str) -> None:
    """Raise what `judge` would, before anything is predicted."""
    judge(condition, {q.name: Interval.unknown(q.dimension) for q in QUANTITIES})


def read_tolerance(text: str) -> float:
    """`5%` or `0.05` as a share; InputError for anything else, and below 0."""
    number, percent_sign, rest = text.strip().partition("%")
    try:
        share = float(number) * (0.01 if percent_sign else 1.0)
    except ValueError:
        share = math.nan
    if rest or not (share >= 0 and math.isfinite(share)):
        raise InputError(f"{text!r} is no share", where="--tolerance", hint="write 5% or 0.05")
    return share


def _checks(file: str, document: ExplainDocument, bounds: Bounds) -> Iterator[CheckPart]:
    if bounds.condition is not None:
        values = intervals(document)
        for clause in judge(bounds.condition, values):
            place = costliest_line(document, clause.names[0]) if clause.names else None
            found = [_found(name, values[name]) for name in clause.names]
            words = "; ".join(f"{part.name} is {_words(part)}" for part in found)
            message = f"{clause.text}: {words}" if words else clause.text
            yield _check(bounds, file, document, clause, message, place, found)
    if bounds.baseline is not None:
        before = kept_of(document, bounds.baseline, bounds.named)
        change = slowdown(document, before, bounds.tolerance)
        clause = Clause("baseline", change.verdict, ("time",))
        found = [_found("time", intervals(document)["time"])]
        place = costliest_line(document, "time")
        yield _check(bounds, file, document, clause, change.message, place, found, change.causes)


def _check(
    bounds: Bounds,
    file: str,
    document: ExplainDocument,
    clause: Clause,
    message: str,
    place: tuple[str, int] | None,
    found: list[FoundPart],
    causes: tuple[str, ...] = (),
) -> CheckPart:
    result = document.result
    return CheckPart(
        rule=clause.text,
        status=clause.verdict.value,
        message=message,
        file=_relative(place[0] if place else file, bounds.root),
        line=place[1] if place else None,
        kernel=result.kernel,
        title=result.title,
        gpu=result.gpu,
        model_label=result.model_label,
        found=found,
        causes=list(causes),
    )


def _relative(file: str, root: Path) -> str:
    path = Path(file)
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _found(name: str, value: Interval) -> FoundPart:
    low, middle, high = (
        number if math.isfinite(number) else None for number in (value.low, value.value, value.high)
    )
    return FoundPart(name, unit_of(name), middle, low, high)


def _words(part: FoundPart) -> str:
    """`2.14 ms (2.13 ms to 2.15 ms)`."""
    if part.value is None or part.low is None or part.high is None:
        return "not known"
    low, value, high = (_figure(number, part.unit) for number in (part.low, part.value, part.high))
    return value if low == high else f"{value} ({low} to {high})"


def _figure(number: float, unit: str) -> str:
    match unit:
        case "s":
            return seconds(number)
        case "B":
            return size(number)
        case "B/s":
            return scaled(number, "B/s")
        case "share":
            return percent(number)
        case "count":
            return grouped(number) if number < 1e6 else scaled(number, "")
    return digits(number)
