# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Which lanes of a warp execute a basic block together, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.loops import inlined, inner, popcount


@inlined
def _take(group, came, block, masks, last, diverged, blocks):
    """Some lanes of a group go from the block that they were in to another."""
    left = last[group]
    if left >= 0 and blocks[left].is_branch:
        blocks[left].divergent += came != masks[group] and not diverged[group]
        blocks[left].passed += popcount(came) * (blocks[left].next == block)
    diverged[group] = 1
    masks[group] &= ~came


@inner
def _regroup(block, mask, blocks, state):
    """Lanes of several groups, or some of one, come to a block; return how many groups they are.

    Where they reconverge in the block they are one group from then on, else they stay what they
    are.
    """
    warp = state.warp
    masks, last = state.group_mask[warp], state.group_block[warp]
    diverged = state.group_diverged[warp]
    known = state.group_count[warp]
    count = known
    unseen = mask
    for group in range(known):
        came = masks[group] & mask
        if came:
            _take(group, came, block, masks, last, diverged, blocks)
            unseen &= ~came
            masks[count], last[count], diverged[count] = came, block, 0
            count += 1
    if unseen:
        masks[count], last[count], diverged[count] = unseen, block, 0
        count += 1
    arrivals = count - known
    if blocks[block].reconvergence >= 0:
        count = known + 1
        masks[known] = mask
    kept = 0
    for group in range(count):
        if masks[group]:
            masks[kept], last[kept], diverged[kept] = masks[group], last[group], diverged[group]
            kept += 1
    state.group_count[warp] = kept
    return arrivals


@inlined
def enter_block(block, mask, blocks, warp_instructions, state):
    """Count one BLOCK record."""
    warp, entered = state.warp, blocks[np.uint64(block)]
    threads = popcount(mask)
    arrivals, together, executed = np.int64(1), np.int64(1), entered.length
    if state.group_count[warp] == 1 and state.group_mask[warp, 0] == mask:
        left = blocks[np.uint64(state.group_block[warp, 0])]
        left.passed += threads * (left.next == block)
        state.group_block[warp, 0] = block
        state.group_diverged[warp, 0] = 0
    else:
        arrivals = _regroup(block, mask, blocks, state)
        reconvergence = entered.reconvergence
        apart = reconvergence if reconvergence >= 0 else entered.length
        together = np.int64(1) if reconvergence >= 0 else arrivals
        executed = apart * arrivals + (entered.length - apart) * together
    entered.arrivals += arrivals
    entered.warps += together
    entered.threads += threads
    warp_instructions[state.ordinal, warp] += executed


@inlined
def _find(index, guess, executed):
    """Where a block stands among the executed ones, most often where guessed; -1 if nowhere."""
    low, high = np.int64(0), np.int64(len(executed))
    if guess < high and executed[guess].index == index:
        return guess
    while low < high:
        middle = (low + high) >> 1
        if executed[middle].index < index:
            low = middle + 1
        else:
            high = middle
    return low if low < len(executed) and executed[low].index == index else np.int64(-1)


@inner
def enter_warp(warp, index, executed, warps, state):
    """Go to a warp; False where launch or sample do not hold it."""
    if warp >= warps:
        return False
    if state.ordinal < 0 or executed[state.ordinal].index != index:
        found = _find(index, state.ordinal + 1, executed)
        if found < 0:
            return False
        state.ordinal = found
        for i in range(warps):
            state.group_count[i] = 0
    state.warp = warp
    slot = executed[state.ordinal].path_slot + warp
    state.slot = slot if slot >= warp and state.is_logged[slot] else -1
    return True
