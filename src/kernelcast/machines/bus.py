"""The bus between a chip and its host.

Source: PCI-SIG, PCI Express Base Specification: 500 MB/s a lane and direction in the second
generation, 8 GT/s with 128 bits in 130 in the third, and twice as much in each one after it.
NVIDIA's data sheets say which generation a chip has.
"""

from __future__ import annotations

from kernelcast.machines.machine import Machine

_LANES = 16
_SECOND, _THIRD = 500e6, 8e9 * 128 / 130 / 8
_RATE_BEFORE = (((3, 0), _SECOND), ((8, 0), _THIRD), ((9, 0), 2 * _THIRD))
_NEWEST = 4 * _THIRD


def bus_bandwidth(machine: Machine) -> float:
    """Bytes per second that 16 lanes move in one direction, at the most.

    PCI Express 2.0 up to compute capability 2.x, 3.0 up to 7.x, 4.0 for 8.x, 5.0 from 9.0 on.
    """
    for before, rate in _RATE_BEFORE:
        if machine.compute_capability < before:
            return _LANES * rate
    return _LANES * _NEWEST
