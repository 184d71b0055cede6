"""What `predict` prints: one result in full, several side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelcast.reporting.documents.predict import Overview, PredictDocument, Total
from kernelcast.reporting.documents.result import Result
from kernelcast.reporting.figures import digits, percent, seconds
from kernelcast.reporting.layout import bullets, columns, indented, section, spaced
from kernelcast.reporting.text.end_to_end import render_end_to_end
from kernelcast.reporting.text.result import answer, render_result, sample_words

_LEFT = {"launch", "GPU", "model", "between", "bound by", "occupancy"}


def render(document: PredictDocument, *, brief: bool) -> RenderableType:
    """The report on one result, or the comparison of several; `brief` keeps the answer only."""
    body: RenderableType
    if document.overview is None:
        (result,) = document.results
        body = answer(result) if brief else render_result(result)
    elif brief:
        body = verdict(document.results, document.overview)
    else:
        body = render_comparison(document.results, document.overview, document.totals)
    return spaced([body, *map(render_end_to_end, document.end_to_end)])


def render_comparison(
    results: Sequence[Result], overview: Overview, totals: Sequence[Total]
) -> RenderableType:
    """The answer, what it rests on, a row per result, and the sums of a workload."""
    warned = _warnings(overview)
    return spaced(
        [
            Group(verdict(results, overview), _basis(results, overview)),
            indented(_table(results, overview)),
            section("All launches, repeats included", _totals(totals)) if totals else None,
            section("Executed", bullets(_samples(results))),
            section("Warnings", bullets(warned)) if warned else None,
        ]
    )


def verdict(results: Sequence[Result], overview: Overview) -> Text:
    """Which GPU is fastest, or, where there is one GPU, how long it takes; and what binds."""
    bound = ", bound by " + " or ".join(map(str, overview.bottlenecks))
    what = results[0].title
    if overview.launches is not None:
        what = f"The workload of {overview.launches} launches"
    fastest, *others = overview.gpus_by_time
    if not others:
        low, high = overview.low_s, overview.high_s
        span = seconds(low) if low == high else f"{seconds(low)} to {seconds(high)}"
        return Text.assemble(f"{what} on {fastest}: ", (span, "bold"), bound)
    time = seconds(overview.fastest_s)
    return Text.assemble(f"{what} is fastest on ", (fastest, "bold"), f": {time}{bound}")


def _basis(results: Sequence[Result], overview: Overview) -> Text:
    """By how much the fastest GPU leads, and which models say so."""
    models = _names(results, _model)
    if overview.lead is not None:
        second = overview.gpus_by_time[1]
        return Text(f"{digits(overview.lead)} times as fast as {second}, by the {models[0]} model.")
    if len(models) == 1:
        return Text(f"By the {models[0]} model.")
    return Text(f"By the models {', '.join(models[:-1])} and {models[-1]}.")


def _gpu(result: Result) -> str:
    return result.gpu


def _model(result: Result) -> str:
    return result.model_label


def _launch(result: Result) -> str:
    return result.title


def _names(results: Sequence[Result], name: Callable[[Result], str]) -> list[str]:
    return list(dict.fromkeys(map(name, results)))


def _table(results: Sequence[Result], overview: Overview) -> Table:
    """One row per result; a column in which all rows would agree is left out."""
    several_gpus = len(overview.gpus_by_time) > 1
    cells: dict[str, list[str]] = {}
    if len(_names(results, _launch)) > 1:
        cells["launch"] = [r.title for r in results]
    if several_gpus:
        cells["GPU"] = [r.gpu for r in results]
    if len(_names(results, _model)) > 1:
        cells["model"] = [r.model_label for r in results]
    cells["time"] = [seconds(r.time_s) for r in results]
    if several_gpus:
        cells["of fastest"] = [
            "" if ratio is None else f"{digits(ratio)} x" for ratio in overview.of_fastest
        ]
    if any(map(_range, results)):
        cells["between"] = [_range(r) for r in results]
    if any(r.launch.repeat > 1 for r in results):
        cells["repeats"] = [str(r.launch.repeat) for r in results]
    cells["bound by"] = [str(r.bottleneck) for r in results]
    cells["occupancy"] = [occupancy_words(r) for r in results]
    table = columns(*cells, left=_LEFT)
    for row in zip(*cells.values(), strict=True):
        table.add_row(*map(Text, row))
    return table


def _range(result: Result) -> str:
    """From the least to the most, where they differ as they are shown."""
    if result.low_s is None or result.high_s is None:
        return ""
    low, high = seconds(result.low_s), seconds(result.high_s)
    return f"{low} - {high}" if low != high else ""


def occupancy_words(result: Result) -> str:
    """`64 warps (100 %)`."""
    held = result.occupancy
    return f"{held.warps_per_sm} warps ({percent(held.relative)})"


def _samples(results: Sequence[Result]) -> list[str]:
    """Which part of every launch was executed."""
    named = len(_names(results, _launch)) > 1
    texts = (
        f"{r.title}: {sample_words(r.sampled)}" if named else sample_words(r.sampled)
        for r in results
    )
    return list(dict.fromkeys(texts))


def _warnings(overview: Overview) -> list[str]:
    """What to beware of, each once, with the GPUs it concerns where there are several."""
    if len(overview.gpus_by_time) == 1:
        return [warned.text for warned in overview.warnings]
    return [f"{', '.join(warned.gpus)}: {warned.text}" for warned in overview.warnings]


def _totals(totals: Sequence[Total]) -> Table:
    table = columns("GPU", "model", "time", left=_LEFT)
    for total in totals:
        table.add_row(Text(total.gpu), Text(total.model_label), seconds(total.total_time_s))
    return table
