"""Warps that are alike, and the one that stands for them.

L. Wang et al.: MDM. MICRO 2020, section II: a representative warp is chosen by what no machine
changes, such as its mix of instructions and their dependences (GPUMech clusters warps for it).
Warps are compared here by three views of what they executed: its basic blocks, its classes of
instructions, and the longest chains of dependent instructions inside its blocks. Every view counts
instructions; two warps are as far from each other as the mean share in which the views differ.

Groups grow around the warp that is farthest from all others so far (Gonzalez 1985), until none is
far. One step of k-means then puts each warp to the nearest mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelcast.ir import BasicBlock, Kernel, OpClass, Register
from kernelcast.profiling.profile import Floats

_ALIKE = 0.1
"""Warps that differ in a smaller share of a mean warp's instructions are alike."""
_MOST = 8
"""Most groups; more would tell of single warps."""


def groups_of_warps(kernel: Kernel, entered: NDArray[np.int64]) -> tuple[tuple[int, float], ...]:
    """The warp nearest to the mean of each group, and the group's share of the warps.

    `entered[w, b]` is how often warp w entered basic block b.
    """
    different, first, counts = np.unique(entered, axis=0, return_index=True, return_counts=True)
    views = _views(kernel, different.astype(np.float64))
    centres = _far_apart(views, counts)
    group = np.argmin([_distances(views, views[centre]) for centre in centres], axis=0)
    found = []
    for number in range(len(centres)):
        members = np.flatnonzero(group == number)
        mean = np.average(views[members], axis=0, weights=counts[members])
        nearest = members[np.argmin(_distances(views[members], mean))]
        found.append((int(first[nearest]), float(counts[members].sum() / len(entered))))
    return tuple(found)


def _views(kernel: Kernel, entered: Floats) -> Floats:
    """A row per warp: instructions by block, by class, and in chains by block, of a mean warp."""
    lengths = np.array([b.end - b.start for b in kernel.blocks], np.float64)
    chains = np.array([_chain(kernel, b) for b in kernel.blocks], np.float64)
    classes = list(OpClass)
    mix = np.zeros((len(kernel.blocks), len(classes)))
    for block in kernel.blocks:
        for i in kernel.instructions[block.start : block.end]:
            mix[block.index, classes.index(i.op_class)] += 1
    mean = max(1.0, float((entered @ lengths).mean()))
    return np.concatenate([entered * lengths, entered @ mix, entered * chains], axis=1) / (3 * mean)


def _chain(kernel: Kernel, block: BasicBlock) -> int:
    """The longest chain of instructions of a block that each need the result of one before."""
    depth: dict[Register, int] = {}
    longest = 0
    for i in kernel.instructions[block.start : block.end]:
        own = 1 + max((depth.get(register, 0) for register in i.reads), default=0)
        depth |= dict.fromkeys(i.writes, own)
        longest = max(longest, own)
    return longest


def _far_apart(views: Floats, counts: NDArray[np.int64]) -> Sequence[int]:
    """Rows such that no other is far from all of them; the first is the one most are near to."""
    centre = int(np.argmin(_distances(views, np.average(views, axis=0, weights=counts))))
    centres, nearest = [centre], _distances(views, views[centre])
    while len(centres) < _MOST and nearest.max() > _ALIKE:
        centres.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, _distances(views, views[centres[-1]]))
    return centres


def _distances(views: Floats, of: Floats) -> Floats:
    distances: Floats = np.abs(views - of).sum(axis=1)
    return distances
