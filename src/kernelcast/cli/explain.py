"""One prediction in depth: terms, lines, instructions."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import click

from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    ModelFlags,
    Output,
    SamplingFlags,
    SourceFlags,
    caches_option,
    file_argument,
    gpu_options,
    launch_options,
    model_options,
    output_options,
    sampling_options,
    source_options,
    timeline_option,
    transfers_option,
)
from kernelcast.errors import InputError, UnsupportedError


@click.command("explain")
@file_argument
@click.option(
    "--launch",
    "number",
    type=click.IntRange(min=1),
    metavar="N",
    help="The launch to explain, counted from 1, where FILE has several.",
)
@gpu_options(one=True)
@model_options()
@launch_options
@source_options
@sampling_options
@caches_option
@transfers_option
@timeline_option
@output_options
def command(
    file: str,
    number: int | None,
    gpus: GpuFlags,
    models: ModelFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    caches: str | None,
    transfers: str | None,
    timeline: str | None,
    output: Output,
) -> None:
    """Explain one prediction: the model's terms, and the cost of every line and instruction."""
    from kernelcast.cli.studies import backgrounds, copy_plan, forecasts, study, write_timeline
    from kernelcast.isas.assembly import is_machine_code
    from kernelcast.reporting.documents.explain import explain_document
    from kernelcast.reporting.documents.report import page_of
    from kernelcast.traces.recognise import is_trace

    gpus.machine()
    models.one()
    cases = study(file, gpus, source, launch, sampling, output, caches)
    if number is None and len(cases) > 1:
        raise InputError(f"{len(cases)} launches", where=file, hint="choose one with --launch N")
    if number is not None and number > len(cases):
        raise InputError(f"no launch {number}", where=file, hint=f"the last is {len(cases)}")
    at = (number or 1) - 1
    (found,) = forecasts([cases[at]], models, output)
    write_timeline(timeline, [found])
    ptx = None
    is_more_asked = output.as_json or not output.quiet
    if is_more_asked and is_machine_code(found.case.kernel) and not is_trace(Path(file)):
        with contextlib.suppress(UnsupportedError):
            as_ptx = replace(source, isa="ptx")
            ptx = study(file, gpus, as_ptx, launch, sampling, output, caches)[at].profile
    copies = copy_plan(file, source, launch, transfers)
    document = explain_document(found, ptx, copies)
    output.show(document, lambda: page_of([document], backgrounds=backgrounds([found], output)))
