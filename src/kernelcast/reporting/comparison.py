"""Several predictions side by side: launches, GPUs, models."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kernelcast.models.base import Prediction
from kernelcast.reporting.figures import digits, percent, seconds
from kernelcast.reporting.titles import launch_title
from kernelcast.reporting.totals import is_workload, totals


def render_comparison(predictions: Sequence[Prediction]) -> RenderableType:
    """The answer in one sentence, one table per launch, and the totals of a workload."""
    sections: list[RenderableType] = [verdict(predictions)]
    for title in dict.fromkeys(launch_title(p.case) for p in predictions):
        rows = [p for p in predictions if launch_title(p.case) == title]
        sections.append(Group(Text(title, style="bold"), Padding(_table(rows), (0, 0, 0, 2))))
    if is_workload(predictions):
        sections.append(_totals(predictions))
    return Group(*_with_gaps(sections))


def verdict(predictions: Sequence[Prediction]) -> Text:
    """Which GPU is fastest and by how much, or what the models say where there is one GPU."""
    times = totals(predictions)
    gpus = list(dict.fromkeys(gpu for gpu, _ in times))
    models = list(dict.fromkeys(model for _, model in times))
    what = _subject(predictions)
    if len(gpus) == 1:
        low, high = min(times.values()), max(times.values())
        span = seconds(low) if low == high else f"{seconds(low)} to {seconds(high)}"
        return _sentence(f"{what} on {gpus[0]}: ", span, f"{_bound(predictions)}{_by(models)}")
    model = models[0]
    ranked = sorted((gpu for gpu in gpus if (gpu, model) in times), key=lambda g: times[g, model])
    first = ranked[0]
    own = [p for p in predictions if p.case.machine.name == first and p.model == model]
    lead = ""
    if len(ranked) > 1 and times[first, model]:
        ratio = times[ranked[1], model] / times[first, model]
        lead = f"\n{digits(ratio)} times as fast as {ranked[1]}{_by([model])}"
    after = f": {seconds(times[first, model])}{_bound(own)}{lead}"
    return _sentence(f"{what} is fastest on ", first, after)


def _bound(predictions: Sequence[Prediction]) -> str:
    """What binds, by falling time; models and launches may disagree."""
    ranked = sorted(predictions, key=lambda p: -p.time_s * p.case.launch.repeat)
    return ", bound by " + " or ".join(dict.fromkeys(str(p.bottleneck) for p in ranked))


def _sentence(before: str, answer: str, after: str) -> Text:
    return Text.assemble(before, (answer, "bold"), after)


def _by(models: Sequence[str]) -> str:
    return f", by {' and '.join(models)}" if len(models) < 3 else f", by {len(models)} models"


def _subject(predictions: Sequence[Prediction]) -> str:
    launches = list(dict.fromkeys(launch_title(p.case) for p in predictions))
    if is_workload(predictions):
        return f"The workload of {_launch_count(predictions)} launches"
    return launches[0]


def _launch_count(predictions: Sequence[Prediction]) -> int:
    first = (predictions[0].case.machine.name, predictions[0].model)
    own = [p for p in predictions if (p.case.machine.name, p.model) == first]
    return sum(p.case.launch.repeat for p in own)


def _table(predictions: Sequence[Prediction]) -> Table:
    bounded = any(p.low_s is not None for p in predictions)
    repeated = any(p.case.launch.repeat > 1 for p in predictions)
    fastest = min(p.time_s for p in predictions)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("GPU", no_wrap=True)
    table.add_column("model", no_wrap=True)
    for name in ("time", "of fastest"):
        table.add_column(name, justify="right", no_wrap=True)
    if bounded:
        table.add_column("between", no_wrap=True)
    if repeated:
        table.add_column("repeats", justify="right", no_wrap=True)
    table.add_column("bound by", no_wrap=True)
    table.add_column("occupancy", no_wrap=True)
    for p in predictions:
        held = p.case.occupancy
        row = [p.case.machine.name, p.model, seconds(p.time_s)]
        row.append(f"{digits(p.time_s / fastest)} x" if fastest else "")
        if bounded:
            row.append(_range(p))
        if repeated:
            row.append(str(p.case.launch.repeat))
        row += [str(p.bottleneck), f"{held.warps_per_sm} warps ({percent(held.relative)})"]
        table.add_row(*(Text(cell) for cell in row))
    return table


def _range(prediction: Prediction) -> str:
    if prediction.low_s is None or prediction.high_s is None:
        return ""
    return f"{seconds(prediction.low_s)} - {seconds(prediction.high_s)}"


def _totals(predictions: Sequence[Prediction]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("GPU", "model", "time"):
        table.add_column(name, justify="right" if name == "time" else "left", no_wrap=True)
    for (gpu, model), time_s in totals(predictions).items():
        table.add_row(Text(gpu), Text(model), seconds(time_s))
    title = Text("All launches, repeats included", style="bold")
    return Group(title, Padding(table, (0, 0, 0, 2)))


def _with_gaps(sections: Sequence[RenderableType]) -> list[RenderableType]:
    return [part for section in sections for part in (section, Text())][:-1]
