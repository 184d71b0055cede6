"""The mix of latency hiding, played by the timing simulation.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, sections 4.1 and
5.1: alpha additions for every load, each dependent on the one before, repeated for ever. What is
played is one SM and its share of the chip; loads miss every cache, as those of the dissertation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import InputError
from kernelcast.execution.trace import Progress
from kernelcast.ir import BasicBlock, Instruction, Kernel, OpClass, Register, Space
from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.dram import dram_bandwidth
from kernelcast.models.terms.latency import issue_interval
from kernelcast.profiling.layout import GLOBAL
from kernelcast.profiling.profile import Floats
from kernelcast.simulation import streams
from kernelcast.simulation.code import issue_tables
from kernelcast.simulation.hardware import ChipShare, SmTimings, hardware_record
from kernelcast.simulation.layout import ROW
from kernelcast.simulation.plan import DetailedSms
from kernelcast.simulation.simulate import SimulationInput, simulate
from kernelcast.simulation.streams import WarpStreams
from kernelcast.validation.arena import LIMITS, even_occupancies
from kernelcast.validation.statements import spoken_alphas

_NEEDED_BY = "the timing simulation"
_WORD_BYTES = 4
_GROUP, _ADDITION = range(2)
"""Basic blocks: a load and its additions, and one addition."""

_FEWEST_GROUPS, _MOST_GROUPS = 6, 24
_INSTRUCTIONS = 1024
"""Of a warp, in half of what is played, with so many groups at the least and at the most."""
_MOST_ALPHA = 4096
_ENDLESS = 1 << 60


@dataclass(frozen=True, slots=True)
class MixPoint:
    """alpha additions for every load, by `warps` warps on every SM."""

    alpha: float
    warps: int


def _throughput(machine: Machine, point: MixPoint, *, together: bool = False) -> float:
    """Groups of a load and its additions per cycle and SM; additions where alpha is infinite.

    It is what the second half of the groups of every warp adds to the time. Warps begin evenly
    spread over a group, as if they had run for long, or all `together`, as those of a launch do.

    Raises
    ------
    InputError
        If alpha is no whole number up to 4096 and not infinite, or the warps are none.
    MissingNumberError
        If the machine lacks a number.
    """
    size = _group_size(point.alpha)
    groups = min(_MOST_GROUPS, max(_FEWEST_GROUPS, _INSTRUCTIONS // size))
    before = np.zeros(point.warps, np.int64) if together else _additions_before(machine, point)
    half, whole = (
        _cycles(machine, _streams(point, n, before), point) for n in (groups, 2 * groups)
    )
    return groups * point.warps / (whole - half)


class PlayedMixes:
    """What was played, each point once: an observed side of the arena.

    Machines are known by their names.
    """

    def __init__(self, *, together: bool = False) -> None:
        self._together = together
        self._known: dict[tuple[str, MixPoint], float] = {}

    def play_arena(
        self,
        machines: Sequence[Machine],
        alphas: Sequence[float],
        warps: Sequence[float] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Play all that the arena and its statements ask for; raises as `throughput`."""
        points = [
            (machine, point) for machine in machines for point in _asked(machine, alphas, warps)
        ]
        work = np.cumsum([_group_size(p.alpha) * p.warps for _, p in points])
        for (machine, point), done in zip(points, work, strict=True):
            self._one(machine, point)
            if progress:
                progress(done / work[-1])

    def throughput(self, machine: Machine, alphas: Floats, warps: Floats) -> Floats:
        """A row per alpha and a column per occupancy; played where they were not."""
        return np.array([[self._one(machine, MixPoint(a, int(n))) for n in warps] for a in alphas])

    def _one(self, machine: Machine, point: MixPoint) -> float:
        key = machine.name, point
        if key not in self._known:
            self._known[key] = _throughput(machine, point, together=self._together)
        return self._known[key]


def _asked(
    machine: Machine, alphas: Sequence[float], warps: Sequence[float] | None
) -> tuple[MixPoint, ...]:
    """By the arena, and by the statements on this machine; each once."""
    even = even_occupancies(machine)
    asked = (
        product((*alphas, *LIMITS), even if warps is None else warps),
        product((*spoken_alphas(machine.name), *LIMITS), even),
    )
    return tuple(dict.fromkeys(MixPoint(a, int(n)) for a, n in chain(*asked)))


def _group_size(alpha: float) -> int:
    """Instructions of a load and its additions."""
    if math.isinf(alpha):
        return 1
    if alpha != int(alpha) or not 0 <= alpha <= _MOST_ALPHA:
        raise InputError(
            f"the simulation cannot play {alpha:g} additions per load",
            hint=f"give a whole number up to {_MOST_ALPHA}, or inf",
        )
    return 1 + int(alpha)


def _additions_before(machine: Machine, point: MixPoint) -> NDArray[np.int64]:
    """By warp, the additions that it executes before its first group, to begin where others do not.

    Warps of different schedulers, which do not wait for each other's additions, begin alike.
    """
    if math.isinf(point.alpha):
        return np.zeros(point.warps, np.int64)
    memory = machine.number("latency.dram", _NEEDED_BY) / machine.number("latency.fp32", _NEEDED_BY)
    schedulers = int(machine.number("sm.schedulers", _NEEDED_BY))
    place = np.arange(point.warps) // schedulers * schedulers
    return ((point.alpha + memory) * place / point.warps).astype(np.int64)


def _streams(point: MixPoint, groups: int, before: NDArray[np.int64]) -> WarpStreams:
    """What the warps of one block do; warp w's k-th load is from line n k + w."""
    entered = WARP_LANES << streams.ENTERED_LANES_SHIFT | streams.ENTER
    each = np.full((point.warps, groups, 1 if math.isinf(point.alpha) else 3), entered, np.int64)
    each |= _GROUP << streams.BLOCK_SHIFT
    if not math.isinf(point.alpha):
        lines = np.arange(groups) * point.warps + np.arange(point.warps)[:, None]
        all_sectors = 15 << streams.SECTORS_SHIFT | streams.LINE
        each[:, :, 1] = _coalesced_load()
        each[:, :, 2] = lines << streams.LINE_SHIFT | all_sectors
    addition = entered | _ADDITION << streams.BLOCK_SHIFT
    words = [
        np.concatenate([np.full(count, addition, np.int64), own.ravel()])
        for count, own in zip(before, each, strict=True)
    ]
    starts = np.cumsum([0, *map(len, words)])
    return WarpStreams(1, point.warps, np.zeros(1, np.int64), starts, np.concatenate(words))


def _coalesced_load() -> int:
    """The word of the load: a word for every lane, all from one line."""
    return (
        streams.ACCESS
        | 1 << streams.LINES_SHIFT
        | 0 << streams.INSTRUCTION_SHIFT
        | WARP_LANES << streams.LANES_SHIFT
        | 1 << streams.PASSES_SHIFT
        | 1 << streams.IDEAL_SHIFT
        | 1 << streams.TAGS_SHIFT
        | GLOBAL << streams.SPACE_SHIFT
    )


@cache
def _kernel(alpha: float) -> Kernel:
    """A load and its additions, all on one register, and after them an addition alone."""
    register = Register("a", "f32")
    size = _group_size(alpha)
    load = Instruction(
        0,
        "load",
        (),
        (),
        OpClass.LOAD,
        reads=(register,),
        writes=(register,),
        space=Space.GLOBAL,
        access_bytes=_WORD_BYTES,
    )
    additions = tuple(
        Instruction(k, "add", (), (), OpClass.FP32, reads=(register,), writes=(register,))
        for k in range(0 if math.isinf(alpha) else 1, size + 1)
    )
    code = additions if math.isinf(alpha) else (load, *additions)
    blocks = (BasicBlock(_GROUP, 0, size, (_GROUP,)), BasicBlock(_ADDITION, size, size + 1, (0,)))
    return Kernel("mix", "mix", "", (), code, blocks)


def _cycles(machine: Machine, played: WarpStreams, point: MixPoint) -> int:
    """Cycles of an SM until all warps have ended."""
    timings = SmTimings(machine)
    least = max(1, round(issue_interval(machine, _NEEDED_BY)))
    code = issue_tables(_kernel(point.alpha), timings, same_warp_cycles=lambda _: least, pairs={})
    sms = int(machine.number("sm.count", _NEEDED_BY))
    share = ChipShare(1, sms, 1 / sms)
    hardware = hardware_record(
        timings,
        share,
        resident=1,
        warps=point.warps,
        registers=code.registers,
        has_l1=False,
    )
    plan = DetailedSms(1, ((0,),), 1, share.share)
    rows = _rows(machine, share)
    given = SimulationInput(code, played, hardware, rows)
    return simulate(given, plan, None, most_issued=_ENDLESS).cycles


def _rows(machine: Machine, share: ChipShare) -> NDArray[np.void]:
    """Every sector comes from the DRAM."""
    rows = np.zeros(1, ROW)
    bytes_per_s, _ = dram_bandwidth(machine, _NEEDED_BY)
    clock_hz = machine.number("clock.sm", _NEEDED_BY)
    rows["l1_miss"] = rows["dram"] = 1.0
    rows["dram_cycles"] = SECTOR_BYTES * clock_hz / bytes_per_s / share.share
    return rows
