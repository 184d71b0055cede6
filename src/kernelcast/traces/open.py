"""One way in for trace files: recognised by content, as all input is."""

from __future__ import annotations

from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.traces.accel_sim.lines import LIST_NAME, is_accel_sim
from kernelcast.traces.accel_sim.load import listed_launches, read_accel_sim
from kernelcast.traces.file import is_own_format, read_trace
from kernelcast.traces.stored import StoredTrace

_START_BYTES = 4096


def is_trace(path: Path) -> bool:
    """Whether a file is a trace, ours or Accel-Sim's, or a folder holds Accel-Sim's list of them;
    False where it cannot be read."""
    start = _start(_file(path))
    return is_own_format(start) or is_accel_sim(start)


def open_trace(path: Path, number: int | None = None) -> StoredTrace:
    """The trace in a file or a folder of Accel-Sim; `number` chooses a launch, counted from 1.

    Raises InputError where it is no trace, damaged or cut short, or has no such launch.
    """
    path = _file(path)
    start = _start(path)
    if is_own_format(start):
        if number not in (None, 1):
            raise InputError(f"no launch {number}", where=str(path), hint="it holds 1")
        return read_trace(path)
    if is_accel_sim(start):
        return read_accel_sim(path, number)
    raise InputError(
        "not a trace", where=str(path), hint="give a .kct, a .traceg or a kernelslist.g"
    )


def open_traces(path: Path) -> tuple[StoredTrace, ...]:
    """All launches in a file or a folder of Accel-Sim, in order; InputError as `open_trace`."""
    file = _file(path)
    if not is_accel_sim(_start(file)):
        return (open_trace(file),)
    return tuple(read_accel_sim(file, at + 1) for at in range(listed_launches(file)))


def _file(path: Path) -> Path:
    """The list in a folder; else the path itself."""
    return path / LIST_NAME if path.is_dir() else path


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_START_BYTES)
    except OSError:
        return b""
