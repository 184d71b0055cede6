"""Several predictions side by side: launches, GPUs, models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.figures import digits, percent, seconds
from kernelcast.reporting.layout import bullets, columns, indented, section, spaced
from kernelcast.reporting.text import sample_words
from kernelcast.reporting.titles import launch_title
from kernelcast.reporting.totals import is_workload, totals

_LEFT = {"launch", "GPU", "model", "between", "bound by", "occupancy"}


def render_comparison(predictions: Sequence[Prediction]) -> RenderableType:
    """The answer, what it rests on, a row per prediction, and the sums of a workload."""
    sums = section("All launches, repeats included", _totals(predictions))
    return spaced(
        [
            Group(verdict(predictions), basis(predictions)),
            indented(_table(predictions)),
            sums if is_workload(predictions) else None,
            section("Executed", bullets(_samples(predictions))),
            section("Warnings", bullets(warned)) if (warned := _warnings(predictions)) else None,
        ]
    )


def verdict(predictions: Sequence[Prediction]) -> Text:
    """Which GPU is fastest, or, where there is one GPU, how long it takes; and what binds."""
    times = totals(predictions)
    gpus = _names(predictions, _gpu)
    what = _subject(predictions)
    if len(gpus) == 1:
        low, high = min(times.values()), max(times.values())
        span = seconds(low) if low == high else f"{seconds(low)} to {seconds(high)}"
        return Text.assemble(f"{what} on {gpus[0]}: ", (span, "bold"), _bound(predictions))
    model = predictions[0].model
    first = _ranked(predictions)[0]
    own = [p for p in predictions if _gpu(p) == first and p.model == model]
    return Text.assemble(
        f"{what} is fastest on ", (first, "bold"), f": {seconds(times[first, model])}{_bound(own)}"
    )


def basis(predictions: Sequence[Prediction]) -> Text:
    """By how much the fastest GPU leads, and which models say so."""
    models = _names(predictions, _model)
    ranked = _ranked(predictions)
    if len(ranked) > 1:
        times = totals(predictions)
        ratio = times[ranked[1], models[0]] / times[ranked[0], models[0]]
        lead = f"{digits(ratio)} times as fast as {ranked[1]}, by the {models[0]} model."
        return Text(lead)
    if len(models) == 1:
        return Text(f"By the {models[0]} model.")
    return Text(f"By the models {', '.join(models[:-1])} and {models[-1]}.")


def _gpu(prediction: Prediction) -> str:
    return prediction.case.machine.name


def _model(prediction: Prediction) -> str:
    return prediction.model


def _launch(prediction: Prediction) -> str:
    return launch_title(prediction.case)


def _names(predictions: Sequence[Prediction], name: Callable[[Prediction], str]) -> list[str]:
    return list(dict.fromkeys(name(p) for p in predictions))


def _ranked(predictions: Sequence[Prediction]) -> list[str]:
    """GPUs by rising time, by the first model."""
    model = predictions[0].model
    times = {gpu: time for (gpu, by), time in totals(predictions).items() if by == model}
    return sorted(times, key=times.__getitem__)


def _bound(predictions: Sequence[Prediction]) -> str:
    """What binds, by falling time; models and launches may disagree."""
    ranked = sorted(predictions, key=lambda p: -p.time_s * p.case.launch.repeat)
    return ", bound by " + " or ".join(dict.fromkeys(str(p.bottleneck) for p in ranked))


def _subject(predictions: Sequence[Prediction]) -> str:
    if not is_workload(predictions):
        return _launch(predictions[0])
    first = predictions[0]
    own = [p for p in predictions if _gpu(p) == _gpu(first) and p.model == first.model]
    return f"The workload of {sum(p.case.launch.repeat for p in own)} launches"


def _table(predictions: Sequence[Prediction]) -> Table:
    """One row per prediction; a column in which all rows would agree is left out."""
    several_gpus = len(_names(predictions, _gpu)) > 1
    cells: dict[str, Callable[[Prediction], str]] = {}
    if len(_names(predictions, _launch)) > 1:
        cells["launch"] = _launch
    if several_gpus:
        cells["GPU"] = _gpu
    if len(_names(predictions, _model)) > 1:
        cells["model"] = _model
    cells["time"] = lambda p: seconds(p.time_s)
    if several_gpus:
        cells["of fastest"] = lambda p: _of_fastest(p, predictions)
    if any(map(_range, predictions)):
        cells["between"] = _range
    if any(p.case.launch.repeat > 1 for p in predictions):
        cells["repeats"] = lambda p: str(p.case.launch.repeat)
    cells["bound by"] = lambda p: str(p.bottleneck)
    cells["occupancy"] = _occupancy
    table = columns(*cells, left=_LEFT)
    for p in predictions:
        table.add_row(*(Text(cell(p)) for cell in cells.values()))
    return table


def _of_fastest(prediction: Prediction, predictions: Sequence[Prediction]) -> str:
    """The time over that of the fastest GPU, for the same launch by the same model."""
    alike = [
        p.time_s
        for p in predictions
        if _launch(p) == _launch(prediction) and p.model == prediction.model
    ]
    return f"{digits(prediction.time_s / min(alike))} x" if min(alike) else ""


def _range(prediction: Prediction) -> str:
    """From the least to the most, where they differ as they are shown."""
    if prediction.low_s is None or prediction.high_s is None:
        return ""
    low, high = seconds(prediction.low_s), seconds(prediction.high_s)
    return f"{low} - {high}" if low != high else ""


def _occupancy(prediction: Prediction) -> str:
    held = prediction.case.occupancy
    return f"{held.warps_per_sm} warps ({percent(held.relative)})"


def _samples(predictions: Sequence[Prediction]) -> list[str]:
    """Which part of every launch was executed."""
    named = len(_names(predictions, _launch)) > 1
    texts = [f"{_launch(p)}: {sample_words(p)}" if named else sample_words(p) for p in predictions]
    return list(dict.fromkeys(texts))


def _warnings(predictions: Sequence[Prediction]) -> list[str]:
    """What to beware of, each once, with the GPUs it concerns where there are several."""
    concerned: dict[str, list[str]] = {}
    for p in predictions:
        for warning in (*p.case.kernel.warnings, *p.warnings):
            concerned.setdefault(warning, []).append(_gpu(p))
    if len(_names(predictions, _gpu)) == 1:
        return list(concerned)
    return [f"{', '.join(dict.fromkeys(gpus))}: {text}" for text, gpus in concerned.items()]


def _totals(predictions: Sequence[Prediction]) -> Table:
    table = columns("GPU", "model", "time", left=_LEFT)
    for (gpu, model), time_s in totals(predictions).items():
        table.add_row(Text(gpu), Text(model), seconds(time_s))
    return table
