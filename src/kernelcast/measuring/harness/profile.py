"""The command that has NVIDIA's profiler (ncu) count what the kernels with known results do.

The profiler launches a kernel again and again until it has counted all, each time with cold caches
and at the clock that the GPU has. Where no profiler is there, or it may not count, is recorded.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .archive import Archive
from .gpu import open_gpu
from .gpu_driver import GpuError
from .gpu_state import open_monitor
from .ground_truth import QUICK_CONFIGURATIONS, launch_record, open_bench
from .ground_truth_arrays import GroundTruthTable
from .runner import DEVICE, MeasuringTask, RawKind, described
from .worker import Entry, now

SCHEMA = "kernelcast/ground-truth-profile/1"
LAUNCH = "launch"
"""The command whose launches the profiler sees."""
_SECTIONS = (
    "SpeedOfLight",
    "LaunchStats",
    "Occupancy",
    "InstructionStats",
    "SchedulerStats",
    "WarpStateStats",
    "ComputeWorkloadAnalysis",
    "MemoryWorkloadAnalysis",
    "MemoryWorkloadAnalysis_Tables",
)
"""Sections of Nsight Compute: cycles, occupancy, instructions, pipes, stalls, sectors, hits."""
_PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")
_REFUSALS = ("NVGPUCTRPERM", "initialize the profiler", "not supported")
"""What a profiler says that may not count on this machine, or cannot."""
_UNITS = ("gpu__time", "gpc__", "sm__", "smsp__", "l1tex__", "lts__", "dram__", "launch__")
"""How the names of the metrics begin that are kept."""
_SHARES = ("throughput", "pct_of_peak_sustained_elapsed")
"""What the names of metrics contain that only restate others."""


def _profiler(named: str | None) -> str:
    """The profiler's program; GpuError where there is none."""
    found = shutil.which(named or "ncu")
    if found is None and not named:
        places = (Path(place) for place in _PLACES)
        files = [f for p in places for f in sorted(Path("/").glob(str(p.relative_to("/"))))]
        found = str(files[-1]) if files else None
    if found is None:
        raise GpuError("no profiler", f"{named or 'ncu'} is not on this machine")
    return found


def metrics_of(log: str) -> list[dict[str, float]]:
    """The numbers of every profiled launch out of what the profiler wrote, in its basic units.

    Behind lines about its work follow a header, a row of units without an ID, and a row for every
    launch.
    """
    lines = log.splitlines()
    first = next((i for i, text in enumerate(lines) if text.startswith('"ID"')), len(lines))
    rows = csv.reader(text for text in lines[first:] if text.startswith('"'))
    header = next(rows, [])
    return [_numbers(dict(zip(header, row, strict=False))) for row in rows if row[0]]


def _numbers(row: dict[str, str]) -> dict[str, float]:
    found = {}
    for name, text in row.items():
        if name.startswith(_UNITS) and not any(share in name for share in _SHARES):
            try:
                found[name] = float(text.replace(",", ""))
            except ValueError:
                continue
    return found


def _errors_of(log: str) -> str:
    """What the profiler complains of."""
    return "; ".join(
        text.partition("==ERROR==")[2].strip() for text in log.splitlines() if "==ERROR==" in text
    )


def _profiled(
    archive: Archive, table: GroundTruthTable, options: argparse.Namespace, name: str
) -> Entry:
    """One entry of the file: the launch and the metrics of every configuration."""
    begin = time.monotonic()
    kernel = table.kernels[name]
    numbers = _numbers_of(kernel, options.quick)
    with tempfile.TemporaryDirectory(prefix="kernelcast-") as folder:
        file = Path(folder) / "log"
        done = subprocess.run(
            _watched(archive, options, name, file),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        log = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    found = metrics_of(log)
    if len(found) != len(numbers):
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GpuError(
            "no profiler" if any(text in log for text in _REFUSALS) else "failed",
            _errors_of(log) or (told or [f"{len(found)} of {len(numbers)} were profiled"])[-1],
        )
    return {
        "status": "done",
        "date": now(),
        "family": kernel["family"],
        "took_s": round(time.monotonic() - begin, 3),
        "samples": [
            {**launch_record(kernel["configurations"][number], number), "metrics": metrics}
            for number, metrics in zip(numbers, found, strict=True)
        ],
    }


def _numbers_of(kernel: Mapping[str, Any], quick: bool) -> range:
    """The configurations of a kernel that are profiled."""
    return range(len(kernel["configurations"]))[: QUICK_CONFIGURATIONS if quick else None]


def _watched(archive: Archive, options: argparse.Namespace, name: str, log: Path) -> list[str]:
    """The command under which a kernel's launches are profiled."""
    flags = ["--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log)]
    # The clocks belong to whoever has the machine; caches are cold as in what is timed.
    flags += ["--clock-control", "none", "--cache-control", "all", "--profile-from-start", "off"]
    flags += [word for section in _SECTIONS for word in ("--section", section)]
    launch = [sys.executable, str(archive.path), LAUNCH, name, "--device", str(options.device)]
    return [_profiler(options.ncu), *flags, *launch, *(["--quick"] if options.quick else [])]


def launch(archive: Archive, options: argparse.Namespace) -> int:
    """Launch every configuration of a kernel once; a profiler sees nothing else."""
    bench = open_bench(open_gpu(options.device), archive, options.quick)
    kernel = bench.table.kernels[options.kernel]
    for number in _numbers_of(kernel, options.quick):
        chosen = kernel["configurations"][number]
        with bench.launched(kernel["family"], chosen, "full") as one:
            bench.gpu.wait()
            bench.gpu.launch_profiled(one.work)
    return 0


def add_launch_options(parser: argparse.ArgumentParser) -> None:
    """The options of what the profiler watches."""
    parser.add_argument("kernel")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--quick", action="store_true")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that this command alone has."""
    parser.add_argument("--ncu", metavar="PROGRAM", help="the profiler; default: looked for")


def program(archive: Archive, options: argparse.Namespace) -> MeasuringTask:
    """The kernels with known results, under a profiler."""
    table = GroundTruthTable(archive)
    return MeasuringTask(
        # A process for each: it must not hold the GPU while the profiler starts another.
        kind=RawKind(SCHEMA, table.suite, "kernels", is_one_process=False),
        known=table.names(quick=False),
        chosen=options.only or table.names(options.quick),
        code=table.code,
        entries=lambda: _entries(archive, table, options),
        options=("--ncu", options.ncu) if options.ncu else (),
    )


def _entries(
    archive: Archive, table: GroundTruthTable, options: argparse.Namespace
) -> Callable[[str], Entry]:
    def entry(name: str) -> Entry:
        if name != DEVICE:
            return _profiled(archive, table, options, name)
        gpu = open_gpu(options.device)
        return described(gpu, open_monitor(gpu.properties["pci_bus_id"]))

    return entry
