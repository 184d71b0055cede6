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


@inlined
def begin_turn(warp, state):
    """What is known of the lanes of a warp that goes on: those that it executes together, 0 before
    the first and -1 where they have parted, the block that they were last in, and whether others
    left them there."""
    return state.together[warp], state.last_block[warp], state.was_left[warp]


@inlined
def end_turn(warp, together, last_block, was_left, issued, warp_instructions, state):
    """Keep what is known of the lanes of a warp, and what it executed, until it goes on."""
    state.together[warp], state.last_block[warp] = together, last_block
    state.was_left[warp] = was_left
    if issued:
        warp_instructions[state.ordinal, warp] += issued


@inlined
def enter_block(block, mask, together, last_block, was_left, blocks, state):
    """Count one BLOCK record; returns what is then known of the lanes of the warp, and how many
    instructions it executes."""
    entered = blocks[np.uint64(block)]
    if mask == together or (together == 0 and mask):
        threads = popcount(mask)
        if together:
            left = blocks[np.uint64(last_block)]
            left.passed += threads * (left.next == block)
        entered.whole += 1
        entered.threads += threads
        return mask, block, np.int64(0), entered.length
    if together >= 0:
        _part(together, last_block, was_left, state)
    issued = _regroup(block, mask, blocks, state)
    warp = state.warp
    if state.group_count[warp] != 1:
        return np.int64(-1), block, np.int64(0), issued
    together, last_block = state.group_mask[warp, 0], state.group_block[warp, 0]
    return together, last_block, state.group_diverged[warp, 0], issued


@inner
def _part(together, last_block, was_left, state):
    """Turn the lanes that a warp executes together into its only group, or none at first."""
    warp = state.warp
    state.group_count[warp] = together != 0
    state.group_mask[warp, 0] = together
    state.group_block[warp, 0] = last_block
    state.group_diverged[warp, 0] = was_left


@inner
def _regroup(block, mask, blocks, state):
    """Lanes of several groups, or some of one, come to a block: count them, and return how many
    instructions the warp executes for them.

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
    entered = blocks[block]
    apart, together = entered.length, arrivals
    if entered.reconvergence >= 0:
        apart, together = entered.reconvergence, np.int64(1)
        count = known + 1
        masks[known] = mask
    kept = 0
    for group in range(count):
        if masks[group]:
            masks[kept], last[kept], diverged[kept] = masks[group], last[group], diverged[group]
            kept += 1
    state.group_count[warp] = kept
    entered.arrivals += arrivals
    entered.warps += together
    entered.threads += popcount(mask)
    return apart * arrivals + (entered.length - apart) * together


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
            state.together[i] = 0
    state.warp = warp
    slot = executed[state.ordinal].path_slot + warp
    state.slot = slot if slot >= warp and state.is_logged[slot] else -1
    return True
