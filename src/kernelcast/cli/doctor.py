"""What this installation can and cannot do."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from kernelcast.cli.options import Output, output_options
from kernelcast.errors import KernelcastError, ToolError
from kernelcast.reporting.documents.doctor import DoctorDocument, InstalledPart
from kernelcast.version import VERSION


@click.command("doctor")
@output_options
def command(output: Output) -> None:
    """Say what this installation can and cannot do, and what would mend it."""
    output.show(DoctorDocument(list(findings())))


def findings() -> Iterator[InstalledPart]:
    """Examine every part of the installation."""
    yield InstalledPart(
        "kernelcast",
        True,
        f"{VERSION} on Python {sys.version.split()[0]}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
    )
    yield from _compilers()
    yield _disassembler()
    yield from _virtual_gpu()
    for package, use, install in (
        ("llvmlite", "fast execution", "llvmlite"),
        ("numba", "counting of traces", "numba"),
        ("pycparser", "reading of C loops", "'kernelcast[c]'"),
        ("islpy", "dependences of C loops", "'kernelcast[c]'"),
    ):
        yield _package(package, use, install)
    yield _cache()
    yield _data()


def _compilers() -> Iterator[InstalledPart]:
    from kernelcast.toolchain.nvrtc import INSTALL, LIBRARIES, Nvrtc
    from kernelcast.toolchain.wheels import find_in_wheels

    libraries = [Nvrtc(path) for path in find_in_wheels(*LIBRARIES)]
    if not libraries:
        yield InstalledPart("NVRTC", False, "no CUDA C++, only PTX", INSTALL)
    for library in libraries:
        try:
            targets = ", ".join(f"sm_{a}" for a in library.architectures)
            name = ".".join(map(str, library.version))
            yield InstalledPart("NVRTC", True, f"{name}, compiles for {targets}")
        except KernelcastError as error:
            yield InstalledPart("NVRTC", False, error.what, error.hint)


def _disassembler() -> InstalledPart:
    from kernelcast.toolchain.nvdisasm import nvdisasm_paths

    try:
        found = nvdisasm_paths()
    except ToolError as error:
        return InstalledPart("nvdisasm", False, "not installed", error.hint)
    return InstalledPart("nvdisasm", True, f"{', '.join(map(str, found))}, for machine code")


def _virtual_gpu() -> Iterator[InstalledPart]:
    from kernelcast.devices.libraries import compiler, find_libraries
    from kernelcast.devices.shim.build import NEWEST_RUNTIME
    from kernelcast.toolchain.nvcc import find_host_compiler, find_nvcc

    try:
        folder = find_libraries()
        state = (
            f"the libraries of the virtual GPU are there; build programs for it with "
            f'NVCC_APPEND_FLAGS="-cudart none -L{folder} -l:{NEWEST_RUNTIME}"'
            if folder
            else f"the libraries of the virtual GPU will be made with {Path(compiler()[0]).name}"
        )
        yield InstalledPart("run PROGRAM", True, state)
    except KernelcastError as error:
        yield InstalledPart("run PROGRAM", False, error.what, error.hint)
    try:
        nvcc, host = find_nvcc(), find_host_compiler()
        yield InstalledPart("run FILE.cu", True, f"compiled by {nvcc} and {host}")
    except KernelcastError as error:
        yield InstalledPart("run FILE.cu", False, error.what, error.hint)


def _package(name: str, use: str, install: str) -> InstalledPart:
    try:
        return InstalledPart(name, True, f"{version(name)}: {use}")
    except PackageNotFoundError:
        return InstalledPart(name, False, f"no {use}", f"pip install {install}")


def _cache() -> InstalledPart:
    from kernelcast.toolchain.cache import default_directory

    directory = default_directory()
    existing = next(p for p in (directory, *directory.parents) if p.exists())
    if existing.is_dir() and os.access(existing, os.W_OK):
        return InstalledPart("cache", True, f"{directory}, {_size(directory)}")
    return InstalledPart(
        "cache",
        False,
        f"{directory} cannot be written: every run compiles again",
        "set KERNELCAST_CACHE to a directory that can",
    )


def _size(directory: Path) -> str:
    from kernelcast.reporting.figures import size

    return size(sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()))


def _data() -> InstalledPart:
    from kernelcast.machines.loader import machine_names
    from kernelcast.models import model_names

    models = model_names()
    return InstalledPart(
        "forecasts", True, f"{len(machine_names())} GPUs; models: {', '.join(models)}"
    )
