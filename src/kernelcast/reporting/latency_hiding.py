"""The arena of latency hiding: how far every model errs, and whether the bounds hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelcast.reporting.figures import digits
from kernelcast.reporting.layout import columns, section, spaced
from kernelcast.validation.arena import Score
from kernelcast.validation.statements import CUSP, LARGEST, SMALLEST, Verdict

_OBSERVED = "refined model of Volkov 2016, section 6.5"
_NEVER = "-"


def render_arena(
    scores: Sequence[Score], verdicts: Sequence[Verdict], detail: bool
) -> RenderableType:
    """Whether the dissertation's figures are met; with `detail`, the errors of every model."""
    broken = [v for v in verdicts if not v.holds]
    head = Text.assemble(
        (f"{len(verdicts) - len(broken)} of {len(verdicts)}", "bold"),
        " figures of the dissertation are met within their bands",
    )
    lines = [head, Text(f"Predicted / observed throughput; observed is the {_OBSERVED}.")]
    if detail:
        lines.append(Text("At: the alpha of the extreme. Warps: the fewest for 90 % of a bound."))
    gpus = dict.fromkeys(s.gpu for s in scores)
    tables = [section(gpu, _errors([s for s in scores if s.gpu == gpu])) for gpu in gpus]
    shown = verdicts if detail else broken
    return spaced([Group(*lines), *(tables if detail else []), *_statements(shown)])


def arena_dict(scores: Sequence[Score], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Scores and verdicts as plain dictionaries; what is not finite is null."""
    return {
        "schema": "kernelcast/validate/1",
        "set": "latency-hiding",
        "observed": _OBSERVED,
        "holds": all(v.holds for v in verdicts),
        "scores": [_score_dict(s) for s in scores],
        "statements": [_verdict_dict(v) for v in verdicts],
    }


def _score_dict(s: Score) -> dict[str, Any]:
    smallest, largest = s.extremes
    return {
        "model": s.contestant,
        "gpu": s.gpu,
        "smallest": _number(smallest),
        "largest": _number(largest),
        "impossible": s.impossible,
        "by_alpha": [
            {
                "alpha": _number(alpha),
                "smallest": _number(low),
                "largest": _number(high),
                "needed_warps": _number(warps),
            }
            for alpha, low, high, warps in zip(
                s.alphas, s.smallest, s.largest, s.needed, strict=True
            )
        ],
    }


def _verdict_dict(v: Verdict) -> dict[str, Any]:
    s = v.statement
    low, high = s.band
    return {
        "model": s.contestant,
        "gpu": s.gpu,
        "quantity": s.quantity,
        "alphas": [_number(a) for a in s.alphas],
        "stated": [_number(s.low), _number(s.high)],
        "band": [_number(low), _number(high)],
        "found": _number(v.found),
        "holds": v.holds,
        "source": s.source,
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _errors(scores: Sequence[Score]) -> RenderableType:
    first, last = scores[0].alphas[0], scores[0].alphas[-1]
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
        smallest, largest = s.extremes
        table.add_row(
            s.contestant,
            digits(smallest),
            f"{s.alphas[int(s.smallest.argmin())]:g}",
            digits(largest),
            f"{s.alphas[int(s.largest.argmax())]:g}",
            _warps(s.needed[0]),
            _warps(max(s.needed, key=lambda n: math.inf if math.isnan(n) else n)),
            _warps(s.needed[-1]),
        )
    notes = [
        Text(f"{s.contestant} gives an impossible throughput at {s.impossible} points")
        for s in scores
        if s.impossible
    ]
    return Group(table, *notes)


def _warps(count: float) -> str:
    """A number of warps; a dash where no occupancy suffices."""
    return _NEVER if math.isnan(count) else f"{count:g}"


def _statements(verdicts: Sequence[Verdict]) -> list[RenderableType]:
    """A table for each quantity that is stated."""
    found: list[RenderableType] = []
    for quantity, title in _TITLES.items():
        rows = [v for v in verdicts if v.statement.quantity == quantity]
        if rows:
            found.append(section(title, _table(rows)))
    return found


_TITLES = {
    LARGEST: "Largest predicted / observed, beside the dissertation",
    SMALLEST: "Smallest predicted / observed, beside the dissertation",
    CUSP: "Most warps needed over those at both ends, beside the dissertation",
}


def _table(verdicts: Sequence[Verdict]) -> Table:
    names = ("model", "GPU", "alpha", "stated", "band", "found", "source")
    table = columns(*names, left=("model", "GPU", "source"))
    for v in verdicts:
        s = v.statement
        alphas = f"{s.alphas[0]:g}" + (f"-{s.alphas[-1]:g}" if len(s.alphas) > 1 else "")
        table.add_row(
            s.contestant,
            s.gpu,
            alphas,
            _cusp(s.low) if s.quantity == CUSP else _range(s.low, s.high),
            _range(*s.band),
            digits(v.found) if v.holds else f"broken: {digits(v.found)}",
            s.source,
        )
    return table


def _cusp(low: float) -> str:
    return "yes" if low > 1 else "no"


def _range(low: float, high: float) -> str:
    return digits(low) if low == high else f"{digits(low)}-{digits(high)}"
