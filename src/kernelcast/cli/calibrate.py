"""A machine file from what was measured on a GPU."""

from __future__ import annotations

import click

from kernelcast.cli.options import Output, output_options


@click.command("calibrate")
@click.argument("file", metavar="RAW.json", type=click.Path())
@click.option("--out", metavar="FILE.toml", help="Write the machine file there.")
@output_options
def command(file: str, out: str | None, output: Output) -> None:
    """Fit the numbers of a GPU to RAW.json, which `kernelcast measure` wrote.

    A number whose fit leaves too large a residual is left out and named. The machine file is used
    by its path: kernelcast predict k.cu --gpu ./FILE.toml.
    """
    from kernelcast.calibration.calibrate import calibrate, write_machine
    from kernelcast.calibration.raw import read_raw
    from kernelcast.reporting.calibration import calibration_dict, render_calibration

    found = calibrate(read_raw(file))
    if out:
        write_machine(found, out)
        output.remark(f"{out}: {len(found.findings)} numbers")
    output.show(render_calibration(found, brief=output.quiet), calibration_dict(found))
