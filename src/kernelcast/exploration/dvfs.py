"""Time of a launch against the clocks of the SMs and of the memory.

Every point is a forecast of its own, for the machine at those clocks (`machines.clocks`). Beside it
stands what scaling the stalls of the nominal run alone would say, in the manner of CRISP (R. Nath,
D. Tullsen: The CRISP performance model for dynamic voltage and frequency scaling in a GPGPU. MICRO
2015), which counts on the chip what is taken from the forecast here. With r = nominal clock over
clock:

    T(r) = fixed + max(r C_load, T_load) + max(r C_store, T_store)

T_load is the critical path of loads, which takes as long at any clock, and C_load the computation
that runs meanwhile: it matters once it has grown beyond the path. T_store is all other time: the
computation that nothing overlaps, and stalls for stores, which hide what computation grows by until
that is used up. The memory's clock is the nominal one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product

from kernelcast.ir import OpClass, Space
from kernelcast.machines.machine import Machine, Provenance, Quantity
from kernelcast.machines.schema import ENTRIES
from kernelcast.models.terms.base import Bottleneck, Case, Model, Prediction
from kernelcast.models.volkov import Volkov
from kernelcast.profiling.profile import Profile

SM_CLOCK = "clock.sm"
MEMORY_CLOCK = "clock.memory"

_MEMORY_PARTS = (
    "memory",
    str(Bottleneck.MEMORY_LATENCY),
    f"exposed {Bottleneck.MEMORY_LATENCY}",
    str(Bottleneck.DRAM_BANDWIDTH),
    str(Bottleneck.PCIE_BANDWIDTH),
    str(Bottleneck.MISS_REGISTERS),
)
"""Parts of a model's breakdown that take as long at any clock of the SMs."""
_L2_PARTS = (str(Bottleneck.L2_BANDWIDTH), str(Bottleneck.NOC_BANDWIDTH))
"""So do these where L2 cache and network have a clock of their own."""


@dataclass(frozen=True, slots=True)
class StallScaling:
    """A nominal run as CRISP sees it, in seconds.

    `load_path_s` and `under_loads_s` are T_load and C_load, `store_path_s` and `computation_s`
    T_store and C_store; `fixed_s` is the host's part.
    """

    fixed_s: float
    load_path_s: float
    under_loads_s: float
    store_path_s: float
    computation_s: float

    def repeated(self, times: float) -> StallScaling:
        """So many such runs, one after the other."""
        return StallScaling(*(times * getattr(self, part.name) for part in fields(self)))

    def time_s(self, slower: float) -> float:
        """The run at a clock that is the nominal one divided by `slower`."""
        loads = max(slower * self.under_loads_s, self.load_path_s)
        return self.fixed_s + loads + max(slower * self.computation_s, self.store_path_s)


@dataclass(frozen=True, slots=True)
class ClockPoint:
    """One pair of clocks; `memory_hz` is None where the machine has none.

    `scaled_s` is what scaling the stalls of the nominal run says, None at another memory clock.
    """

    sm_hz: float
    memory_hz: float | None
    time_s: float
    bottleneck: Bottleneck
    scaled_s: float | None


@dataclass(frozen=True)
class ClockCurve:
    """A launch by one model at several clocks; `nominal` is at the machine's own.

    Points are in the order of the clocks given, that of the memory slower.
    """

    nominal: Prediction
    scaling: StallScaling
    points: tuple[ClockPoint, ...]


def usual_clocks(machine: Machine) -> tuple[float, ...]:
    """Clocks of the SMs in Hz where nobody says any: from half of the machine's to all, in tenths.

    MissingNumberError where the machine has none.
    """
    own = machine.number(SM_CLOCK, "clocks to sweep")
    return tuple(own * tenths / 10 for tenths in range(5, 11))


def clock_curve(
    case: Case, model: Model, sm_hz: Sequence[float], memory_hz: Sequence[float] = ()
) -> ClockCurve:
    """The launch at every clock of the SMs with every one of the memory, in Hz.

    Without `memory_hz` the memory keeps its own. Raises InputError for clocks that no machine has,
    or where the memory's is to change and the machine does not say its own, and
    MissingNumberError as the model does.
    """
    nominal = model.predict(case)
    scaling = stall_scaling(nominal)
    memories = memory_hz or (None,)
    points = tuple(_point(nominal, scaling, sm, memory) for memory, sm in product(memories, sm_hz))
    return ClockCurve(nominal, scaling, points)


def stall_scaling(nominal: Prediction) -> StallScaling:
    """What a nominal run spends on stalls and on computation.

    The path of loads and stores is the longest of what the resources outside the SMs take, what one
    warp after the other waits for memory, and what the model itself says of it; stores have their
    share of the sectors. What the busiest resource of an SM takes runs meanwhile.
    """
    case = nominal.case
    parts = {part.name: part.cycles for part in nominal.breakdown}
    fixed = parts.get(str(Bottleneck.LAUNCH_OVERHEAD), 0.0)
    total = nominal.cycles - fixed
    outside = _outside(case.machine)
    view = Volkov().view(case)
    bounds = {part.name: part.cycles for part in view.bounds()}
    waiting = bounds.pop("latency") * view.path.shares[Bottleneck.MEMORY_LATENCY]
    stalls = max(waiting, sum(parts.get(name, 0.0) for name in outside))
    stalls = min(total, max(stalls, *(bounds.get(name, 0.0) for name in outside)))
    busy = min(total, max(cycles for name, cycles in bounds.items() if name not in outside))
    alone = total - max(stalls, busy)
    stores = _store_share(case.profile)
    second = case.machine.number(SM_CLOCK)
    return StallScaling(
        fixed_s=fixed / second,
        load_path_s=(1 - stores) * stalls / second,
        under_loads_s=(1 - stores) * busy / second,
        store_path_s=(alone + stores * stalls) / second,
        computation_s=(alone + stores * busy) / second,
    )


def _outside(machine: Machine) -> tuple[str, ...]:
    """What does not follow the clock of the SMs."""
    return _MEMORY_PARTS if machine.get("clock.l2") is None else (*_MEMORY_PARTS, *_L2_PARTS)


def _store_share(profile: Profile) -> float:
    """Of the sectors that the launch asks memory for, those that it stores."""
    outside = [a for a in profile.accesses if a.space in (Space.GLOBAL, Space.LOCAL)]
    stored = sum(a.sectors for a in outside if a.op_class is OpClass.STORE)
    return stored / (sum(a.sectors for a in outside) or 1.0)


def _point(
    nominal: Prediction, scaling: StallScaling, sm_hz: float, memory_hz: float | None
) -> ClockPoint:
    machine = nominal.case.machine
    found = nominal.model.predict(nominal.case.on(_at(machine, sm_hz, memory_hz)))
    own = machine.get(MEMORY_CLOCK)
    slower = machine.number(SM_CLOCK) / sm_hz
    return ClockPoint(
        sm_hz=sm_hz,
        memory_hz=own if memory_hz is None else memory_hz,
        time_s=found.time_s,
        bottleneck=found.bottleneck,
        scaled_s=scaling.time_s(slower) if memory_hz in (None, own) else None,
    )


def _at(machine: Machine, sm_hz: float, memory_hz: float | None) -> Machine:
    clocks = {SM_CLOCK: sm_hz} | ({} if memory_hz is None else {MEMORY_CLOCK: memory_hz})
    given = {}
    for path, hz in clocks.items():
        ENTRIES[path].check(hz, f"{path} of {machine.name}")
        given[path] = Quantity(hz, ENTRIES[path].unit, Provenance.ASSUMED, "swept")
    return machine.with_quantities(given)
