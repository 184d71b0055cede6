"""What a program did on the device, as a file for chrome://tracing and Perfetto.

Google: Trace Event Format. A thread is a stream, a slice a launch, a copy or a fill, in forecast
time on the GPU that the program ran on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kernelcast.devices.record import LaunchRecord, TransferRecord
from kernelcast.devices.run import ProgramRun

_US_PER_S = 1e6
_Slice = dict[str, Any]


def program_timeline(run: ProgramRun) -> bytes:
    """The file of a program that ran."""
    told = {"traceEvents": list(_events(run)), "displayTimeUnit": "ns"}
    return msgspec.json.encode(told)


def _events(run: ProgramRun) -> Iterator[_Slice]:
    record = run.record
    yield _name("process_name", 0, f"{run.command[0]} on {run.machines[0].title}")
    streams = {one.stream for one in record.launches} | {one.stream for one in record.transfers}
    for stream in sorted(streams):
        yield _name("thread_name", stream, f"stream {stream}")
    for launch in record.launches:
        yield _launch(launch)
    for transfer in record.transfers:
        yield _transfer(transfer)


def _name(kind: str, thread: int, name: str) -> _Slice:
    return {"ph": "M", "name": kind, "pid": 0, "tid": thread, "args": {"name": name}}


def _slice(name: str, kind: str, stream: int, begin_s: float, seconds: float) -> _Slice:
    return {
        "ph": "X",
        "name": name,
        "cat": kind,
        "pid": 0,
        "tid": stream,
        "ts": begin_s * _US_PER_S,
        "dur": seconds * _US_PER_S,
    }


def _launch(one: LaunchRecord) -> _Slice:
    forecast = one.forecast
    bound = str(forecast.predictions[0].bottleneck) if forecast.predictions else "no forecast"
    told = {
        "grid": list(one.launch.grid),
        "block": list(one.launch.block),
        "smem": one.launch.smem_bytes,
        "bound by": bound,
    }
    made = _slice(one.kernel, "kernel", one.stream, one.begin_s, forecast.times_s[0])
    return {**made, "args": told}


def _transfer(one: TransferRecord) -> _Slice:
    made = _slice(str(one.kind), "memory", one.stream, one.begin_s, one.seconds)
    return {**made, "args": {"bytes": one.size_bytes}}
