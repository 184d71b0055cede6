"""The kernels with known results: what is counted of them beside what a profiler counted."""

from __future__ import annotations

import click

from kernelcast.cli.options import GpuFlags, Output, gpu_options, output_options


@click.command("counters")
@click.argument("file", metavar="PROFILES.json", type=click.Path())
@gpu_options(required=True)
@click.option("--only", metavar="KERNEL", multiple=True, help="Execute this kernel. Repeatable.")
@output_options
def command(file: str, gpus: GpuFlags, only: tuple[str, ...], output: Output) -> None:
    """Counted instructions, sectors and bytes beside those that a profiler read.

    PROFILES.json is what `python3 pack.pyz profile` wrote, by the file that `kernelcast measure
    --pack DIR --ground-truth` makes, on the GPU called NAME.
    """
    from kernelcast.cli.progress import progress_bar
    from kernelcast.measuring.ground_truth_profile import read_profile
    from kernelcast.reporting.documents.counters import counters_document
    from kernelcast.validation.counter_scores import counter_scores
    from kernelcast.validation.judging import nothing_compared, of_kernels
    from kernelcast.validation.profiled import execute_profiled

    found = read_profile(file)
    chosen = of_kernels(found.profiled, only, file)
    chip = gpus.machine()
    with progress_bar("executing", output.quiet) as progress:
        pairs, missing = execute_profiled(chosen, chip, progress)
    scores = counter_scores(pairs)
    if not only:
        missing = [*found.missing, *missing]
    if not scores:
        raise nothing_compared(file, missing)
    output.show(counters_document(scores, found.device, chip.name, chip.title, missing))
