"""Whether loops are worth a GPU: a verdict, both times, where the time goes, from which size on."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.offload import (
    BreakEvenPart,
    GpuPart,
    OffloadDocument,
    OffloadedLoop,
    OffloadResult,
)
from kernelcast.reporting.figures import digits, percent, seconds, size
from kernelcast.reporting.layout import bullets, columns, facts, section, spaced


def render(document: OffloadDocument, *, brief: bool) -> RenderableType:
    """A sentence for each function; unless `brief`, the tables behind it."""
    if brief:
        return Group(*(_answer(r) for r in document.results))
    return spaced([part for r in document.results for part in _result(r)])


def _result(r: OffloadResult) -> list[RenderableType | None]:
    best = min(r.gpus, key=lambda g: g.total_s)
    notes = [*r.remarks, *dict.fromkeys(note for g in r.gpus for note in g.assumptions)]
    return [
        _answer(r),
        section("Loops", _loops(r)),
        section(f"On the CPU {seconds(r.cpu_s)}, {r.cpu_source}; on GPUs", _gpus(r)),
        section(f"Where the time goes on {best.gpu}", _parts(best)),
        section("To be known", bullets(notes)) if notes else None,
    ]


def _answer(r: OffloadResult) -> Text:
    best = min(r.gpus, key=lambda g: g.total_s)
    title = f"{r.function}({_sizes(r.sizes)})"
    text = Text.assemble((f"{title}: {_verdict(r, best)}", "bold"))
    text.append(f"; first limit: {best.first_limit}")
    return text


def _verdict(r: OffloadResult, best: GpuPart) -> str:
    with_copies, alone = best.speedup_with_copies, best.speedup
    if with_copies > 1:
        return (
            f"worth a GPU, {digits(with_copies)} x on {best.gpu}, copies included "
            f"({digits(alone)} x without)"
        )
    if alone > 1:
        return (
            f"not worth copying for, {digits(with_copies)} x on {best.gpu}, but {digits(alone)} x "
            "where the data are there already"
        )
    return f"leave it on the CPU, {digits(alone)} x on {best.gpu} even without copies"


def _sizes(sizes: Mapping[str, int | float]) -> str:
    """`n = m = 100, k = 5`: equal ones together."""
    names: dict[int | float, list[str]] = {}
    for name, value in sizes.items():
        names.setdefault(value, []).append(name)
    return ", ".join(f"{' = '.join(equal)} = {value}" for value, equal in names.items())


def _loops(r: OffloadResult) -> RenderableType:
    table = facts()
    for loop in r.loops:
        table.add_row(f"line {loop.line}", Text(_described(loop)))
    return table


def _described(loop: OffloadedLoop) -> str:
    if not loop.grid:
        return f"{loop.kernel}: values on the device, one thread"
    axes = ", ".join(f"{name} along {axis}" for name, axis in zip(loop.grid, "xy", strict=False))
    ends = f"; {', '.join(loop.reductions)}" if loop.reductions else ""
    return f"{loop.kernel}: {axes}{ends}"


def _gpus(r: OffloadResult) -> RenderableType:
    table = columns(
        *("", "kernels", "to device", "to host", "in all", "speed-up", "without copies"),
        *("first limit", "worth it"),
        left=("", "first limit", "worth it"),
    )
    for g in r.gpus:
        table.add_row(
            g.gpu,
            seconds(g.kernel_s),
            seconds(g.to_device_s),
            seconds(g.to_host_s),
            seconds(g.total_s),
            f"{digits(g.speedup_with_copies)} x",
            f"{digits(g.speedup)} x",
            g.first_limit,
            "" if g.break_even is None else _from(g.break_even),
        )
    return table


def _from(found: BreakEvenPart) -> str:
    """From which sizes on the GPU wins."""
    if found.sizes is not None:
        return f"from {_sizes(found.sizes)}"
    first, last = found.tried[0], found.tried[-1]
    if first is last:
        return "at the only size tried" if last.gpu_s < last.cpu_s else "not at the only size tried"
    if last.gpu_s < last.cpu_s:
        return f"at all sizes tried, from {_sizes(first.sizes)}"
    return f"at no size tried, to {_sizes(last.sizes)}"


def _parts(g: GpuPart) -> RenderableType:
    table = columns("part", "bytes", "time", "share", "bound by", left=("part", "bound by"))

    def share(time_s: float) -> str:
        return percent(time_s / g.total_s) if g.total_s else ""

    for copy in g.copies:
        name = f"{copy.array} {copy.direction}"
        table.add_row(name, size(copy.bytes), seconds(copy.time_s), share(copy.time_s), "")
    for launch in g.launches:
        whole = launch.time_s * launch.repeat
        name = launch.title + (f" x {launch.repeat}" if launch.repeat > 1 else "")
        table.add_row(Text(name), "", seconds(whole), share(whole), str(launch.bottleneck))
    table.add_row("sum", "", seconds(g.total_s), share(g.total_s), "")
    if g.context_s is not None:
        table.add_row("the context, once a program", "", seconds(g.context_s), "", "")
    return table
