"""Capacities of the simulated caches beside those that were measured."""

from __future__ import annotations

from pathlib import Path

import click

from kernelcast.cli.options import (
    GpuFlags,
    Output,
    SourceFlags,
    gpu_options,
    output_options,
    source_options,
)


@click.command("capacities")
@click.argument("table", metavar="TABLE", type=click.Path())
@click.option(
    "--workload",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path),
    help="As measurements/public/chase.cu, read_again.cu or read_parts.cu, by the table.",
)
@gpu_options(required=True, one=True)
@source_options
@output_options
def command(
    table: str, workload: Path, gpus: GpuFlags, source: SourceFlags, output: Output
) -> None:
    """Footprints at which caches overflow: simulated, beside a table of gpu-benches.

    Tables are of gpu-latency, gpu-cache or gpu-l2-cache. A capacity lies where the time of an
    access is halfway between two of its levels, as a ratio.
    """
    from kernelcast.cli.progress import progress_bar
    from kernelcast.reporting.documents.capacities import capacities_document
    from kernelcast.validation.capacities import validate_capacities

    chip = gpus.machine()
    with progress_bar("simulating", output.quiet) as progress:
        found = validate_capacities(table, workload, chip, build=source.build(), progress=progress)
    output.show(capacities_document(found, chip.name, chip.title))
