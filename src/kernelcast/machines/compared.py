"""On which chips forecasts were compared with measurements, and which were measured for that."""

from __future__ import annotations

from kernelcast.machines.machine import Machine

_TELLING = "latency.dram_spread"
"""A number that a chip has once all of `kernelcast measure` was run on it."""
_COMPARED = frozenset(((7, 0), (7, 5), (8, 0), (8, 6), (9, 0)))
"""Compute capabilities of the chips on which launches were compared."""


def is_measured(machine: Machine) -> bool:
    """Whether the numbers of this very chip were measured by `kernelcast measure`."""
    quantity = machine.quantities.get(_TELLING)
    return quantity is not None and quantity.kind == "measured"


def is_compared(machine: Machine) -> bool:
    """Whether launches on a chip of the same compute capability were compared."""
    return machine.compute_capability in _COMPARED


def is_before_compared(machine: Machine) -> bool:
    """Whether the chip is older than all on which launches were compared."""
    return machine.compute_capability < min(_COMPARED)
