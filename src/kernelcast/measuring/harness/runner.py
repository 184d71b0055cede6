"""What the commands of the pack share: their options, and one file for all entries."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .archive import CompiledCode
from .gpu import Gpu
from .gpu_driver import GpuError
from .gpu_state import Monitor, open_monitor
from .worker import EXIT_FAILED, STOPPING, Entry, Workers, now

EXIT_INCOMPLETE, EXIT_STOPPED = 1, 130
DEVICE = "device"
"""Stands among the names for the properties of the device."""

_LEAST_S = 1.0
"""Less than this before the end no entry is begun."""

_HOPELESS, _NO_CODE = ("no driver:", "no GPU:", "no profiler:"), "no code:"
"""Errors that every other name would meet too; the other only where it is the first."""


@dataclass(frozen=True)
class RawKind:
    """A kind of raw file: its schema, the suite that made it, and under which key entries lie.

    `is_one_process` says whether a process goes on to the next entry.
    """

    schema: str
    suite: str
    entries: str
    is_one_process: bool = True


@dataclass(frozen=True)
class MeasuringTask:
    """What a command of the pack measures.

    `known` are all names, `chosen` those to measure. `code` is the compiled code for a device,
    `entries` makes the entries in a process of their own, and `options` are those that such a
    process needs besides the common ones.
    """

    kind: RawKind
    known: Sequence[str]
    chosen: Sequence[str]
    code: Callable[[Mapping[str, Any]], CompiledCode]
    entries: Callable[[], Callable[[str], Entry]]
    options: Sequence[str] = ()


@dataclass(frozen=True)
class MeasuredDevice:
    """What is measured: the device, and the compiled code that runs on it."""

    device: Mapping[str, Any]
    code: Mapping[str, str]


def add_common_options(parser: argparse.ArgumentParser, out: str) -> None:
    """The options that every command has."""
    parser.add_argument("--out", type=Path, default=Path(out), help=f"default: {out}")
    parser.add_argument("--quick", action="store_true", help="less of all, in under two minutes")
    parser.add_argument("--only", action="append", metavar="NAME", help="this alone; repeatable")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU; default: 0")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one of them")
    parser.add_argument("--minutes", type=float, help="end after so long; what is missing is named")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)


def described(gpu: Gpu, monitor: Monitor) -> Entry:
    """What a process writes that is asked for the device."""
    return {"status": "done", "samples": [], **gpu.properties, "nvml": monitor.facts()}


def run(program: MeasuringTask, options: argparse.Namespace, start: Sequence[str]) -> int:
    """Run what the file does not hold yet, in processes of their own; the exit status.

    `start` starts the command once more.
    """
    for number in STOPPING:
        signal.signal(number, _stopped)
    command = [*start, "--child", "--device", str(options.device)]
    command += ["--quick"] if options.quick else []
    with Workers([*command, *program.options], is_lasting=program.kind.is_one_process) as workers:
        return _run(program, options, workers)


def _stopped(*_: object) -> None:
    """Leave by an exception, which also ends the process that was started."""
    print("error: stopped; the same command goes on with the file", file=sys.stderr)
    sys.exit(EXIT_STOPPED)


def _run(program: MeasuringTask, options: argparse.Namespace, workers: Workers) -> int:
    device = workers.entry(DEVICE, options.timeout)
    if device["status"] != "done":
        print(f"error: {device['error']}", file=sys.stderr)
        return EXIT_FAILED
    del device["status"], device["samples"]
    target = MeasuredDevice(device, program.code(device).identity())
    # Open until the end, so that the driver does not start anew for every process.
    monitor = open_monitor(device["pci_bus_id"])
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")

    def entry(name: str) -> Entry | None:
        left_s = end - time.monotonic()
        if left_s < _LEAST_S:
            return None
        others = monitor.programs(workers.count)
        found = workers.entry(name, min(options.timeout, left_s))
        return {**found, "other_programs": others}

    kind, names = program.kind, program.chosen
    document = measure(options.out, target, names, entry, quick=options.quick, kind=kind)
    entries = document[kind.entries]
    failed = [name for name, one in entries.items() if one["status"] != "done"]
    missing = [name for name in names if name not in entries]
    print(
        f"{options.out}: {len(entries)} {kind.entries}, {len(failed)} failed, "
        f"{len(missing)} not begun"
    )
    return EXIT_INCOMPLETE if failed or missing else 0


def measure(
    out: Path,
    target: MeasuredDevice,
    names: Iterable[str],
    entry: Callable[[str], Entry | None],
    *,
    quick: bool,
    kind: RawKind,
    report: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
) -> dict[str, Any]:
    """Run what the file does not hold yet; it is written whole after every entry.

    It ends with the first name for which there is no entry, or after which no other can have one.
    """
    document: dict[str, Any] = {
        "schema": kind.schema,
        "suite": kind.suite,
        "quick": quick,
        "date": now(),
        "device": dict(target.device),
        "code": dict(target.code),
        kind.entries: {},
    }
    entries = document[kind.entries] = _resumed(out, document, kind.entries)
    _write(out, document)  # where that cannot be done, it is better known now
    for name in names:
        if entries.get(name, {}).get("status") == "done":
            report(f"{name}: done before")
            continue
        result = entry(name)
        if result is None:
            break
        entries[name] = result
        _write(out, document)
        report(f"{name}: {_told(result)}")
        if _is_hopeless(str(result.get("error", "")), entries.values()):
            break
    return document


def _is_hopeless(error: str, entries: Iterable[Entry]) -> bool:
    """Whether no other name can be measured; one file's code may be refused where others load."""
    is_first = not any(entry["status"] == "done" for entry in entries)
    return error.startswith(_HOPELESS) or (error.startswith(_NO_CODE) and is_first)


def _told(entry: Entry) -> str:
    """An entry in a line."""
    remarks = [entry.get("error") or f"{len(entry['samples'])} samples"]
    if entry.get("other_programs"):
        remarks.append(f"the GPU is shared with {entry['other_programs']} other programs")
    remarks += [f"the clock was held down by: {why}" for why in entry.get("held_down", ())]
    return "; ".join(remarks)


def _resumed(out: Path, wanted: Mapping[str, Any], entries: str) -> dict[str, Any]:
    if not out.exists():
        return {}
    try:
        old = json.loads(out.read_text(encoding="utf-8"))
    except ValueError:
        raise GpuError("failed", f"{out} is no raw file; give another --out") from None
    for key in ("schema", "suite", "quick", "device", "code"):
        if not isinstance(old, dict) or old.get(key) != wanted[key]:
            raise GpuError("failed", f"{out} was made with another {key}; give another --out")
    kept: dict[str, Any] = old[entries]
    return kept


def _write(out: Path, document: Mapping[str, Any]) -> None:
    temporary = out.with_name(f"{out.name}.{os.getpid()}.new")
    temporary.write_text(json.dumps(document, indent=1, allow_nan=False), encoding="utf-8")
    temporary.replace(out)
