"""What simulated warps did, as a file for chrome://tracing and Perfetto.

Google: Trace Event Format. A process is an SM of one launch, a thread a warp; a slice is what a
warp did, one cycle for an instruction that it issued. A microsecond stands for a cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kernelcast.ir import Kernel
from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.documents.result import launch_title
from kernelcast.simulation import layout
from kernelcast.simulation.results import STALLS
from kernelcast.simulation.timeline import IssuedInstruction, WarpTimeline, warp_timelines

_Event = dict[str, Any]


def timeline_file(found: Sequence[Prediction]) -> bytes:
    """The file of forecasts whose warps were simulated, one after the other."""
    events: list[_Event] = []
    processes = 0
    for one in found:
        events += _events(one, processes)
        processes += one.simulated.sms if one.simulated else 0
    told = {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"unit": "1 us stands for 1 cycle of an SM"},
    }
    return msgspec.json.encode(told)


def _events(one: Prediction, before: int) -> Iterator[_Event]:
    """Those of one launch, whose first SM is process `before`."""
    if one.simulated is None:
        return
    title = f"{launch_title(one.case)} on {one.case.machine.name}"
    for sm in range(one.simulated.sms):
        yield _name("process_name", before + sm, 0, f"{title}, SM {sm}")
    for thread, warp in enumerate(_in_order(one)):
        process = before + warp.sm
        words = f"sub-partition {warp.scheduler}, block {warp.block}, warp {warp.warp}"
        yield _name("thread_name", process, thread, words)
        order = {"sort_index": thread}
        yield {"ph": "M", "name": "thread_sort_index", "pid": process, "tid": thread, "args": order}
        for issue in warp.issues:
            for slice_ in _slices(one.case.kernel, issue):
                yield {"ph": "X", "pid": process, "tid": thread, **slice_}


def _in_order(one: Prediction) -> list[WarpTimeline]:
    """By sub-partition, and as warps begin."""
    warps = warp_timelines(one.simulated) if one.simulated else ()
    return sorted(warps, key=lambda w: (w.sm, w.scheduler, w.issues[0].cycle, w.block, w.warp))


def _name(kind: str, process: int, thread: int, name: str) -> _Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _slices(kernel: Kernel, issue: IssuedInstruction) -> Iterator[_Event]:
    """What a warp waited for before an issue, and the issue."""
    at = issue.cycle + 1 - issue.cycles
    for name, cycles in (
        (STALLS[issue.reason], issue.waited),
        (STALLS[issue.throttle], issue.throttled),
        (STALLS[layout.DISPATCH], issue.held),
        (STALLS[layout.IMC_MISS], issue.missed),
        (STALLS[layout.NOT_SELECTED], issue.not_selected),
    ):
        if cycles:
            yield {"name": name, "cat": "stall", "ts": at, "dur": cycles}
        at += cycles
    instruction = kernel.instructions[issue.instruction]
    place = instruction.location
    told = {"text": str(instruction), "index": instruction.index}
    if place is not None:
        told |= {"file": place.file, "line": place.line}
    yield {"name": instruction.name, "cat": "issue", "ts": issue.cycle, "dur": 1, "args": told}
