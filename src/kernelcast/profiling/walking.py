# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop over the instructions of one warp's path, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.loops import array

_INT32 = array(np.int32)
_INT64 = array(np.int64)
_FLOAT = array(np.float64)


@compiled(
    None,
    _INT32,
    array(np.int64, 2),
    _INT64,
    _INT64,
    _INT64,
    _INT64,
    _FLOAT,
    _FLOAT,
    np.bool_,
    _FLOAT,
    _INT64,
    _INT32,
    _INT32,
    _FLOAT,
    _FLOAT,
    _INT64,
    _FLOAT,
)
def walk_path(
    path,
    bounds,
    read_start,
    reads,
    write_start,
    writes,
    latency_cycles,
    issue_cycles,
    in_order,
    ready_cycles,
    producer,
    executed,
    origin,
    stalls,
    waits,
    critical,
    result,
):
    """Issue the instructions of a path one by one, each when it may.

    Parameters
    ----------
    path, bounds:
        Basic blocks in order of execution; first and last instruction (exclusive) of each block.
    read_start, reads, write_start, writes:
        Registers of instruction i are `reads[read_start[i]:read_start[i + 1]]`.
    in_order:
        Whether an instruction also waits for the one before it and its issue interval.
    ready_cycles, producer:
        Scratch: per register, all 0 and all -1 at first.
    executed, origin, stalls:
        Output, per executed instruction, as many as are to be walked: which it is, the place of
        the one for whose result it waited or -1, and how many cycles.
    waits, critical, result:
        Output, 0 at first: cycles waited for results of an instruction, and how often its result
        was on the critical path, by instruction; cycles at which the last one issued and issue
        intervals before it. Without order, the last one is that which issued last, and counts as
        on the path itself.
    """
    at = 0
    clock = 0.0
    issued = 0.0
    end = -1
    end_cycles = -1.0
    for step in range(len(path)):
        for i in range(bounds[path[step], 0], bounds[path[step], 1]):
            if at == len(executed):
                break
            start = clock if in_order else 0.0
            time = start
            origin[at] = -1
            for k in range(read_start[i], read_start[i + 1]):
                register = reads[k]
                if producer[register] >= 0 and ready_cycles[register] > time:
                    time = ready_cycles[register]
                    origin[at] = producer[register]
            stalls[at] = time - start
            if origin[at] >= 0:
                waits[executed[origin[at]]] += time - start
            for k in range(write_start[i], write_start[i + 1]):
                ready_cycles[writes[k]] = time + latency_cycles[i]
                producer[writes[k]] = at
            if in_order or time > end_cycles:
                end = at
                end_cycles = time
                result[0] = time
                result[1] = issued
            clock = time + issue_cycles[i]
            issued += issue_cycles[i]
            executed[at] = i
            at += 1
    if end >= 0 and not in_order:
        critical[executed[end]] += 1
    while end >= 0:
        if origin[end] >= 0:
            end = origin[end]
            critical[executed[end]] += 1
        elif in_order:
            end -= 1
        else:
            end = -1
