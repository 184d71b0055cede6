"""Predicted against measured times of one kernel in many configurations."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.measured import MeasuredDocument, SameRegisters
from kernelcast.reporting.documents.measured_launch import MeasuredLaunch
from kernelcast.reporting.figures import digits, percent, seconds
from kernelcast.reporting.layout import bullets, columns, section, spaced
from kernelcast.reporting.text.counters import counter_tables


def render(document: MeasuredDocument, *, brief: bool) -> RenderableType:
    """The answer first; then a line per model and, unless `brief`, the worst predictions, the
    counters where there are some, and what is missing."""
    head = Group(Text(_answer(document)), Text(document.title))
    if brief:
        return spaced([head, _models(document)])
    notes = Text(
        "Errors are |predicted - measured| / measured; pred. / meas. is a geometric mean; tau is "
        "Kendall's, of the order of the configurations; regret is what the configuration predicted "
        "to be the fastest takes longer than the fastest; covered are the times that lie in the "
        "model's interval."
    )
    worst = [section(f"Worst by {n}", _worst(model.worst)) for n, model in document.models.items()]
    counters, missing = document.counters, document.missing
    return spaced(
        [
            head,
            _models(document),
            notes,
            *worst,
            _same(document.registers),
            section("Counters", counter_tables(counters)) if counters else None,
            section("Not compared", bullets(missing)) if missing else None,
        ]
    )


def _answer(document: MeasuredDocument) -> str:
    """`Half of the 100 predictions are off by 12 % or less, by the volkov model`."""
    name, model = next(iter(document.models.items()))
    count, of = len(model.launches), document.observations
    drawn = "" if count == of else f", drawn from {of} measured launches,"
    return (
        f"Half of the {count} predictions{drawn} are off by {percent(model.median_error)} or less, "
        f"by the {name} model"
    )


def _models(document: MeasuredDocument) -> RenderableType:
    table = columns(
        "model", "launches", "median", "mean", "90 %", "pred. / meas.", "tau", "regret", "covered",
        left=("model",),
    )  # fmt: skip
    for name, model in document.models.items():
        table.add_row(
            name,
            str(len(model.launches)),
            *map(percent, (model.median_error, model.mean_error, model.error_90)),
            digits(model.ratio),
            "-" if model.tau is None else f"{model.tau:.2f}",
            percent(model.regret),
            "-" if model.coverage is None else percent(model.coverage),
        )
    return table


def _worst(launches: list[MeasuredLaunch]) -> RenderableType:
    table = columns("pred. / meas.", "predicted", "measured", "launch", left=("launch",))
    for c in launches:
        table.add_row(digits(c.ratio), seconds(c.predicted_s), seconds(c.measured_s), c.launch)
    return table


def _same(registers: SameRegisters) -> RenderableType | None:
    if not registers.known:
        return None
    return Text(
        f"{registers.same} of {registers.known} kernels have the registers of those measured"
    )
