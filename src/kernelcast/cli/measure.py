"""Measure a GPU, or make the file that does so on another machine."""

from __future__ import annotations

from pathlib import Path

import click

from kernelcast.cli.options import Output, output_options, split_names

_OUT = {False: "raw.json", True: "ground-truth.json"}


@click.command("measure")
@click.option("--pack", metavar="DIR", help="Write DIR/pack.pyz and stop; needs no GPU.")
@click.option(
    "--keep",
    metavar="DIR",
    help="Copy the file that --out names there, with the machine code it measured; needs no GPU.",
)
@click.option(
    "--ground-truth",
    is_flag=True,
    help="Time the kernels with known results instead; with --pack, add them to it.",
)
@click.option(
    "--target",
    "targets",
    metavar="sm_XX[,sm_XX...]",
    callback=lambda ctx, parameter, text: text and split_names(ctx, parameter, text),
    help="With --pack: compile for these.  [default: all]",
)
@click.option(
    "--out",
    metavar="RAW.json",
    help="The file to write.  [default: raw.json, or ground-truth.json]",
)
@click.option("--quick", is_flag=True, help="Fewer points for every benchmark, or fewer kernels.")
@click.option(
    "--only", metavar="NAME", multiple=True, help="Run this benchmark or kernel. Repeatable."
)
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="End after so long.")
@click.option(
    "--device", type=click.IntRange(min=0), default=0, show_default=True, help="Which GPU."
)
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    pack: str | None,
    keep: str | None,
    ground_truth: bool,
    targets: tuple[str, ...] | None,
    out: str | None,
    quick: bool,
    only: tuple[str, ...],
    minutes: float | None,
    device: int,
    output: Output,
) -> None:
    """Run the microbenchmarks on this machine's GPU and write all they measured to RAW.json.

    What RAW.json holds already is not run again. With --pack, one file is made that does the same
    on a machine with a driver and Python 3.10 alone: python3 pack.pyz measure --out RAW.json

    With --ground-truth the kernels with known results are timed instead, after their results have
    been checked: python3 pack.pyz ground-truth. Where NVIDIA's profiler is installed,
    python3 pack.pyz profile has it count what they do.
    """
    from kernelcast.measuring.here import Wanted, measure_here
    from kernelcast.toolchain.cache import Cache

    if pack:
        _make_pack(Path(pack), ground_truth, targets, output)
        return
    file = out or _OUT[ground_truth]
    if keep:
        _keep(file, Path(keep), output)
        return
    wanted = Wanted(quick, only, ground_truth, device, minutes)
    entries = measure_here(Path(file), wanted, quiet=output.quiet, cache=Cache())
    failed = [name for name, entry in entries.items() if entry["status"] != "done"]
    output.show(
        f"{file}: {len(entries)} {wanted.kind}s, {len(failed)} failed",
        {
            "out": file,
            f"{wanted.kind}s": {name: entry["status"] for name, entry in entries.items()},
        },
    )
    if failed:
        ctx.exit(1)


def _make_pack(
    directory: Path, ground_truth: bool, targets: tuple[str, ...] | None, output: Output
) -> None:
    from kernelcast.measuring import ground_truth_pack, pack
    from kernelcast.toolchain.cache import Cache

    chosen, cache = targets or pack.TARGETS, Cache()
    command, more = "measure", {}
    if ground_truth:
        part = ground_truth_pack.ground_truth_part(chosen, cache)
        command, more = "ground-truth", dict(part.contents)
        if part.left_out:
            names = ", ".join(part.left_out)
            output.remark(f"left out, for want of NVIDIA's headers: {names}")
    file = pack.make_pack(directory, chosen, cache, more=more)
    output.show(
        f"{file}: for {', '.join(chosen)}; on the machine with the GPU: "
        f"python3 {file.name} {command} --out {_OUT[ground_truth]}",
        {"pack": str(directory), "files": [str(file)], "targets": list(chosen)},
    )


def _keep(file: str, directory: Path, output: Output) -> None:
    from kernelcast.measuring.keep import keep
    from kernelcast.toolchain.cache import Cache

    files = keep(file, directory, Cache())
    output.show(
        f"{directory}: {len(files)} files",
        {"directory": str(directory), "files": [str(path) for path in files]},
    )
