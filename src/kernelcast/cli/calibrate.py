"""A machine file from what was measured on a GPU."""

from __future__ import annotations

import click

from kernelcast.cli.options import Output, output_options


@click.command("calibrate")
@click.argument("file", metavar="RAW.json", type=click.Path())
@click.option("--out", metavar="FILE.toml", help="Write the machine file there.")
@click.option("--pictures", metavar="DIR", help="Write every fit as a picture, and their table.")
@output_options
def command(file: str, out: str | None, pictures: str | None, output: Output) -> None:
    """Fit the numbers of a GPU to RAW.json, which `kernelcast measure` wrote.

    A number whose fit leaves too large a residual is left out and named. The machine file is used
    by its path: kernelcast predict k.cu --gpu ./FILE.toml.
    """
    from pathlib import Path

    from kernelcast.calibration.calibrate import calibrate, write_machine
    from kernelcast.calibration.raw import read_raw
    from kernelcast.reporting.calibration import calibration_dict, render_calibration
    from kernelcast.reporting.fit_pictures import TABLE, write_fit_pictures

    found = calibrate(read_raw(file))
    if out:
        write_machine(found, out)
        output.remark(f"{out}: {len(found.findings)} numbers")
    if pictures:
        files = write_fit_pictures(found, Path(pictures))
        output.remark(f"{pictures}: {len(files) - 1} pictures, and {TABLE}")
    output.show(render_calibration(found, brief=output.quiet), calibration_dict(found))
