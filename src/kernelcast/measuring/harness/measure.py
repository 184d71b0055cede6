"""The command that runs the microbenchmarks."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .archive import Archive, CompiledCode
from .compiling import compile_here, compiled_before
from .gpu import open_gpu
from .gpu_state import held_down, open_monitor
from .microbenchmarks import BENCHMARKS
from .runner import DEVICE, MeasuringTask, RawKind, described
from .session import Session
from .worker import Entry, now

SCHEMA = "kernelcast/raw/1"
SUITE = "1"
"""Version of the microbenchmarks and of what they record."""
MICROBENCHMARKS = RawKind(SCHEMA, SUITE, "benchmarks")
FOLDER = "microbenchmarks"
"""Where their sources and their code lie in the pack."""
_COMPILED = "compiled"
"""The folder beside the pack with what is compiled on the machine itself."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that this command alone has."""
    about = "compile here, with this nvcc; default: the pack's code"
    parser.add_argument("--nvcc", nargs="?", const="nvcc", metavar="PROGRAM", help=about)


def program(archive: Archive, options: argparse.Namespace) -> MeasuringTask:
    """The microbenchmarks, by the code of the pack or what this machine's compiler makes."""

    def code(device: Mapping[str, Any]) -> CompiledCode:
        if not options.nvcc:
            return archive.code(FOLDER, device)
        return compile_here(options.nvcc, archive.below(FOLDER, ".cu"), _compiled(archive), device)

    return MeasuringTask(
        kind=MICROBENCHMARKS,
        known=tuple(BENCHMARKS),
        chosen=options.only or tuple(BENCHMARKS),
        code=code,
        entries=lambda: _entries(archive, options),
        options=("--nvcc", options.nvcc) if options.nvcc else (),
    )


def _compiled(archive: Archive) -> Path:
    return archive.path.absolute().with_name(_COMPILED)


def _entries(archive: Archive, options: argparse.Namespace) -> Callable[[str], Entry]:
    gpu = open_gpu(options.device)
    monitor = open_monitor(gpu.properties["pci_bus_id"])

    def entry(name: str) -> Entry:
        return described(gpu, monitor) if name == DEVICE else run_benchmark(session(), name)

    @cache
    def session() -> Session:
        device = gpu.properties
        here = compiled_before(_compiled(archive), device) if options.nvcc else None
        return Session(gpu, here or archive.code(FOLDER, device), options.quick, monitor)

    return entry


def run_benchmark(session: Session, name: str) -> dict[str, Any]:
    """One entry of the file: the samples, and how the GPU was before and after."""
    begin, late = time.monotonic(), session.late
    before_hz, before = session.settled_clock_hz(), session.state()
    samples = list(BENCHMARKS[name](session))
    after = session.state()
    return {
        "status": "done",
        "date": now(),
        "took_s": round(time.monotonic() - begin, 3),
        "clock_before_hz": before_hz,
        "clock_after_hz": session.clock_hz(),
        "state_before": before,
        "state_after": after,
        "held_down": held_down(before, after),
        "late_launches": session.late - late,
        "samples": samples,
    }
