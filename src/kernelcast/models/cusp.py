"""The cusp: warps that hide latency against arithmetic intensity, on Volkov's workload.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, section 4.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcast.machines.machine import Machine
from kernelcast.models.latency_hiding import Floats, needed_warps
from kernelcast.models.mix import Mix, mix_chip

_STEPS_PER_OCTAVE = 8
_LAST_OCTAVE = 9

ALPHAS = tuple(2 ** (k / _STEPS_PER_OCTAVE) for k in range(_STEPS_PER_OCTAVE * _LAST_OCTAVE + 1))
"""1 to 512 additions per load."""


@dataclass(frozen=True)
class Cusp:
    """Needed warps of a machine at every alpha of `ALPHAS`, and at loads and additions alone."""

    machine: str
    warps: Floats
    loads_alone: float
    additions_alone: float
    limit_warps: float

    @property
    def most(self) -> tuple[float, float]:
        """The alpha at which most warps are needed, and how many."""
        at = int(np.argmax(self.warps))
        return ALPHAS[at], float(self.warps[at])

    @property
    def is_cusp(self) -> bool:
        """Whether more warps are needed in between than at either end."""
        return self.most[1] > max(self.loads_alone, self.additions_alone)


def cusp(machine: Machine) -> Cusp:
    """The cusp of a machine; MissingNumberError where it lacks a number of the workload."""
    chip = mix_chip(machine, Mix(0.0))
    return Cusp(
        machine=machine.name,
        warps=needed_warps(chip, np.array(ALPHAS)),
        loads_alone=float(needed_warps(chip, 0.0)),
        additions_alone=chip.alu_lat * min(chip.alu_thru, chip.issue_thru),
        limit_warps=machine.number("occupancy.warps_per_sm", "the cusp"),
    )
