"""On which chips forecasts were compared with measurements."""

from __future__ import annotations

from kernelcast.machines.machine import Machine

_COMPARED = frozenset(((7, 0), (7, 5), (8, 0), (8, 6), (9, 0)))
"""Compute capabilities of the chips on which launches were compared."""


def is_compared(machine: Machine) -> bool:
    """Whether launches on a chip of the same compute capability were compared."""
    return machine.compute_capability in _COMPARED


def is_before_compared(machine: Machine) -> bool:
    """Whether the chip is older than all on which launches were compared."""
    return machine.compute_capability < min(_COMPARED)
