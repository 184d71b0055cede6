# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop of the coarse simulation, compiled; `simulation.coarse` says what it does."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.loops import array, inlined, inner

COMPUTE, MEMORY, BARRIER = range(3)
"""Kinds of operations."""

_LAST, _SHORTEST = 1, 2
"""Strategies of a queue; 0 takes the first that came."""

_INT8 = array(np.int8)
_INT64 = array(np.int64)
_FLOAT = array(np.float64)


@inlined
def _push(queue, ends, warp):
    """Put a warp at the end of a queue; `ends` holds where it begins and how long it is."""
    queue[(ends[0] + ends[1]) % len(queue)] = warp
    ends[1] += 1


@inner
def _take(queue, ends, strategy, delay):
    """Take the warp out of a queue that a strategy chooses."""
    at = 0
    if strategy == _LAST:
        at = ends[1] - 1
    elif strategy == _SHORTEST:
        for k in range(1, ends[1]):
            if delay[queue[(ends[0] + k) % len(queue)]] < delay[queue[(ends[0] + at) % len(queue)]]:
                at = k
    warp = queue[(ends[0] + at) % len(queue)]
    if at == 0:
        ends[0] = (ends[0] + 1) % len(queue)
    else:
        for k in range(at, ends[1] - 1):
            queue[(ends[0] + k) % len(queue)] = queue[(ends[0] + k + 1) % len(queue)]
    ends[1] -= 1
    return warp


@compiled(
    None,
    _INT8,
    _FLOAT,
    _FLOAT,
    _FLOAT,
    _FLOAT,
    _FLOAT,
    np.int64,
    np.int64,
    np.int64,
    np.int64,
    np.int64,
    np.int64,
    np.int64,
    np.int64,
    np.bool_,
    array(np.int64, 2),
    array(np.int64, 2),
    _FLOAT,
    array(np.int64, 2),
    _FLOAT,
    _FLOAT,
    _FLOAT,
)
def run_warps(
    kind,
    latency,
    peak,
    beyond,
    penalty,
    floor,
    blocks,
    block_warps,
    most_warps,
    most_blocks,
    compute_units,
    memory_units,
    compute_strategy,
    memory_strategy,
    memory_counts_waiting,
    warp_state,
    queues,
    delay,
    block_state,
    idle,
    charged,
    result,
):
    """Execute blocks of warps that all have one trace.

    Parameters
    ----------
    kind, latency, peak, beyond, penalty, floor:
        The trace, as `coarse.CoarseTrace` says.
    blocks, block_warps, most_warps, most_blocks:
        What is executed, and how much of it is there at once.
    warp_state, queues, delay, block_state:
        Scratch: operation and whether it waits, by warp, all 0; places of warps: ready for a
        compute unit, for a memory unit, newly ready, in a compute unit, in a memory unit, newly
        ready and held by no barrier; what is left of an operation, by warp; warps of a block that
        have not ended and that wait.
    idle, charged, result:
        Output, 0 at first: by operation, the cycles in which it was executed and no compute unit
        was busy, and its share of all cycles; cycles, those in which a compute unit was busy, the
        integral of the ready warps over them, and how often something ended.
    """
    position, waiting = warp_state[0], warp_state[1]
    ready, pending, fresh, computing, accessing = (
        queues[0],
        queues[1],
        queues[2],
        queues[3],
        queues[4],
    )
    alive, arrived = block_state[0], block_state[1]
    ready_ends, pending_ends, passed = queues[5], queues[6], queues[7]
    count = len(kind)
    n_fresh = n_computing = n_accessing = 0
    resident_warps = resident_blocks = next_block = 0
    while True:
        while (
            next_block < blocks
            and resident_blocks < most_blocks
            and resident_warps + block_warps <= most_warps
        ):
            for k in range(block_warps):
                fresh[n_fresh] = next_block * block_warps + k
                n_fresh += 1
            alive[next_block] = block_warps
            resident_warps += block_warps
            resident_blocks += 1
            next_block += 1
        # Warps that are at their end or at a barrier. Those that a barrier releases come behind:
        # where barriers follow each other, so often that they have to go round.
        kept = at = 0
        while at < n_fresh:
            warp = fresh[at % len(fresh)]
            at += 1
            block = warp // block_warps
            if position[warp] == count:
                alive[block] -= 1
                resident_warps -= 1
                if alive[block] == 0:
                    resident_blocks -= 1
            elif kind[position[warp]] == BARRIER:
                arrived[block] += 1
                waiting[warp] = 1
            else:
                passed[kept] = warp
                kept += 1
            if arrived[block] > 0 and arrived[block] == alive[block]:
                arrived[block] = 0
                for other in range(block * block_warps, (block + 1) * block_warps):
                    if waiting[other] == 1:
                        waiting[other] = 0
                        position[other] += 1
                        fresh[n_fresh % len(fresh)] = other
                        n_fresh += 1
        n_fresh = kept
        fits = resident_blocks < most_blocks and resident_warps + block_warps <= most_warps
        if n_fresh == 0 and next_block < blocks and fits:
            continue
        # TLP, and with it the delay of what has just become ready: once, whenever it is executed.
        tlp = n_fresh + ready_ends[1] + n_computing
        in_memory = pending_ends[1] + n_accessing
        for k in range(n_fresh):
            warp = passed[k]
            op = position[warp]
            parallel = tlp
            if kind[op] == MEMORY and memory_counts_waiting:
                parallel = tlp + in_memory
            if parallel <= peak[op]:
                cycles = latency[op] / parallel
            else:
                cycles = latency[op] * beyond[op] / parallel + penalty[op]
            delay[warp] = max(cycles, floor[op])
            if kind[op] == MEMORY:
                _push(pending, pending_ends, warp)
            else:
                _push(ready, ready_ends, warp)
        n_fresh = 0
        while n_computing < compute_units and ready_ends[1] > 0:
            computing[n_computing] = _take(ready, ready_ends, compute_strategy, delay)
            n_computing += 1
        while n_accessing < memory_units and pending_ends[1] > 0:
            accessing[n_accessing] = _take(pending, pending_ends, memory_strategy, delay)
            n_accessing += 1
        if n_computing + n_accessing == 0:
            break
        step = 1e300
        for k in range(n_computing):
            step = min(step, delay[computing[k]])
        for k in range(n_accessing):
            step = min(step, delay[accessing[k]])
        result[0] += step
        result[2] += step * tlp
        result[3] += 1
        if n_computing > 0:
            result[1] += step
            for k in range(n_computing):
                charged[position[computing[k]]] += step / n_computing
        else:
            for k in range(n_accessing):
                idle[position[accessing[k]]] += step
                charged[position[accessing[k]]] += step / n_accessing
        # What has ended: its warp is at its next operation. The others are pushed together.
        kept = 0
        for k in range(n_computing):
            warp = computing[k]
            delay[warp] -= step
            if delay[warp] <= 0:
                position[warp] += 1
                fresh[n_fresh] = warp
                n_fresh += 1
            else:
                computing[kept] = warp
                kept += 1
        n_computing = kept
        kept = 0
        for k in range(n_accessing):
            warp = accessing[k]
            delay[warp] -= step
            if delay[warp] <= 0:
                position[warp] += 1
                fresh[n_fresh] = warp
                n_fresh += 1
            else:
                accessing[kept] = warp
                kept += 1
        n_accessing = kept
