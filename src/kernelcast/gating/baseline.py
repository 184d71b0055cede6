"""A forecast that was kept as JSON, beside one of today: what is slower, and why.

Errors of a model are much the same in both, so that neither interval hides a change: a launch is
slower where its least, its own and its greatest time all are, and as fast where none is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from kernelcast.errors import InputError, NotFoundError
from kernelcast.gating.conditions import BoundStatus
from kernelcast.reporting.documents.explain import ExplainDocument
from kernelcast.reporting.figures import digits, percent, scaled, seconds

_SCHEMAS = ("kernelcast/predict/1", "kernelcast/explain/1")
_MOST_TERMS = 2
_MOST_LINES = 3
_WORTH = 0.01
"""Share of the time, or of what a line did, below which a change is no cause."""


class KeptTerm(Struct, frozen=True):
    """A term of a kept breakdown."""

    name: str
    time_s: float


class KeptLine(Struct, frozen=True):
    """A costly line of a kept forecast."""

    file: str
    line: int
    source: str
    instruction_share: float | None
    sectors_per_request: float | None
    bank_conflicts: float | None


class KeptWork(Struct, frozen=True):
    """All warp instructions of a kept forecast."""

    warp: float


class KeptForecast(Struct, frozen=True):
    """What a later forecast is compared with; whatever else the file says is left."""

    kernel: str
    title: str
    gpu: str
    model_label: str
    time_s: float
    low_s: float | None
    high_s: float | None
    breakdown: list[KeptTerm]
    work: KeptWork
    costly_lines: list[KeptLine]


@dataclass(frozen=True, slots=True)
class Slowdown:
    """How much longer a launch takes than it did: the verdict, in words, and the causes."""

    verdict: BoundStatus
    message: str
    causes: tuple[str, ...]


def read_baseline(path: Path) -> list[KeptForecast]:
    """The forecasts of a file that `predict --json` or `explain --json` wrote.

    InputError where it cannot be read, is no such file, or is of another version of the schema.
    """
    where = str(path)
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}",
            where=where,
            hint="make one with predict --json",
        ) from None
    except ValueError:
        data = None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema not in _SCHEMAS:
        told = f"is of schema {schema}" if isinstance(schema, str) else "is no forecast"
        raise InputError(told, where=where, hint="make it anew with predict --json")
    results = data.get("results", [data.get("result")])
    try:
        return msgspec.convert(results, list[KeptForecast])
    except msgspec.ValidationError as error:
        raise InputError(
            f"is no whole forecast: {error}", where=where, hint="make it anew with predict --json"
        ) from None


def kept_of(document: ExplainDocument, kept: Sequence[KeptForecast], where: str) -> KeptForecast:
    """The kept forecast of the same launch, or of the only one of the same kernel, by the same
    model on the same GPU; NotFoundError where there is none."""
    now = document.result
    alike = [k for k in kept if (k.kernel, k.gpu, k.model_label) == _key(document)]
    exact = [k for k in alike if k.title == now.title]
    if exact or len(alike) == 1:
        return (exact or alike)[0]
    known = {f"{k.title} on {k.gpu} by {k.model_label}" for k in kept}
    named = f"{now.title} on {now.gpu} by {now.model_label}"
    raise NotFoundError("forecast", named, known, where=where)


def _key(document: ExplainDocument) -> tuple[str, str, str]:
    return document.result.kernel, document.result.gpu, document.result.model_label


def slowdown(document: ExplainDocument, before: KeptForecast, tolerance: float) -> Slowdown:
    """What became of the time, and why it is longer where it is."""
    now = document.result
    pairs = [
        (ours, theirs)
        for ours, theirs in (
            (now.time_s, before.time_s),
            (now.low_s, before.low_s),
            (now.high_s, before.high_s),
        )
        if ours is not None and theirs is not None
    ]
    over = [ours > theirs * (1 + tolerance) for ours, theirs in pairs]
    verdict = BoundStatus.CANNOT_TELL if any(over) else BoundStatus.HOLDS
    verdict = BoundStatus.BROKEN if all(over) else verdict
    change = now.time_s / before.time_s - 1 if before.time_s else 0.0
    told = f"{percent(abs(change))} {'slower' if change > 0 else 'faster'}"
    same = seconds(now.time_s) == seconds(before.time_s)
    message = f"{seconds(now.time_s)}, {'as before' if same else f'was {seconds(before.time_s)}'}"
    if not same:
        message = f"{told} than the baseline: {message}"
    causes = (
        ()
        if verdict is BoundStatus.HOLDS
        else (*_terms(document, before), *_lines(document, before))
    )
    return Slowdown(verdict, message, causes)


def _terms(document: ExplainDocument, before: KeptForecast) -> list[str]:
    """The terms of the time that grew most."""
    was = {term.name: term.time_s for term in before.breakdown}
    grown = sorted(
        (
            (part.time_s - was.get(part.name, 0.0), part.name, part.time_s)
            for part in document.result.breakdown
        ),
        reverse=True,
    )
    return [
        f"{name}: {seconds(time_s)}, was {seconds(was.get(name, 0.0))}"
        for more, name, time_s in grown[:_MOST_TERMS]
        if more > _WORTH * before.time_s
    ]


def _lines(document: ExplainDocument, before: KeptForecast) -> list[str]:
    """The lines that do more than they did, by what they cost today.

    A line is the one of the same text, which need not stand at the same place; else it is new.
    """
    was: Mapping[str, KeptLine] = {line.source: line for line in before.costly_lines}
    total, before_total = document.result.work.warp, before.work.warp
    found = []
    for line in document.result.costly_lines:
        place = f"{Path(line.file).name}:{line.line}"
        old = was.get(line.source)
        ours = total * (line.instruction_share or 0.0)
        theirs = before_total * (old.instruction_share or 0.0) if old else 0.0
        changes = [
            f"{words} {digits(new)}, was {digits(older)}"
            for words, new, older in (
                (
                    "sectors per request",
                    line.sectors_per_request or 0.0,
                    (old and old.sectors_per_request) or 0.0,
                ),
                ("bank conflicts", line.bank_conflicts or 1.0, (old and old.bank_conflicts) or 1.0),
            )
            if new > older * (1 + _WORTH)
        ]
        if ours - theirs > _WORTH * before_total:
            changes.append(f"{scaled(ours, '')} warp instructions, was {scaled(theirs, '')}")
        if changes:
            found.append(f"{place}{'' if old else ' (new)'}: {'; '.join(changes)}")
    return found[:_MOST_LINES]
