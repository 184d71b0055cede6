"""Times and counters of the first launches of published programs, on a machine with a GPU.

    python3 program_times.py PROGRAMS.json SOURCES --out FILE.json [--arch sm_90 --minutes 8]

PROGRAMS.json is a list of {"name", "arguments", "launches"}; SOURCES holds the folders `NAME-cuda`
of HeCBench or of gpuFLOPBench. Each is built with its own Makefile (`make ARCH=...`) and run under
Nsight Compute: the first `launches` launches, each with cold caches and the clocks as the board
sets them, after which the program is ended. FILE.json (`kernelcast/program-times/1`) is what
`kernelcast validate programs` reads; it is written whole after each program, and a program that is
in it is not measured again. What cannot be built, or has not ended in time, stands under `failed`.

Needs nothing but Python, nvcc and ncu.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import shlex
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_STALLS = [
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
]
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_FIELDS = {
    "time_s": "gpu__time_duration.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "instructions": "smsp__inst_executed.sum",
    "registers": "launch__registers_per_thread",
    "shared_bytes": "launch__shared_mem_per_block",
    "active_warps_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
_COUNTERS = (
    "gpc__cycles_elapsed.max",
    "sm__cycles_active.avg",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "lts__t_sectors_op_atom.sum",
    "lts__t_sectors_op_red.sum",
    *(_STALL.format(name) for name in _STALLS),
)
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_INTEGERS = ("instructions", "registers")


def main() -> None:
    """Read the command line, measure, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--seconds", type=float, default=25.0, help="at most, for each program")
    options = parser.parse_args()
    ends = time.monotonic() + 60 * options.minutes
    kept: dict[str, Any] = {"schema": "kernelcast/program-times/1", "device": _device()}
    kept |= {"date": time.strftime("%Y-%m-%d"), "programs": {}, "failed": {}}
    if options.out.exists():
        kept = json.loads(options.out.read_text())
    asked = json.loads(options.programs.read_text())
    todo = [one for one in asked if one["name"] not in kept["programs"]]
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) - 2)) as pool:
        folders = [options.sources / f"{one['name']}-cuda" for one in todo]
        builds = [pool.submit(_built, folder, options.arch) for folder in folders]
        for one, folder, build in zip(todo, folders, builds, strict=True):
            if time.monotonic() > ends:
                for later in builds:
                    later.cancel()
                break
            why = build.result() or _measured(one, folder, kept, options.seconds)
            if why:
                kept["failed"][one["name"]] = why
            print(f"{time.strftime('%X')} {one['name']}: {why or 'done'}", flush=True)
            _write(options.out, kept)


def _write(path: Path, kept: dict[str, Any]) -> None:
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(kept))
    beside.replace(path)


def _device() -> str:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    told = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    return told.replace(", ", ", driver ")


def _built(folder: Path, arch: str) -> str:
    """Build a program; why it cannot be built, or nothing."""
    call = ["make", f"ARCH={arch}", "DEBUG=no", "CC=nvcc", "OPTIMIZE=yes"]
    code, told = _done(call, folder, 150)
    if code == 0:
        return ""
    lines = [line for line in told.splitlines() if "rror" in line]
    return "build: " + (lines or ["?"])[0][:200]


def _done(call: list[str], folder: Path, seconds: float) -> tuple[int, str]:
    """Exit status and output of a command; it and what it started are ended after so long."""
    with subprocess.Popen(
        call,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            told, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return 124, "takes too long"
        return process.returncode, told


def _measured(one: dict[str, Any], folder: Path, kept: dict[str, Any], seconds: float) -> str:
    """Count a program's launches; why that failed, or nothing."""
    programs = sorted(p for p in folder.iterdir() if p.is_file() and _is_program(p))
    program = folder / "main" if (folder / "main").exists() else next(iter(programs), None)
    if program is None:
        return "build: no program"
    metrics = ",".join((*_FIELDS.values(), *_COUNTERS))
    call = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    call += ["--metrics", metrics, "--launch-count", str(one["launches"]), "--kill", "yes"]
    call += [f"./{program.name}", *shlex.split(one["arguments"])]
    code, told = _done(call, folder, seconds)
    if code == 124:
        return told
    launches = _launches(told)
    if not launches:
        return ("run: " + " / ".join(told.splitlines()[-3:]))[:300]
    kept["programs"][one["name"]] = {"arguments": one["arguments"], "launches": launches}
    return ""


def _is_program(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.read_bytes()[:4] == b"\x7fELF"


def _launches(told: str) -> list[dict[str, Any]]:
    at = told.find('"ID",')
    if at < 0:
        return []
    rows = list(csv.reader(io.StringIO(told[at:])))
    head, units = rows[0], rows[1]
    whole = [row for row in rows[2:] if len(row) == len(head) and row[0].isdigit()]
    of_units = dict(zip(head, units, strict=True))
    return [_launch(dict(zip(head, row, strict=True)), of_units) for row in whole]


def _launch(row: dict[str, str], units: dict[str, str]) -> dict[str, Any]:
    def extent(name: str) -> list[int]:
        return [int(x) for x in row[name].strip("()").split(",")]

    def value(metric: str) -> float | None:
        try:
            number = float(row[metric].replace(",", ""))
        except (KeyError, ValueError):
            return None
        return number * _SECONDS.get(units[metric], 1.0)

    found: dict[str, Any] = {"kernel": row["Kernel Name"]}
    found |= {"grid": extent("Grid Size"), "block": extent("Block Size")}
    for name, metric in _FIELDS.items():
        number = value(metric)
        found[name] = int(number) if name in _INTEGERS and number is not None else number
    told = {metric: value(metric) for metric in _COUNTERS}
    found["counters"] = {metric: number for metric, number in told.items() if number is not None}
    return found


if __name__ == "__main__":
    main()
