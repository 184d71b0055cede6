"""What every bottleneck of a launch costs."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

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
    split_names,
)


def _complete(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Shell completion of the last name, behind a comma or a plus."""
    from kernelcast.simulation.removals import Removal

    at = 1 + max(typed.rfind(","), typed.rfind("+"))
    begun = typed[at:]
    return [CompletionItem(typed[:at] + name) for name in Removal if name.startswith(begun)]


def _split(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...]:
    return () if text is None else split_names(context, parameter, text)


@click.command("what-if")
@file_argument
@click.option(
    "--remove",
    "names",
    metavar="NAME[+NAME...][,...]",
    callback=_split,
    shell_complete=_complete,
    help="Bottlenecks to remove, joined by + where together.  [default: each that there is]",
)
@click.option("--pairs", is_flag=True, help="Remove every two of them together, too.")
@gpu_options()
@model_options("teg")
@launch_options
@source_options
@sampling_options
@caches_option
@output_options
def command(
    file: str,
    names: tuple[str, ...],
    pairs: bool,
    gpus: GpuFlags,
    models: ModelFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    caches: str | None,
    output: Output,
) -> None:
    """What the launches of FILE gain without each of their bottlenecks.

    \b
    kernelcast what-if FILE
    kernelcast what-if FILE --remove bank-conflicts,barriers --pairs
    kernelcast what-if FILE --remove bank-conflicts+barriers --gpu a100-sxm-80gb
    """
    from kernelcast.cli.progress import progress_bar
    from kernelcast.cli.studies import study
    from kernelcast.exploration.what_if import read_removals, simulating_model, what_if
    from kernelcast.reporting.documents.what_if import what_if_document

    removals = read_removals(names)
    model = simulating_model(models.models())
    cases = study(file, gpus, source, launch, sampling, output, caches)
    with progress_bar("simulating", output.quiet) as progress:
        found = [what_if(c, model, removals, pairs=pairs, progress=progress) for c in cases]
    output.show(what_if_document(found))
