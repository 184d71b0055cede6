"""What every warp did, as a file; or what such a file holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    Output,
    SamplingFlags,
    SourceFlags,
    file_argument,
    gpu_options,
    launch_options,
    output_options,
    sampling_options,
    source_options,
)
from kernelcast.errors import InputError

if TYPE_CHECKING:
    from kernelcast.execution.consumers import Consumer
    from kernelcast.traces.stored import TraceHead

    _Feed = Callable[[Sequence[Consumer]], None]

_OWN, _ACCEL_SIM = "own", "accel-sim"
_MAKER = "kernelcast"


@click.command("trace")
@file_argument
@click.option("--out", metavar="PATH", help="The file, or for accel-sim the folder, to write.")
@click.option(
    "--format",
    "form",
    type=click.Choice([_OWN, _ACCEL_SIM]),
    default=_OWN,
    show_default=True,
    help="How to write it.",
)
@click.option(
    "--launch",
    "number",
    type=click.IntRange(min=1),
    metavar="N",
    help="The launch to trace, counted from 1, where FILE has several.",
)
@gpu_options(one=True)
@launch_options
@source_options
@sampling_options
@output_options
def command(
    file: str,
    out: str | None,
    form: str,
    number: int | None,
    gpus: GpuFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    output: Output,
) -> None:
    """Trace a launch of FILE and write the trace to PATH; or tell what a trace holds.

    FILE is what predict takes, or a trace: one of this command, one written by hand, a .traceg of
    Accel-Sim, its kernelslist.g or their folder. A launch is executed for 32 of its blocks where
    neither --exact nor --sample says otherwise. Without --out, nothing is written.
    """
    from kernelcast.cli.studies import refuse_execution_options
    from kernelcast.profiling.stored import builder_for
    from kernelcast.reporting.documents.trace import trace_document
    from kernelcast.traces.recognise import is_trace

    if form == _ACCEL_SIM and not out:
        raise InputError(f"--format {form} without a place", hint="name a new folder with --out")
    if is_trace(Path(file)):
        refuse_execution_options(file, "gpu", "settings")
        head, maker, feed = _stored(file, number)
    else:
        head, maker, feed = _executed(file, number, gpus, source, launch, sampling, output)
    builder = builder_for(head)
    with _writer(out, form, head, maker, output) as writer:
        feed([builder] if writer is None else [builder, writer])
    profile = builder.finish(executor=maker)
    size = _size(Path(out)) if out else None
    output.show(trace_document(profile, maker, out, form, size))


def _stored(file: str, number: int | None) -> tuple[TraceHead, str, _Feed]:
    """A trace to be read."""
    from kernelcast.traces.open import open_trace

    trace = open_trace(Path(file), number)

    def feed(consumers: Sequence[Consumer]) -> None:
        for words in trace.words():
            for consumer in consumers:
                consumer.consume(words)

    return trace.head, trace.maker, feed


def _executed(
    file: str,
    number: int | None,
    gpus: GpuFlags,
    source: SourceFlags,
    launch: LaunchOptions,
    sampling: SamplingFlags,
    output: Output,
) -> tuple[TraceHead, str, _Feed]:
    """A launch to be executed."""
    from kernelcast import api
    from kernelcast.cli.progress import progress_bar
    from kernelcast.forecasting.runs import head_of, run_of_workload

    machine, build = gpus.machine(), source.build()
    work = api.workload(file, launch.flags(source))
    if number is None and len(work.launches) > 1:
        raise InputError(
            f"{len(work.launches)} launches", where=file, hint="choose one with --launch N"
        )
    if number is not None and number > len(work.launches):
        raise InputError(
            f"no launch {number}", where=file, hint=f"the last is {len(work.launches)}"
        )

    run, reason = run_of_workload(work, number or 1, machine, build, sampling.sampling())
    if reason:
        output.remark(f"PTX is traced, not the machine code: {reason}")

    def feed(consumers: Sequence[Consumer]) -> None:
        with progress_bar("executing", output.quiet) as progress:
            run.execute(*consumers, progress=progress)

    return head_of(run), _MAKER, feed


def _writer(
    out: str | None, form: str, head: TraceHead, maker: str, output: Output
) -> AbstractContextManager[Consumer | None]:
    """What takes the words; None where nothing is to be written."""
    if out is None:
        return nullcontext()
    if form == _ACCEL_SIM:
        from kernelcast.traces.accel_sim.export import export_trace

        return export_trace(Path(out), head, output.remark)
    from kernelcast.traces.file import write_trace

    return write_trace(Path(out), head, maker)


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)
