"""One way in for trace files: recognised by content, as all input is."""

from __future__ import annotations

from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.traces.accel_sim.load import listed_launches, read_accel_sim
from kernelcast.traces.file import read_trace
from kernelcast.traces.recognise import file_of, is_accel_sim, is_own_format, is_written, start_of
from kernelcast.traces.stored import StoredTrace
from kernelcast.traces.written.reader import read_written
from kernelcast.traces.written.stream import stored_trace


def open_trace(path: Path, number: int | None = None) -> StoredTrace:
    """The trace in a file or a folder of Accel-Sim; `number` chooses a launch, counted from 1.

    Raises InputError where it is no trace, damaged or cut short, or has no such launch.
    """
    path = file_of(path)
    start = start_of(path)
    if is_own_format(start) or is_written(start):
        if number not in (None, 1):
            raise InputError(f"no launch {number}", where=str(path), hint="it holds 1")
        if is_own_format(start):
            return read_trace(path)
        return stored_trace(read_written(path))
    if is_accel_sim(start):
        return read_accel_sim(path, number)
    raise InputError(
        "not a trace",
        where=str(path),
        hint="give a .kct, a written trace, a .traceg or a kernelslist.g",
    )


def open_traces(path: Path) -> tuple[StoredTrace, ...]:
    """All launches in a file or a folder of Accel-Sim, in order; InputError as `open_trace`."""
    file = file_of(path)
    if not is_accel_sim(start_of(file)):
        return (open_trace(file),)
    return tuple(read_accel_sim(file, at + 1) for at in range(listed_launches(file)))
