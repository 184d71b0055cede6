"""The cusp: warps that hide latency against arithmetic intensity, on Volkov's workload.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, section 4.5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelcast.errors import InputError
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.latency_hiding import needed_warps
from kernelcast.models.terms.mix import Mix, check_alphas, mix_chip
from kernelcast.profiling.profile import Floats

_STEPS_PER_OCTAVE = 8
_LAST_OCTAVE = 9

ALPHAS = tuple(2 ** (k / _STEPS_PER_OCTAVE) for k in range(_STEPS_PER_OCTAVE * _LAST_OCTAVE + 1))
"""1 to 512 additions per load."""


@dataclass(frozen=True)
class Cusp:
    """Needed warps of a machine at every alpha, and at loads and additions alone."""

    machine: str
    alphas: tuple[float, ...]
    warps: Floats
    loads_alone: float
    additions_alone: float
    limit_warps: float

    @property
    def most(self) -> tuple[float, float]:
        """The alpha at which most warps are needed, and how many."""
        at = int(np.argmax(self.warps))
        return self.alphas[at], float(self.warps[at])

    @property
    def is_cusp(self) -> bool:
        """Whether more warps are needed in between than at either end."""
        return self.most[1] > max(self.loads_alone, self.additions_alone)


def cusp(machine: Machine, alphas: Sequence[float] = ALPHAS) -> Cusp:
    """The cusp of a machine at some alphas.

    Raises
    ------
    InputError
        If there is no alpha, or one is infinite, or by `check_alphas`.
    MissingNumberError
        If the machine lacks a number of the workload.
    """
    if not alphas:
        raise InputError("no alpha is given", hint="give at least one")
    check_alphas(alphas)
    if math.inf in alphas:
        raise InputError("alpha is inf", hint="additions alone are always told; leave it out")
    chip = mix_chip(machine, Mix(0.0))
    return Cusp(
        machine=machine.name,
        alphas=tuple(alphas),
        warps=needed_warps(chip, np.array(alphas, np.float64)),
        loads_alone=float(needed_warps(chip, 0.0)),
        additions_alone=chip.alu_lat * min(chip.alu_thru, chip.issue_thru),
        limit_warps=machine.number("occupancy.warps_per_sm", "the cusp"),
    )
