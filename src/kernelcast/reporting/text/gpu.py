"""One machine with every number and its source."""

from __future__ import annotations

from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelcast.reporting.documents.gpu import GpuDocument, QuantityPart
from kernelcast.reporting.figures import grouped


def render(document: GpuDocument, *, brief: bool) -> RenderableType:
    """A machine's identity, then every number with unit, kind and source."""
    identity = (
        f"{document.vendor} {document.architecture}, {document.chip}, "
        f"compute capability {document.compute_capability}; file version {document.version}"
    )
    parts: list[RenderableType] = [
        Text.assemble((document.name, "bold"), ": ", document.title),
        Text(identity),
    ]
    for group, paths in groupby(document.quantities, key=lambda path: path.partition(".")[0]):
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for justify in ("left", "right", "left", "left", "left"):
            table.add_column(justify=justify, overflow="fold", no_wrap=justify == "right")
        for path in paths:
            quantity = document.quantities[path]
            table.add_row(
                path, value_words(quantity), quantity.unit, quantity.kind, Text(quantity.source)
            )
        parts += [Text(""), Text(group, style="bold"), table]
    return Group(*parts)


def value_words(quantity: QuantityPart) -> str:
    """The number, or the numbers of a list."""
    values = quantity.value if isinstance(quantity.value, list) else [quantity.value]
    return ", ".join(grouped(v) if float(v).is_integer() else f"{v:g}" for v in values)
