"""How many warps hide a launch's latency, and what more or fewer would change."""

from __future__ import annotations

from pathlib import Path

import click

from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    Output,
    SamplingFlags,
    SourceFlags,
    gpu_options,
    launch_options,
    output_options,
    parse_numbers,
    sampling_options,
    source_options,
)


@click.command("occupancy-curve")
@click.argument("file", type=click.Path(), required=False)
@click.option("--cusp", "wants_cusp", is_flag=True, help="Volkov's workload instead of FILE.")
@click.option(
    "--alpha",
    "alphas",
    metavar="A[,A...]",
    callback=parse_numbers,
    help="With --cusp: additions per load.  [default: 1 to 512, eight to a doubling]",
)
@click.option(
    "--svg",
    "picture",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write the curves as a picture.",
)
@gpu_options()
@launch_options
@source_options
@sampling_options
@output_options
def command(
    file: str | None,
    wants_cusp: bool,
    alphas: tuple[float, ...] | None,
    picture: Path | None,
    gpus: GpuFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    output: Output,
) -> None:
    """Throughput of the launches of FILE against occupancy, by the volkov model.

    \b
    kernelcast occupancy-curve FILE --gpu t4            does it need more warps than it has?
    kernelcast occupancy-curve --cusp --gpu t4,l4       needed warps over arithmetic intensity
    kernelcast occupancy-curve --cusp --alpha 0,8,49    the same at these additions per load
    """
    if wants_cusp == (file is not None):
        raise click.UsageError(
            "FILE or --cusp expected, not both" if file else "FILE or --cusp expected"
        )
    if file is None:
        _cusps(gpus, alphas, picture, output)
        return
    if alphas is not None:
        raise click.UsageError("--alpha goes with --cusp: FILE has its own additions per load")
    from kernelcast.cli.studies import study
    from kernelcast.exploration.occupancy_curve import occupancy_curve
    from kernelcast.reporting.occupancy_curve import curve_chart, curves_dict, render_curves
    from kernelcast.reporting.svg import write_svg

    curves = [occupancy_curve(c) for c in study(file, gpus, source, launch, sampling, output)]
    if picture:
        write_svg(picture, [curve_chart(c) for c in curves])
    output.show(render_curves(curves, detail=not output.quiet), curves_dict(curves))


def _cusps(
    gpus: GpuFlags, alphas: tuple[float, ...] | None, picture: Path | None, output: Output
) -> None:
    from kernelcast.exploration.cusp import ALPHAS, cusp
    from kernelcast.reporting.cusp import cusp_chart, cusps_dict, render_cusps
    from kernelcast.reporting.svg import write_svg

    cusps = [cusp(machine, ALPHAS if alphas is None else alphas) for machine in gpus.machines()]
    if picture:
        write_svg(picture, [cusp_chart(cusps)])
    output.show(render_cusps(cusps, detail=not output.quiet), cusps_dict(cusps))
