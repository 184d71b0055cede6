"""The cusp of needed occupancy over arithmetic intensity, for several GPUs."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from kernelcast.reporting.documents.occupancy_cusp import CuspDocument
from kernelcast.reporting.figures import digits
from kernelcast.reporting.layout import columns, section, spaced

_X = "additions per load"
_Y = "warps per SM needed"


def render(document: CuspDocument, *, brief: bool) -> RenderableType:
    """Whether there is a cusp; unless `brief`, its place on every GPU and the curves."""
    head = _answer(document)
    if brief:
        return head
    ends = columns("GPU", "loads alone", "most", "at", "additions alone", "fit", left=("GPU",))
    for c in document.results:
        ends.add_row(
            c.gpu,
            digits(c.loads_alone_warps),
            digits(c.most_warps),
            digits(c.most_alpha),
            digits(c.additions_alone_warps),
            str(c.limit_warps),
        )
    return spaced([head, section(f"{_Y}, by {_X}", ends), section("The curves", _curves(document))])


def _curves(document: CuspDocument) -> RenderableType:
    table = columns(_X, *(c.gpu for c in document.results))
    whole = [at for at, alpha in enumerate(document.alphas) if float(alpha).is_integer()]
    shown = whole if document.are_default else range(len(document.alphas))
    for at in shown:
        needed = (digits(c.needed_warps[at]) for c in document.results)
        table.add_row(f"{document.alphas[at]:g}", *needed)
    return table


def _answer(document: CuspDocument) -> Text:
    results = document.results
    if len(results) == 1:
        (c,) = results
        return Text(
            f"{c.gpu} needs most warps, {digits(c.most_warps)} per SM where {c.limit_warps} fit, "
            f"at {digits(c.most_alpha)} {_X}" + ("" if c.is_cusp else ": no cusp")
        )
    if document.first_alpha is None or document.last_alpha is None:
        return Text(f"No cusp: none of {len(results)} GPUs needs most warps in between")
    return Text(
        f"{document.cusps} of {len(results)} GPUs have a cusp: most warps are needed at "
        f"{digits(document.first_alpha)} to {digits(document.last_alpha)} {_X}, fewer at either end"
    )
