"""Predicted against measured times of the kernels with known results, by kernel."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.ground_truth import GroundTruthDocument, GroundTruthModel
from kernelcast.reporting.figures import digits, percent
from kernelcast.reporting.layout import bullets, columns, section, spaced


def render(document: GroundTruthDocument, *, brief: bool) -> RenderableType:
    """One line per model; unless `brief`, a table of its kernels and what could not be compared."""
    names = (
        "model",
        "kernels",
        "launches",
        "pred. / meas.",
        "error",
        "median",
        "90 %",
        "tau",
        "covered",
    )
    totals = columns(*names, left=("model",))
    for name, model in document.models.items():
        totals.add_row(
            name,
            str(len(model.kernels)),
            str(model.launches),
            digits(model.ratio),
            *map(percent, (model.error, model.median_error, model.error_90)),
            _tau(model.tau),
            "-" if model.coverage is None else percent(model.coverage),
        )
    title = Text(document.title)
    if brief:
        return spaced([title, totals])
    notes = Text(
        "Geometric means; error is by how much a time is off in either direction, half and 90 % "
        "of the launches are off by the next two or less; tau is Kendall's, of the order of a "
        "kernel's configurations; covered are the times that lie in the model's interval."
    )
    tables = [section(name, _kernels(model)) for name, model in document.models.items()]
    gaps = section("Not compared", bullets(document.missing)) if document.missing else None
    return spaced([Group(title, notes), *tables, gaps, totals])


def _kernels(model: GroundTruthModel) -> RenderableType:
    table = columns(
        "kernel", "launches", "pred. / meas.", "least", "most", "error", "tau", left=("kernel",)
    )
    for name, kernel in model.kernels.items():
        table.add_row(
            name,
            str(len(kernel.configurations)),
            digits(kernel.ratio),
            digits(kernel.least_ratio),
            digits(kernel.largest_ratio),
            f"{kernel.error:.0%}",
            _tau(kernel.tau),
        )
    return table


def _tau(tau: float | None) -> str:
    return "-" if tau is None else f"{tau:.2f}"
