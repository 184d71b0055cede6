"""The paths of some warps through the basic blocks, as far as there is room for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelcast.ir import Kernel
from kernelcast.profiling import layout
from kernelcast.profiling.profile import RepresentativeWarp, WarpPath
from kernelcast.profiling.representatives import groups_of_warps

ENTRIES = 1 << 20
"""Most entries of a path log; where it is full, every second warp is dropped from it."""


class PathLog:
    """Which warps' paths are logged, and what is known of them.

    What is dropped depends on the number of entries of every warp, not on their order: logs of
    parts of a run, merged, are the log of the whole.

    Attributes
    ----------
    entries:
        Room for the paths, of `layout.LOG_ENTRY`; a warp's are in its order.
    state:
        One record of `layout.STATE`, which says how many entries there are and who is logged.
    """

    def __init__(self, state: np.void) -> None:
        self.entries = np.empty(ENTRIES, layout.LOG_ENTRY)
        self.state = state
        self._slots = np.flatnonzero(state["is_logged"])

    @property
    def filled(self) -> NDArray[np.void]:
        """The entries so far."""
        return self.entries[: self.state["logged"]]

    def thin(self) -> None:
        """Make room: drop every second warp, or stop where one is left."""
        if len(self._slots) > 1:
            self._keep(self._slots[::2])
        else:
            self.state["is_logged"] = 0
        slot = self.state["slot"]
        if slot >= 0 and not self.state["is_logged"][slot]:
            self.state["slot"] = -1

    def merge(self, other: PathLog) -> None:
        """Take over the entries of another part of the run, whose warps are others."""
        fewer = min(self._slots, other._slots, key=len)
        self._keep(fewer)
        theirs = other.filled[np.isin(other.filled["slot"], fewer)]
        while self.state["logged"] + len(theirs) > len(self.entries):
            self._keep(self._slots[::2])
            theirs = theirs[np.isin(theirs["slot"], self._slots)]
        end = self.state["logged"] + len(theirs)
        self.entries[self.state["logged"] : end] = theirs
        self.state["logged"] = end

    def _keep(self, slots: NDArray[np.int64]) -> None:
        kept = self.filled[np.isin(self.filled["slot"], slots)]
        self.entries[: len(kept)] = kept
        self.state["logged"] = len(kept)
        self.state["is_logged"] = 0
        self.state["is_logged"][slots] = 1
        self._slots = slots

    def median_path(self, executed: NDArray[np.void], totals: NDArray[np.int64]) -> WarpPath:
        """Of the logged warps, the one nearest to the median instruction count of all.

        `totals` are the instructions of every executed block's warps.
        """
        slots = self._logged_slots()
        if not len(slots):
            nothing = np.zeros(0, np.int32)
            return WarpPath(block=-1, warp=-1, blocks=nothing, lanes=nothing)
        ordinals, warps = _warps_at(executed, slots)
        distance = np.abs(totals[ordinals, warps] - np.median(totals))
        return self._path(int(slots[np.argmin(distance)]), executed, totals)

    def representatives(
        self, kernel: Kernel, executed: NDArray[np.void], totals: NDArray[np.int64]
    ) -> tuple[RepresentativeWarp, ...]:
        """One logged warp of every group that is unlike the others; none where all are alike."""
        slots = self._logged_slots()
        if len(slots) < 2:
            return ()
        blocks = len(kernel.blocks)
        place = np.zeros(int(slots[-1]) + 1, np.int64)
        place[slots] = np.arange(len(slots))
        entered = np.bincount(
            place[self.filled["slot"]] * blocks + self.filled["block"],
            minlength=len(slots) * blocks,
        )
        groups = groups_of_warps(kernel, entered.reshape(len(slots), blocks))
        if len(groups) == 1:
            return ()
        return tuple(
            RepresentativeWarp(self._path(int(slots[warp]), executed, totals), share)
            for warp, share in groups
        )

    def _logged_slots(self) -> NDArray[np.int64]:
        slots: NDArray[np.int64] = np.flatnonzero(np.bincount(self.filled["slot"]))
        return slots

    def _path(self, slot: int, executed: NDArray[np.void], totals: NDArray[np.int64]) -> WarpPath:
        ordinal, warp = _warps_at(executed, np.array([slot]))
        entries = self.filled[self.filled["slot"] == slot]
        return WarpPath(
            block=int(executed["index"][ordinal[0]]),
            warp=int(warp[0]),
            blocks=entries["block"].copy(),
            lanes=entries["lanes"].copy(),
            instructions=int(totals[ordinal[0], warp[0]]),
        )


def _warps_at(
    executed: NDArray[np.void], slots: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of every slot, the ordinal of the block among those executed, and the warp of the block."""
    logged = np.flatnonzero(executed["path_slot"] >= 0)
    return logged[slots // layout.MAX_WARPS], slots % layout.MAX_WARPS
