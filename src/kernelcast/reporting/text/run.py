"""The profile of a program: where the time of its kernels goes, and what each would take."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from kernelcast.reporting.documents.run import KernelTimes, ProfiledKernel, RunDocument
from kernelcast.reporting.figures import digits, grouped, percent, scaled, seconds, size
from kernelcast.reporting.kernel_names import short_name
from kernelcast.reporting.layout import bullets, columns, section, spaced
from kernelcast.reporting.text.result import access_words

_KERNELS_EXAMINED = 3
"""The slowest kernels, of which it is told what wastes bandwidth, and what to do."""


def render(document: RunDocument, *, brief: bool) -> RenderableType:
    """The time of all kernels; unless `brief`, kernel by kernel, and the copies."""
    if brief:
        return _answer(document)
    return spaced(
        [
            _answer(document),
            _gpus(document),
            *(_kernels(document, at) for at in range(len(document.gpus))),
            _transfers(document),
            _host(document),
            *(_waste(kernel) for kernel in document.kernels[:_KERNELS_EXAMINED]),
            _what_to_do(document),
            _remarks(document),
        ]
    )


def _answer(document: RunDocument) -> Text:
    first = document.gpus[0]
    if not document.launches:
        return Text(f"The program launched no kernel (exit status {document.exit_status}).")
    text = Text.assemble(
        (f"{document.program[0]} on {first.gpu}: {seconds(first.kernels_s)} in kernels", "bold")
    )
    launches = "1 launch" if document.launches == 1 else f"{grouped(document.launches)} launches"
    text.append(f", {launches}")
    if document.kernels:
        slowest = document.kernels[0]
        text.append(f"; {percent(slowest.times[0].share)} in {short_name(slowest.kernel)}")
        if slowest.times[0].bottleneck is not None:
            text.append(f", bound by {slowest.times[0].bottleneck}")
    if document.exit_status:
        text.append(f"; exit status {document.exit_status}", style="red")
    return text


def _gpus(document: RunDocument) -> RenderableType | None:
    if len(document.gpus) < 2:
        return None
    table = columns("GPU", "all kernels", "of the fastest", left=("GPU",))
    for gpu in sorted(document.gpus, key=lambda gpu: gpu.kernels_s):
        of_fastest = "" if gpu.of_fastest is None else f"{digits(gpu.of_fastest)} x"
        table.add_row(gpu.gpu, seconds(gpu.kernels_s), of_fastest)
    return section("GPUs by the time of all kernels", table)


def _kernels(document: RunDocument, at: int) -> RenderableType | None:
    if not document.kernels:
        return None
    words = ("bound by", "kernel")
    table = columns("share", "total", "launches", "mean", "least", "most", *words, left=words)
    for kernel in sorted(document.kernels, key=lambda k: -k.times[at].total_s):
        table.add_row(*_row(kernel, kernel.times[at]), Text(shape(kernel)))
    return section(f"Kernels on {document.gpus[at].gpu}", table)


def _row(kernel: ProfiledKernel, times: KernelTimes) -> tuple[str, ...]:
    launches = grouped(kernel.launches)
    if times.bottleneck is None:
        return "", "", launches, "", "", "", "no forecast"
    return (
        percent(times.share),
        seconds(times.total_s),
        launches,
        seconds(times.mean_s),
        seconds(times.least_s),
        seconds(times.most_s),
        str(times.bottleneck),
    )


def shape(kernel: ProfiledKernel) -> str:
    """`saxpy<<<64..256, 128>>>`: the grids with fewest and most blocks."""
    least, most = _extents(kernel.least_grid), _extents(kernel.most_grid)
    grid = least if least == most else f"{least}..{most}"
    smem = f", {kernel.smem}" if kernel.smem else ""
    return f"{short_name(kernel.kernel)}<<<{grid}, {_extents(kernel.block)}{smem}>>>"


def _extents(extents: list[int]) -> str:
    last = 3 if extents[2] > 1 else 2 if extents[1] > 1 else 1
    return "x".join(map(str, extents[:last]))


def _transfers(document: RunDocument) -> RenderableType | None:
    if not document.transfers:
        return None
    table = columns("", "count", "bytes", "time", left=("",))
    for part in document.transfers:
        table.add_row(part.kind, grouped(part.count), size(part.bytes), seconds(part.time_s))
    return section("Copies and fills, at the peak rate of the bus or the memory", table)


def _host(document: RunDocument) -> RenderableType | None:
    if not document.host:
        return None
    table = columns("", "count", "waits", left=("",))
    for part in document.host:
        table.add_row(part.call, grouped(part.count), seconds(part.waited_s))
    return section("Calls of the host, and how long it waits in them for the device", table)


def _what_to_do(document: RunDocument) -> RenderableType | None:
    kernels = document.kernels[:_KERNELS_EXAMINED]
    lines = [
        f"{short_name(kernel.kernel)}: {step}" for kernel in kernels for step in kernel.what_to_do
    ]
    return section("What to do", bullets(lines)) if lines else None


def _waste(kernel: ProfiledKernel) -> RenderableType | None:
    if not kernel.wasteful_accesses:
        return None
    lines = bullets(map(access_words, kernel.wasteful_accesses))
    return section(f"Accesses of {short_name(kernel.kernel)} that waste bandwidth", lines)


def _remarks(document: RunDocument) -> RenderableType:
    remarks = beside(document)
    return section("Beside this", bullets(remarks)) if remarks else Text()


def beside(document: RunDocument) -> list[str]:
    """How the launches were executed and forecast, and what went wrong."""
    remarks = []
    if document.launches:
        instructions = sum(kernel.thread_instructions for kernel in document.kernels)
        took = sum(kernel.executed_s for kernel in document.kernels)
        remarks.append(
            f"all blocks were executed: {scaled(instructions, '')} thread instructions in "
            f"{seconds(took)} here"
        )
        repeats = sum(kernel.repeats for kernel in document.kernels)
        if repeats:
            remarks.append(
                f"{grouped(repeats)} of the launches repeated the one before, changed nothing "
                "any more, and were not executed"
            )
        remarks.append(_forecast_words(document))
    if document.memory_bytes:
        remarks.append(f"at most {size(document.memory_bytes)} of device memory at once")
    remarks += [
        f"no forecast of {kernel.unknown} launches of {kernel.kernel}: {kernel.why_unknown}"
        for kernel in document.kernels
        if kernel.unknown
    ]
    return remarks + [f"failed: {failure}" for failure in document.failures]


def _forecast_words(document: RunDocument) -> str:
    sampled = sum(kernel.sampled for kernel in document.kernels)
    known = sum(kernel.known for kernel in document.kernels)
    estimated = sum(kernel.estimated for kernel in document.kernels)
    launches = "1 launch" if sampled == 1 else f"{grouped(sampled)} launches"
    text = f"by the {document.model_label} model: {launches} sampled"
    if known:
        text += f", {grouped(known)} equal to one of them"
    if estimated:
        text += f", {grouped(estimated)} estimated from the nearest of them"
    return text
