"""What both programs of the folder share: a process for each entry, and one file for all of them.

This file is copied into the folder that measures by itself and needs nothing but Python 3.10 there.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from kernelcast.calibration.gpu_driver import GpuError
    from kernelcast.calibration.gpu_state import open_monitor
else:
    from gpu_driver import GpuError
    from gpu_state import open_monitor

EXIT_INCOMPLETE, EXIT_FAILED, EXIT_STOPPED = 1, 2, 130
DEVICE = "device"
"""Stands among the names for the properties of the device."""

_STOPPING = (signal.SIGTERM, signal.SIGINT)
_LEAST_S = 1.0
"""Less than this before the end no entry is begun."""

_HOPELESS = ("no driver:", "no GPU:", "no code:", "no profiler:")
"""Errors that every other name would meet too."""

Entry = dict[str, Any]


@dataclass(frozen=True)
class RawKind:
    """A kind of raw file: its schema, the suite that made it, and under which key entries lie."""

    schema: str
    suite: str
    entries: str


@dataclass(frozen=True)
class Target:
    """What is measured: the device, and the compiled code that runs on it."""

    device: Mapping[str, Any]
    code: Mapping[str, str]


def arguments(
    description: str, out: str, names: Sequence[str], more: Callable[[Any], None] | None = None
) -> argparse.Namespace:
    """The options of a program; `more` adds those that it alone has."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(out), help=f"default: {out}")
    parser.add_argument("--quick", action="store_true", help="less of all, in under two minutes")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU; default: 0")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one of them")
    parser.add_argument("--minutes", type=float, help="end after so long; what is missing is named")
    parser.add_argument("--child", choices=[DEVICE, *names], help=argparse.SUPPRESS)
    if more:
        more(parser)
    return parser.parse_args()


def answer(child: Callable[[], Entry]) -> int:
    """Write what a process of its own found, or in one line why it found nothing."""
    try:
        json.dump(child(), sys.stdout, allow_nan=False)
    except (GpuError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_FAILED
    return 0


def run(
    folder: Path,
    options: argparse.Namespace,
    kind: RawKind,
    names: Sequence[str],
    command: Callable[[str], Sequence[str]],
    code: Callable[[Mapping[str, Any]], Path],
) -> int:
    """Run what the file does not hold yet, a process for each; the exit status.

    `folder` is where the program lies, `command` the process for a name, `code` the folder with
    compiled code for a device.
    """
    for number in _STOPPING:
        signal.signal(number, _stopped)
    try:
        check_folder(folder)
        return _run(options, kind, names, command, code)
    except (GpuError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_FAILED


def _stopped(*_: object) -> None:
    """Leave by an exception, which also ends the process that was started."""
    print("error: stopped; the same command goes on with the file", file=sys.stderr)
    sys.exit(EXIT_STOPPED)


def _run(
    options: argparse.Namespace,
    kind: RawKind,
    names: Sequence[str],
    command: Callable[[str], Sequence[str]],
    code: Callable[[Mapping[str, Any]], Path],
) -> int:
    device = isolated(command(DEVICE), options.timeout)
    if device["status"] != "done":
        print(f"error: {device['error']}", file=sys.stderr)
        return EXIT_FAILED
    del device["status"], device["samples"]
    target = Target(device, code_identity(code(device)))
    # Open until the end, so that the driver does not start anew for every process.
    monitor = open_monitor(device["pci_bus_id"])
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")

    def entry(name: str) -> Entry | None:
        left_s = end - time.monotonic()
        if left_s < _LEAST_S:
            return None
        others = monitor.programs()
        found = isolated(command(name), min(options.timeout, left_s))
        return {**found, "other_programs": others}

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
    target: Target,
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
        if str(result.get("error", "")).startswith(_HOPELESS):
            break
    return document


def _told(entry: Entry) -> str:
    """An entry in a line."""
    remarks = [entry.get("error") or f"{len(entry['samples'])} samples"]
    if entry.get("other_programs"):
        remarks.append(f"the GPU is shared with {entry['other_programs']} other programs")
    remarks += [f"the clock was held down by: {why}" for why in entry.get("held_down", ())]
    return "; ".join(remarks)


def isolated(command: Sequence[str], timeout_s: float) -> Entry:
    """One entry of the file from a process of its own; why there is none, where it fails."""
    with _started(command) as process:
        try:
            _take_signals()
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return _failure(f"hangs: no result after {timeout_s:g} s")
        finally:
            _end(process)
    text = err.decode("utf-8", "replace").strip()
    if process.returncode:
        last = text.splitlines()[-1] if text else ""
        return _failure(last or f"crashed: the process ended with status {process.returncode}")
    try:
        entry = json.loads(out)
    except ValueError:
        return _failure("failed: the process wrote no result")
    return entry if isinstance(entry, dict) else _failure("failed: the process wrote no result")


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process, and signals held, so that none comes before somebody is there to end it."""
    own = _of_its_own if os.name == "posix" else None
    _hold_signals()
    try:
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=own
        )
    except OSError:
        _take_signals()
        raise


def _of_its_own() -> None:
    """In a new process: a group of its own, so that it ends together with what it has started."""
    os.setpgrp()
    _take_signals()


def _hold_signals() -> None:
    if os.name == "posix":
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)


def _take_signals() -> None:
    if os.name == "posix":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group, where it still runs."""
    if process.poll() is not None:
        return
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _failure(why: str) -> Entry:
    return {
        "status": "failed",
        "date": now(),
        "error": why.removeprefix("error: "),
        "samples": [],
    }


def now() -> str:
    """The time, in UTC."""
    found = datetime.datetime.now(datetime.timezone.utc)  # noqa: UP017, for Python 3.10
    return found.strftime("%Y-%m-%dT%H:%M:%SZ")


def check_folder(folder: Path) -> None:
    """GpuError where a file of compiled code or of data is not what the folder's manifest says."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        wanted: Mapping[str, str] = manifest["sha256"]
    except (OSError, ValueError, LookupError, TypeError):
        raise GpuError("no code", f"{folder} has no manifest; copy all of the folder") from None
    for name, digest in wanted.items():
        if name.endswith(".py"):
            continue
        file = folder / name
        if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise GpuError("no code", f"{file} is missing or damaged; copy the folder again")


def code_folder(pack: Path, major: int, minor: int) -> Path:
    """Code for this compute capability: of the same major one, and no newer minor one."""
    found = {p.name: p for p in pack.glob("sm_*") if p.is_dir()}
    for older in range(minor, -1, -1):
        if f"sm_{major}{older}" in found:
            return found[f"sm_{major}{older}"]
    has = ", ".join(sorted(found)) or "none"
    raise GpuError("no code", f"the folder has none for sm_{major}{minor}, only {has}")


def code_identity(folder: Path) -> dict[str, str]:
    """The architecture that code was compiled for, and a hash of every file of it."""
    files = sorted(folder.glob("*.cubin"))
    hashes = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}
    return {"architecture": folder.name, **hashes}


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
