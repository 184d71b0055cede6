"""What every instruction has in what binds: the heat of its line."""

from __future__ import annotations

import numpy as np

from kernelcast.ir import Space
from kernelcast.models.terms.base import Bottleneck, Prediction
from kernelcast.profiling.profile import Floats, Profile
from kernelcast.reporting.documents.lines import MEMORY_BOUND
from kernelcast.simulation.results import STALLS

_BEYOND_SM = (Space.GLOBAL, Space.LOCAL)
_NO_WAITING = ("selected", "not selected")


def instruction_costs(prediction: Prediction) -> tuple[str, list[float]]:
    """What is counted, in words, and every instruction's share of it.

    Where warps were simulated, the cycles in which they wait before an instruction; else what asks
    most of what binds: sectors, passes of shared memory, or warp instructions.
    """
    profile = prediction.case.profile
    found = prediction.simulated
    if found is not None:
        waiting = [at for at, name in STALLS.items() if name not in _NO_WAITING]
        return "cycles of warps that wait", _shares(found.stalls[:, waiting].sum(axis=1))
    if prediction.bottleneck is Bottleneck.SHARED_BANDWIDTH:
        passes = _summed(profile, (Space.SHARED,), "passes")
        if passes.any():
            return "cycles of shared memory", _shares(passes)
    if prediction.bottleneck in MEMORY_BOUND:
        sectors = _summed(profile, _BEYOND_SM, "sectors")
        if sectors.any():
            return "sectors of global and local memory", _shares(sectors)
    return "warp instructions", _shares(profile.instruction_warps)


def _summed(profile: Profile, spaces: tuple[Space, ...], count: str) -> Floats:
    found = np.zeros(len(profile.kernel.instructions))
    for access in profile.accesses:
        if access.space in spaces:
            found[access.instruction] += getattr(access, count)
    return found


def _shares(counts: Floats) -> list[float]:
    whole = float(counts.sum())
    return [float(count) / whole if whole else 0.0 for count in counts]
