"""A first look: two example kernels on three GPUs."""

from __future__ import annotations

from pathlib import Path

import click

import kernelcast
from kernelcast.cli.options import Output, output_options
from kernelcast.errors import InputError

_EXAMPLES = ("saxpy.cu", "matmul_tiled.cu")
_GPUS = ("h100-sxm", "a100-sxm-80gb", "rtx-4090")


@click.command("demo")
@output_options
def command(output: Output) -> None:
    """Predict two example kernels on three GPUs; needs no input and no GPU."""
    from kernelcast import api
    from kernelcast.reporting.documents.demo import demo_document

    machines = [api.machine(name) for name in _GPUS]
    found = []
    for name in _EXAMPLES:
        file = _examples_directory() / name
        output.remark(f"kernelcast predict {file} --gpu {','.join(_GPUS)}")
        cases = api.cases(api.workload(file), machines)
        found.append([api.predict(case) for case in cases])
    output.show(demo_document(found))


def _examples_directory() -> Path:
    """Where the example kernels lie: in the installed package, or beside the sources."""
    package = Path(kernelcast.__file__).parent
    for directory in (package / "examples", package.parents[1] / "examples"):
        if all((directory / name).is_file() for name in _EXAMPLES):
            return directory
    raise InputError("the example kernels are not there", hint="install kernelcast again")
