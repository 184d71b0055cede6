"""The synthetic workload of latency hiding: its numbers on GPUs, and its kernel in CUDA."""

from __future__ import annotations

from pathlib import Path

import click

from kernelcast.cli.options import GpuFlags, Output, gpu_options, output_options

_KINDS = ("streaming", "strided", "random", "cached", "shared", "sfu")


@click.command("mix")
@click.option(
    "--alpha",
    type=float,
    default=8.0,
    show_default=True,
    metavar="A",
    help="Additions per slow instruction; inf for additions alone.",
)
@click.option(
    "--kind",
    type=click.Choice(_KINDS),
    default="streaming",
    show_default=True,
    help="The slow instruction: a load from memory (the first four) or shared memory, or a root.",
)
@click.option(
    "--ways",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Strided: words from lane to lane. Shared: lanes that want the same bank.",
)
@click.option(
    "--ilp", type=int, default=1, show_default=True, metavar="N", help="Independent chains, 1 to 8."
)
@click.option(
    "--cuda",
    "out",
    type=click.Path(path_type=Path),
    metavar="OUT.cu",
    help="Write the kernel, with its launches, for `kernelcast predict OUT.cu --exact`.",
)
@click.option("--blocks", type=int, default=264, show_default=True, help="Blocks of that kernel.")
@click.option("--threads", type=int, default=128, show_default=True, help="Threads of a block.")
@click.option(
    "--iterations", type=int, default=1, show_default=True, help="Turns of the kernel's loop."
)
@gpu_options()
@output_options
def command(
    alpha: float,
    kind: str,
    ways: int,
    ilp: int,
    out: Path | None,
    blocks: int,
    threads: int,
    iterations: int,
    gpus: GpuFlags,
    output: Output,
) -> None:
    """Latency and throughput of additions and slow instructions that each wait for the last.

    \b
    kernelcast mix --alpha 8 --kind shared --ways 4 --gpu gtx-680,h100-sxm
    kernelcast mix --alpha 8 --kind random --cuda mix.cu
    """
    from kernelcast.files import write_whole
    from kernelcast.models.terms.mix import Mix, MixKind
    from kernelcast.reporting.mix import mix_dict, mix_rows, render_mix
    from kernelcast.validation.mix_kernel import mix_kernel

    mix = Mix(alpha, MixKind(kind), ways, ilp)
    rows = mix_rows(gpus.machines(), mix)
    if out is not None:
        made = mix_kernel(mix, blocks=blocks, threads=threads, iterations=iterations)
        write_whole(out, made.source.encode())
    output.show(render_mix(mix, rows), mix_dict(mix, rows))
