"""The time of a program around its kernels: every copy, and all together."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from kernelcast.reporting.documents.end_to_end import EndToEndTime
from kernelcast.reporting.figures import percent, seconds, size
from kernelcast.reporting.layout import bullets, columns, section, spaced


def render_end_to_end(whole: EndToEndTime) -> RenderableType:
    """A row for every copy and one for the kernels, and what they come to."""
    table = columns("part", "bytes", "time", "share", left={"part"})
    # What overlaps has no shares that sum to the whole.
    of = whole.total_time_s if whole.parts == 1 else 0.0

    def share(time_s: float) -> str:
        return percent(time_s / of) if of else ""

    for copy in whole.copies:
        name = f"{copy.array} {copy.direction}, {copy.memory} memory"
        table.add_row(Text(name), size(copy.bytes), seconds(copy.time_s), share(copy.time_s))
    table.add_row("kernels, launches included", "", seconds(whole.kernel_s), share(whole.kernel_s))
    together = "sum" if whole.parts == 1 else f"overlapping in {whole.parts} parts"
    table.add_row(together, "", seconds(whole.total_time_s), share(whole.total_time_s))
    notes = list(whole.assumptions)
    if whole.as_graph_s is not None:
        notes.insert(0, f"with the launches as one graph {seconds(whole.as_graph_s)}")
    if whole.context_s is not None:
        notes.append(f"creating the context takes {seconds(whole.context_s)} more, once a program")
    title = f"End to end on {whole.gpu} by the {whole.model_label} model"
    total = Text.assemble((f"{title}: ", "bold"), (seconds(whole.total_time_s), "bold"))
    return spaced([section(total.plain, table), bullets(notes) if notes else None])
