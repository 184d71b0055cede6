"""Where the addresses of an Accel-Sim trace lie in our address map."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.execution.address_map import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES
from kernelcast.ir import Space
from kernelcast.traces.accel_sim.addresses import Pattern, read_addresses
from kernelcast.traces.accel_sim.code import StaticInstruction
from kernelcast.traces.accel_sim.lines import Head


class Spaces:
    """Reads the addresses of instructions, given where shared and local memory appear."""

    def __init__(self, head: Head) -> None:
        self._windows = {
            Space.SHARED: (_window(head.shared_base), SHARED_WINDOW),
            Space.LOCAL: (_window(head.local_base), LOCAL_WINDOW),
        }

    def read(
        self, code: StaticInstruction, mask: int, words: Sequence[str]
    ) -> tuple[int, Pattern] | None:
        """The address of the first active lane, and where the others lie from there.

        None where the line has no addresses that count. ValueError and IndexError where what
        stands there are none.
        """
        if not mask or not code.has_addresses or words[code.width_at] == "0":
            return None
        base, pattern = read_addresses(mask, words[code.width_at + 1 :])
        return base + self._shift(code, base), pattern

    def is_global(self, code: StaticInstruction, address: int) -> bool:
        """Whether an address, as `read` gives it, leads to global memory."""
        if code.space is Space.GENERIC:
            return all(address not in _window(to) for _, to in self._windows.values())
        return code.space is Space.GLOBAL

    def _shift(self, code: StaticInstruction, address: int) -> int:
        """How far our address lies from the trace's."""
        if code.space is Space.GLOBAL:
            return 0
        for space, (window, ours) in self._windows.items():
            if window.start and address in window:
                if code.space is space:
                    return -window.start
                if code.space is Space.GENERIC:
                    return ours - window.start
        return 0


def _window(start: int) -> range:
    return range(start, start + WINDOW_BYTES)
