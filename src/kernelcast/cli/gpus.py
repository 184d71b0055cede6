"""The GPUs that are known: a list, or every number of one with its source."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from kernelcast.cli.options import Output, known_gpus, output_options


def _complete(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Shell completion of a GPU's name."""
    return [CompletionItem(name) for name in known_gpus() if name.startswith(typed)]


@click.command("gpus")
@click.argument("name", default="", shell_complete=_complete)
@click.option("--arch", metavar="NAME", default="", help="List one architecture, e.g. hopper.")
@click.option(
    "--set",
    "settings",
    metavar="PATH=VALUE",
    multiple=True,
    help="Replace a number of the GPU shown, e.g. dram.bandwidth=2.0e12. Repeatable.",
)
@output_options
def command(name: str, arch: str, settings: tuple[str, ...], output: Output) -> None:
    """List the known GPUs, or show all numbers of one with unit, kind and source.

    NAME may be the path of a machine file (.toml).
    """
    from kernelcast.errors import InputError, NotFoundError
    from kernelcast.machines.loader import apply_overrides, load_machine, machine_names
    from kernelcast.reporting.documents.gpu import gpu_document
    from kernelcast.reporting.documents.gpus import gpus_document

    if name:
        if arch:
            raise InputError("--arch filters the list, it does not go with a name", where="--arch")
        output.show(gpu_document(apply_overrides(load_machine(name), settings)))
        return
    if settings:
        raise InputError("--set needs the name of a GPU", where="--set")
    machines = [load_machine(known) for known in machine_names()]
    if arch:
        architectures = {machine.architecture.lower() for machine in machines}
        if arch.lower() not in architectures:
            raise NotFoundError("architecture", arch, architectures, where="--arch")
        machines = [m for m in machines if m.architecture.lower() == arch.lower()]
    machines.sort(key=lambda machine: (machine.compute_capability, machine.name))
    output.show(gpus_document(machines))
