"""The arena of latency hiding: how far every model errs, and whether the bounds hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelcast.reporting.documents.latency_hiding import (
    AgreementPart,
    LatencyHidingDocument,
    ScorePart,
    StatementPart,
)
from kernelcast.reporting.figures import digits
from kernelcast.reporting.layout import columns, section, spaced

_NEVER = "-"
_CUSP, _REFINED = "cusp", "refined"
_SAME = 0.005
"""Quotients that differ by less differ by no digit that is shown."""
_TITLES = {
    "largest": "Largest predicted / observed, beside the dissertation",
    "smallest": "Smallest predicted / observed, beside the dissertation",
    _CUSP: "Most warps needed over those at both ends, beside the dissertation",
}


def render(document: LatencyHidingDocument, *, brief: bool) -> RenderableType:
    """Whether the dissertation's figures are met; unless `brief`, the errors of every model."""
    head = Text.assemble(
        (f"{document.met} of {len(document.statements)}", "bold"),
        " figures of the dissertation are met within their bands",
    )
    observed = f"Predicted / observed throughput; observed is the {document.observed}."
    agreements = _agreements(document.agreements)
    if brief:
        broken = [s for s in document.statements if not s.holds]
        statements = _statements(broken, bool(agreements))
        return spaced([Group(head, Text(observed)), *agreements, *statements])
    notes = "At: the alpha of the extreme. Warps: the fewest for 90 % of a bound."
    gpus = dict.fromkeys(s.gpu for s in document.scores)
    tables = [section(gpu, _errors([s for s in document.scores if s.gpu == gpu])) for gpu in gpus]
    lines = Group(head, Text(observed), Text(notes))
    statements = _statements(document.statements, bool(agreements))
    return spaced([lines, *agreements, *tables, *statements])


def _agreements(parts: Sequence[AgreementPart]) -> list[RenderableType]:
    """The refined model over what is observed, if that is something else."""
    if not parts:
        return []
    table = columns(
        "GPU",
        "points",
        "smallest",
        "largest",
        "near the bound",
        "smallest",
        "largest",
        left=("GPU",),
    )
    for part in parts:
        ends = digits(part.near_smallest), digits(part.near_largest)
        table.add_row(
            part.gpu,
            str(part.points),
            digits(part.smallest),
            digits(part.largest),
            str(part.near_points),
            ends[0] if part.holds else f"broken: {ends[0]}",
            ends[1],
        )
    note = Text(
        "Near the bound: where the refined model is within 5 % of it, it has to be within 5 %."
    )
    return [section("Refined model / observed throughput", Group(table, note))]


def _errors(scores: Sequence[ScorePart]) -> RenderableType:
    first, last = (_number(scores[0].by_alpha[at].alpha) for at in (0, -1))
    table = columns(
        "model",
        "smallest",
        "at",
        "largest",
        "at",
        f"warps at {first:g}",
        "most",
        f"at {last:g}",
        left=("model",),
    )
    for s in scores:
        table.add_row(
            s.model,
            digits(_number(s.smallest)),
            f"{_number(s.smallest_alpha):g}",
            digits(_number(s.largest)),
            f"{_number(s.largest_alpha):g}",
            _warps(s.by_alpha[0].needed_warps),
            _warps(s.most_needed_warps),
            _warps(s.by_alpha[-1].needed_warps),
        )
    notes = [
        Text(f"{s.model} gives an impossible throughput at {s.impossible} points")
        for s in scores
        if s.impossible
    ]
    return Group(table, *notes)


def _number(value: float | None) -> float:
    return math.inf if value is None else value


def _warps(count: float | None) -> str:
    """A number of warps; a dash where no occupancy suffices."""
    return _NEVER if count is None or math.isnan(count) else f"{count:g}"


def _statements(statements: Sequence[StatementPart], has_refined: bool) -> list[RenderableType]:
    """A table for each quantity that is stated; where it `has_refined`, beside that model's."""
    found: list[RenderableType] = []
    for quantity, title in _TITLES.items():
        rows = [s for s in statements if s.quantity == quantity]
        if rows:
            found.append(section(title, _table(rows, has_refined)))
    return found


def _table(statements: Sequence[StatementPart], has_refined: bool) -> Table:
    beside = ("by refined", "nearer") if has_refined else ()
    names = ("model", "GPU", "alpha", "stated", "band", "found", *beside, "source")
    table = columns(*names, left=("model", "GPU", "nearer", "source"))
    for s in statements:
        alphas = [_number(alpha) for alpha in s.alphas]
        found = digits(_number(s.found))
        table.add_row(
            s.model,
            s.gpu,
            f"{alphas[0]:g}" + (f"-{alphas[-1]:g}" if len(alphas) > 1 else ""),
            _has_cusp(s) if s.quantity == _CUSP else _range(s.stated),
            _range(s.band),
            found if s.holds else f"broken: {found}",
            *(_beside(s) if has_refined else ()),
            s.source,
        )
    return table


def _beside(s: StatementPart) -> tuple[str, str]:
    """What was found by the refined model, and which of the two is nearer to what is stated."""
    if s.model == _REFINED:
        return "", ""
    own, other = (_distance(s, found) for found in (s.found, s.by_refined))
    by_refined = digits(_number(s.by_refined))
    if own == other or abs(own - other) < _SAME:
        return by_refined, "both"
    return by_refined, "observed" if own < other else "refined"


def _distance(s: StatementPart, found: float | None) -> float:
    """How far it is outside of what is stated, as the logarithm of a quotient."""
    low, high = map(_number, s.stated)
    value = _number(found)
    if low <= value <= high:
        return 0.0
    return abs(math.log(value / (low if value < low else high))) if value > 0 else math.inf


def _has_cusp(statement: StatementPart) -> str:
    return "yes" if _number(statement.stated[0]) > 1 else "no"


def _range(ends: Sequence[float | None]) -> str:
    low, high = map(_number, ends)
    return digits(low) if low == high else f"{digits(low)}-{digits(high)}"
