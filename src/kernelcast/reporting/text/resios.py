"""The thesis of Resios recomputed: its numbers, and its experiments beside the simulation."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.resios import ResiosDocument
from kernelcast.reporting.figures import seconds
from kernelcast.reporting.layout import bullets, columns, section, spaced
from kernelcast.reporting.text.paper_numbers import paper_number_table


def render(document: ResiosDocument, *, brief: bool) -> RenderableType:
    """How much of the thesis is met; unless `brief`, every number."""
    head = Text.assemble(
        (f"{document.met} of {document.stated}", "bold"),
        f" numbers of the thesis are met on a {document.machine}",
    )
    notes = Text(
        "The thesis divides its predictions by times that it measured and does not print. Ours are "
        "divided by those of the timing simulation, for the same code on the same machine file."
    )
    numbers = [n for n in document.numbers if not (brief and n.holds)]
    return spaced(
        [
            Group(head, notes),
            section("Chapters 3 to 7", paper_number_table(numbers)) if numbers else None,
            None
            if brief
            else section(
                "Results per cycle of an SM, by warps and ILP (4.5)", _throughputs(document)
            ),
            section("Experiments of chapter 7", _experiments(document)),
            None if brief else section("Hot spots", _hot_spots(document)),
            section("Why the ratios differ", bullets(_differences(document))),
        ]
    )


def _throughputs(document: ResiosDocument) -> RenderableType:
    table = columns("warps", "ILP", *map(str, document.tlps), left=("warps",))
    for curve in document.throughputs:
        cells = (f"{rate:.3g}" for rate in curve.results_per_cycle)
        table.add_row(curve.operation if curve.ilp == 1 else "", str(curve.ilp), *cells)
    return table


def _experiments(document: ResiosDocument) -> RenderableType:
    table = columns("", "block", "predicted", "simulated", "ratio", "thesis", left=("",))
    for e in document.experiments:
        times = seconds(e.predicted_s), seconds(e.simulated_s)
        table.add_row(e.name, e.block, *times, f"{e.ratio:.2f}", f"{e.thesis_ratio:.2f}")
    return table


def _hot_spots(document: ResiosDocument) -> RenderableType:
    table = columns("", "thesis", "here", left=("", "thesis", "here"))
    for e in document.experiments:
        table.add_row(e.name, e.thesis_hot_spots, "\n".join(e.hot_spots) or "none")
    return table


def _differences(document: ResiosDocument) -> list[str]:
    return [f"{e.name}: {e.differs}" for e in document.experiments]
