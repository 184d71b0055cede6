"""A machine file from what was measured on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import Output, complete_list, known_gpus, output_options
from kernelcast.errors import InputError

if TYPE_CHECKING:
    from kernelcast.calibration.calibrate import Calibration

_EXIT_BROKEN = 1


@click.command("calibrate")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--against",
    metavar="NAME",
    shell_complete=complete_list(known_gpus),
    help="Compare with the numbers of this GPU's machine file; a table goes to --pictures, too.",
)
@click.option(
    "--gpu",
    metavar="NAME",
    shell_complete=complete_list(known_gpus),
    help="GPU that tables of gpu-benches are of: they do not say.",
)
@click.option(
    "--repeat",
    metavar="RAW.json",
    type=click.Path(),
    help="A second measurement of the same GPU; exit status 1 where a number has not come back.",
)
@click.option("--out", metavar="FILE.toml", help="Write the machine file there.")
@click.option("--pictures", metavar="DIR", help="Write every fit as a picture, and their table.")
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[str, ...],
    against: str | None,
    gpu: str | None,
    repeat: str | None,
    out: str | None,
    pictures: str | None,
    output: Output,
) -> None:
    """Fit the numbers of a GPU to FILE, which `kernelcast measure` wrote.

    FILE may also be tables of RRZE-HPC/gpu-benches, one of each program, with --gpu. A number whose
    fit leaves too large a residual is left out and named. The machine file is used by its path:
    kernelcast predict k.cu --gpu ./FILE.toml.
    """
    from pathlib import Path

    from kernelcast.calibration.calibrate import calibrate, write_machine
    from kernelcast.calibration.repeats import compare
    from kernelcast.files import write_whole
    from kernelcast.machines.loader import load_machine
    from kernelcast.measuring.raw import read_raw
    from kernelcast.reporting.documents.calibrate import calibrate_document
    from kernelcast.reporting.documents.fits import fits_document
    from kernelcast.reporting.fit_pictures import TABLE, write_fit_pictures
    from kernelcast.reporting.text.calibrate import COMPARISON, comparison_table

    literature = load_machine(against) if against else None
    found = _calibration(files, gpu)
    repeats = compare(found, calibrate(read_raw(repeat))) if repeat else None
    document = calibrate_document(found, literature, repeats)
    if out:
        write_machine(found, out)
        output.remark(f"{out}: {len(found.findings)} numbers")
    if pictures:
        written = write_fit_pictures(fits_document(found), Path(pictures))
        output.remark(f"{pictures}: {len(written) - 1} pictures, and {TABLE}")
        if literature:
            write_whole(Path(pictures) / COMPARISON, comparison_table(document).encode())
    output.show(document)
    if repeats and repeats.apart():
        ctx.exit(_EXIT_BROKEN)


def _calibration(files: tuple[str, ...], gpu: str | None) -> Calibration:
    """Of one raw file, or of tables of the GPU."""
    from kernelcast.calibration.calibrate import calibrate
    from kernelcast.calibration.gpu_benches import calibrate_tables
    from kernelcast.machines.loader import load_machine
    from kernelcast.measurements.gpu_benches import is_table
    from kernelcast.measuring.raw import read_raw

    first, *others = files
    if gpu:
        return calibrate_tables(files, load_machine(gpu))
    if is_table(first):
        raise InputError(
            "a table of gpu-benches does not name its GPU", where=first, hint="give --gpu NAME"
        )
    if others:
        raise InputError(
            f"one raw file expected, {len(files)} files given", where=others[0], hint="give one"
        )
    return calibrate(read_raw(first))
