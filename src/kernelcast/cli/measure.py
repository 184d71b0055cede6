"""Measure a GPU, or make the folder that does so on another machine."""

from __future__ import annotations

import click

from kernelcast.cli.options import Output, output_options


@click.command("measure")
@click.option("--pack", metavar="DIR", help="Make the folder and stop; needs no GPU.")
@click.option(
    "--out", metavar="RAW.json", default="raw.json", show_default=True, help="The file to write."
)
@click.option("--quick", is_flag=True, help="Fewer points for every benchmark.")
@click.option("--only", metavar="NAME", multiple=True, help="Run this benchmark. Repeatable.")
@click.option(
    "--device", type=click.IntRange(min=0), default=0, show_default=True, help="Which GPU."
)
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    pack: str | None,
    out: str,
    quick: bool,
    only: tuple[str, ...],
    device: int,
    output: Output,
) -> None:
    """Run the microbenchmarks on this machine's GPU and write all they measured to RAW.json.

    What RAW.json holds already is not run again. With --pack, a folder is made that does the same
    on a machine with a driver and Python 3.10 alone: python3 DIR/measure.py --out RAW.json
    """
    from pathlib import Path

    from kernelcast.calibration.here import measure_here
    from kernelcast.calibration.pack import TARGETS, make_pack
    from kernelcast.toolchain.cache import Cache

    if pack:
        files = make_pack(Path(pack), cache=Cache())
        output.show(
            f"{pack}: {len(files)} files for {', '.join(TARGETS)}; "
            f"on the machine with the GPU: python3 {Path(pack).name}/measure.py --out {out}",
            {"pack": pack, "files": [str(file) for file in files], "targets": list(TARGETS)},
        )
        return
    content = measure_here(
        Path(out), quick=quick, only=only, ordinal=device, quiet=output.quiet, cache=Cache()
    )
    entries = content["benchmarks"]
    failed = [name for name, entry in entries.items() if entry["status"] != "done"]
    output.show(
        f"{out}: {len(entries)} benchmarks, {len(failed)} failed",
        {"out": out, "benchmarks": {name: entry["status"] for name, entry in entries.items()}},
    )
    if failed:
        ctx.exit(1)
