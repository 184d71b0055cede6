"""What this installation can and cannot do."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import Output, output_options
from kernelcast.errors import KernelcastError

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of the installation; `advice` is empty where it works."""

    part: str
    works: bool
    detail: str
    advice: str = ""


@click.command("doctor")
@output_options
def command(output: Output) -> None:
    """Say what this installation can and cannot do, and what would mend it."""
    found = list(findings())
    output.show(_view(found), {"findings": [asdict(f) for f in found]})


def findings() -> Iterator[Finding]:
    """Examine every part of the installation."""
    yield Finding(
        "kernelcast",
        True,
        f"{version('kernelcast')} on Python {sys.version.split()[0]}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
    )
    yield from _compilers()
    yield _disassembler()
    for package, use in (("llvmlite", "fast execution"), ("numba", "counting of traces")):
        yield _package(package, use)
    yield _cache()
    yield _data()


def _compilers() -> Iterator[Finding]:
    from kernelcast.toolchain.nvrtc import INSTALL, LIBRARIES, Nvrtc
    from kernelcast.toolchain.wheels import find_in_wheels

    libraries = [Nvrtc(path) for path in find_in_wheels(*LIBRARIES)]
    if not libraries:
        yield Finding("NVRTC", False, "no CUDA C++, only PTX", INSTALL)
    for library in libraries:
        try:
            targets = ", ".join(f"sm_{a}" for a in library.architectures)
            name = ".".join(map(str, library.version))
            yield Finding("NVRTC", True, f"{name}, compiles for {targets}")
        except KernelcastError as error:
            yield Finding("NVRTC", False, error.what, error.hint)


def _disassembler() -> Finding:
    from kernelcast.toolchain.wheels import find_in_wheels

    if found := find_in_wheels("cu*/bin/nvdisasm"):
        return Finding("nvdisasm", True, f"{found[-1]}, for machine code")
    return Finding("nvdisasm", False, "not installed", "pip install nvidia-cuda-nvdisasm")


def _package(name: str, use: str) -> Finding:
    try:
        return Finding(name, True, f"{version(name)}: {use}")
    except PackageNotFoundError:
        return Finding(name, False, f"no {use}", f"pip install {name}")


def _cache() -> Finding:
    from kernelcast.toolchain.cache import default_directory

    directory = default_directory()
    existing = next(p for p in (directory, *directory.parents) if p.exists())
    if existing.is_dir() and os.access(existing, os.W_OK):
        return Finding("cache", True, f"{directory}, {_size(directory)}")
    return Finding(
        "cache",
        False,
        f"{directory} cannot be written: every run compiles again",
        "set KERNELCAST_CACHE to a directory that can",
    )


def _size(directory: Path) -> str:
    from kernelcast.reporting.figures import size

    return size(sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()))


def _data() -> Finding:
    from kernelcast.machines.loader import machine_names
    from kernelcast.models import model_names

    models = model_names()
    return Finding("forecasts", True, f"{len(machine_names())} GPUs; models: {', '.join(models)}")


def _view(found: list[Finding]) -> RenderableType:
    from rich.text import Text

    from kernelcast.reporting.layout import columns

    names = ("part", "state", "detail")
    table = columns(*names, left=names)
    table.columns[2].no_wrap = False
    for finding in found:
        state = Text("ok", style="green") if finding.works else Text("missing", style="red")
        advice = f"; {finding.advice}" if finding.advice else ""
        table.add_row(finding.part, state, Text(finding.detail + advice))
    return table
