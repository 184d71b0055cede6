"""A design space: the fastest configurations, the Pareto front, what every number does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.explore import (
    ConfigurationTime,
    ExploreDocument,
    ExploredResult,
)
from kernelcast.reporting.figures import digits, grouped, percent, scaled, seconds
from kernelcast.reporting.layout import bullets, columns, section, spaced

_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 40


def render(document: ExploreDocument, *, brief: bool) -> RenderableType:
    """The best configuration by every model; unless `brief`, the lists behind it."""
    answers = [_answer(document, r) for r in document.results]
    if brief:
        return Group(*answers)
    return spaced(
        [
            _head(document),
            *(
                part
                for r, a in zip(document.results, answers, strict=True)
                for part in (
                    a,
                    _best(document, r),
                    _front(document, r),
                    _sensitivities(document, r),
                )
            ),
            _refusals(document),
            _assumptions(document),
        ]
    )


def _head(document: ExploreDocument) -> Text:
    known = document.predictions - document.computed
    kept = f", {grouped(known)} of them found in {document.results_file}" if known else ""
    return Text(
        f"{document.gpu}: {_count(document.configurations, 'configuration')}, "
        f"{_count(len(document.launches), 'launch', 'es')}, "
        f"{_count(len(document.models), 'model')}: "
        f"{_count(document.predictions, 'prediction')}{kept}"
    )


def _count(number: int, what: str, plural: str = "s") -> str:
    return f"{grouped(number)} {what}" + (plural if number != 1 else "")


def _answer(document: ExploreDocument, result: ExploredResult) -> Text:
    of = Path(result.program).name if result.program else "All programs, geometric mean"
    head = Text.assemble((of, "bold"), f" by {result.model}: ")
    if not result.best:
        return head.append("runs in no configuration")
    best = result.best[0]
    gain = f", {digits(best.speedup)} times as fast as {document.gpu}" if best.speedup else ""
    return head.append(f"at best {seconds(best.time_s)}{gain}, with {_numbers(document, best)}")


def _numbers(document: ExploreDocument, found: ConfigurationTime) -> str:
    return ", ".join(
        f"{axis.path} {_figure(value, axis.unit)}"
        for axis, value in zip(document.axes, found.numbers, strict=True)
    )


def _figure(value: float, unit: str) -> str:
    """A number as it is swept: whole counts in full, rates and sizes with a prefix."""
    if unit in ("byte/s", "Hz", "1/s"):
        return scaled(value, unit.replace("byte", "B"))
    return f"{value:g}" if abs(value) < 1e6 else scaled(value, "")


def _best(document: ExploreDocument, result: ExploredResult) -> RenderableType | None:
    if len(result.best) < 2:
        return None
    return section("Fastest", _table(document, result.best))


def _front(document: ExploreDocument, result: ExploredResult) -> RenderableType | None:
    shown = "" if len(result.front) == result.front_size else f", {len(result.front)} shown"
    if result.front_size < 2:
        return None
    title = f"Pareto front: as fast with less of no number ({grouped(result.front_size)}{shown})"
    return section(title, _table(document, result.front))


def _table(document: ExploreDocument, found: Sequence[ConfigurationTime]) -> RenderableType:
    # What binds several programs together is not one thing.
    binds = ("bound by",) if any(each.bottleneck for each in found) else ()
    table = columns(*(a.path for a in document.axes), "time", "speedup", *binds, left=binds)
    for each in found:
        table.add_row(
            *(_figure(v, a.unit) for v, a in zip(each.numbers, document.axes, strict=True)),
            seconds(each.time_s),
            digits(each.speedup) if each.speedup else "",
            *([each.bottleneck or ""] if binds else []),
        )
    return table


def _sensitivities(document: ExploreDocument, result: ExploredResult) -> RenderableType | None:
    rows = [
        (axis, s)
        for axis, s in zip(document.axes, result.sensitivities, strict=True)
        if len(axis.values) > 1 and None not in s.times_s
    ]
    if not rows:
        return None
    words = ("number", "over its values")
    table = columns(
        "number", "from", "to", "time", "to ", "elasticity", "over its values", left=words
    )
    for axis, found in rows:
        times = [t for t in found.times_s if t is not None]
        table.add_row(
            axis.path,
            _figure(axis.values[0], axis.unit),
            _figure(axis.values[-1], axis.unit),
            seconds(times[0]),
            seconds(times[-1]),
            "" if found.elasticity is None else f"{found.elasticity:+.2f}",
            _bars(times),
        )
    return section("What each number does, the others anywhere (geometric means)", table)


def _bars(times: Sequence[float]) -> str:
    """A small chart from 0 to the longest time."""
    step = -(-len(times) // _MOST_BARS)
    most = max(times)
    return "".join(_BARS[min(7, int(8 * t / most))] for t in times[::step])


def _assumptions(document: ExploreDocument) -> RenderableType | None:
    return section("Assumptions", bullets(document.assumptions)) if document.assumptions else None


def _refusals(document: ExploreDocument) -> RenderableType | None:
    if not document.refusals:
        return None
    total = document.predictions
    return section(
        "Where launches cannot run",
        bullets(f"{r.reason} ({percent(r.predictions / total)})" for r in document.refusals),
    )
