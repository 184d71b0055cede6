"""Has NVIDIA's profiler count what the kernels with known results do, and writes one JSON file.

This file is copied into the folder beside the program that times the kernels. It needs Python 3.10,
NVIDIA's driver, and Nsight Compute (ncu).

    python3 profile_ground_truth.py --out profiles.json [--quick]

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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from kernelcast.measuring.harness.gpu_driver import GpuError
    from kernelcast.measuring.harness.gpu_state import open_monitor
    from kernelcast.measuring.harness.ground_truth_device import Pack, open_device
    from kernelcast.measuring.harness.measure import described
    from kernelcast.measuring.harness.measure_ground_truth import (
        QUICK_CONFIGURATIONS,
        Bench,
        Launched,
        launch_record,
        run_kernels,
    )
    from kernelcast.measuring.harness.runner import DEVICE, RawKind, arguments
    from kernelcast.measuring.harness.worker import EXIT_FAILED, Entry, answer, now
else:  # in a folder of its own, whose files Python need not look for by itself
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from gpu_driver import GpuError
    from gpu_state import open_monitor
    from ground_truth_device import Pack, open_device
    from measure import described
    from measure_ground_truth import (
        QUICK_CONFIGURATIONS,
        Bench,
        Launched,
        launch_record,
        run_kernels,
    )
    from runner import DEVICE, RawKind, arguments
    from worker import EXIT_FAILED, Entry, answer, now

SCHEMA = "kernelcast/ground-truth-profile/1"
SECTIONS = (
    "SpeedOfLight",
    "LaunchStats",
    "Occupancy",
    "InstructionStats",
    "SchedulerStats",
    "WarpStateStats",
    "MemoryWorkloadAnalysis",
    "MemoryWorkloadAnalysis_Tables",
)
"""Sections of Nsight Compute: cycles, occupancy, instructions, stalls, sectors and hit rates."""
_PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")
_REFUSALS = ("NVGPUCTRPERM", "initialize the profiler", "not supported")
"""What a profiler says that may not count on this machine, or cannot."""
_UNITS = ("gpu__time", "gpc__", "sm__", "smsp__", "l1tex__", "lts__", "dram__", "launch__")
"""How the names of the metrics begin that are kept."""
_SHARES = ("throughput", "pct_of_peak_sustained_elapsed")
"""What the names of metrics contain that only restate others."""


def profiler(named: str | None) -> str:
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


def errors_of(log: str) -> str:
    """What the profiler complains of."""
    return "; ".join(
        text.partition("==ERROR==")[2].strip() for text in log.splitlines() if "==ERROR==" in text
    )


def profiled(pack: Pack, options: argparse.Namespace, name: str) -> Entry:
    """One entry of the file: the launch and the metrics of every configuration."""
    begin = time.monotonic()
    kernel = pack.table["kernels"][name]
    numbers = numbers_of(kernel, options.quick)
    with tempfile.TemporaryDirectory(prefix="kernelcast-") as folder:
        file = Path(folder) / "log"
        done = subprocess.run(
            watched(options, name, file),
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
            errors_of(log) or (told or [f"{len(found)} of {len(numbers)} were profiled"])[-1],
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


def numbers_of(kernel: Mapping[str, Any], quick: bool) -> range:
    """The configurations of a kernel that are profiled."""
    return range(len(kernel["configurations"]))[: QUICK_CONFIGURATIONS if quick else None]


def watched(options: argparse.Namespace, name: str, log: Path) -> list[str]:
    """The command under which a kernel's launches are profiled."""
    flags = ["--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log)]
    # The clocks belong to whoever has the machine; caches are cold as in what is timed.
    flags += ["--clock-control", "none", "--cache-control", "all", "--profile-from-start", "off"]
    flags += [word for section in SECTIONS for word in ("--section", section)]
    launch = [sys.executable, __file__, "--launch", name, "--device", str(options.device)]
    return [profiler(options.ncu), *flags, *launch, *(["--quick"] if options.quick else [])]


def launched(pack: Pack, options: argparse.Namespace) -> int:
    """Launch every configuration of a kernel once; a profiler sees nothing else."""
    try:
        bench = Bench(open_device(options.device), pack, options.quick)
        kernel = pack.table["kernels"][options.launch]
        for number in numbers_of(kernel, options.quick):
            chosen = kernel["configurations"][number]
            with Launched(bench, kernel["family"], chosen, "full") as one:
                bench.gpu.wait()
                bench.gpu.profiled(one.work)
    except GpuError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_FAILED
    return 0


def child(pack: Pack, options: argparse.Namespace) -> Callable[[str], Entry]:
    """What a process of its own makes of a name: the device's properties, or one entry."""

    def entry(name: str) -> Entry:
        if name != DEVICE:
            return profiled(pack, options, name)
        gpu = open_device(options.device)
        return described(gpu, open_monitor(gpu.properties["pci_bus_id"]))

    return entry


def main() -> int:
    """Entry point of the folder."""
    pack = Pack(Path(__file__).resolve().parent)
    names = pack.names(quick=False)

    def more(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--ncu", metavar="PROGRAM", help="the profiler; default: looked for")
        parser.add_argument("--launch", choices=names, help=argparse.SUPPRESS)

    options = arguments(__doc__ or "", "profiles.json", names, more)
    if options.launch:
        return launched(pack, options)
    if options.child:
        return answer(lambda: child(pack, options))
    more_options = ["--ncu", options.ncu] if options.ncu else []
    # A process for each: it must not hold the GPU while the profiler starts another.
    kind = RawKind(SCHEMA, pack.table["suite"], "kernels", is_one_process=False)
    return run_kernels(pack, options, kind, __file__, more_options)


if __name__ == "__main__":
    sys.exit(main())
