"""The synthetic workload: alpha additions for every slow instruction, and nothing else.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, sections 4.1, 4.7
and 5.1. The slow instruction is a load from memory in the primary mix. A mix names no chip: it runs
on any machine through `mix_work`, and as a kernel through `validation.mix_kernel`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from kernelcast.errors import InputError
from kernelcast.hierarchy.rules import (
    caches_loads_in_l1,
    caches_memory,
    merges_half_warps,
    merges_in_order,
    transaction_bytes,
)
from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.dram import dram_bandwidth, scattered_rate
from kernelcast.models.terms.latency import (
    conflict_latency,
    contention_law,
    issue_interval,
    transaction_latency,
)
from kernelcast.models.terms.latency_hiding import Chip, MemoryContention
from kernelcast.models.terms.throughput import further_slots, reissues
from kernelcast.models.terms.work import WarpWork

_WORD_BYTES = 4
COALESCED_BYTES = WARP_LANES * _WORD_BYTES
_NEEDED_BY = "the synthetic workload"
_MOST_ILP = 8
_LEAST_ALPHA, _MOST_ALPHA = 1e-12, 1e12
"""Beyond these the numbers of a mix are no longer those of a computer; 0 and infinity are exact."""


class MixKind(StrEnum):
    """What the slow instruction is."""

    STREAMING = "streaming"
    STRIDED = "strided"
    RANDOM = "random"
    CACHED = "cached"
    SHARED = "shared"
    SFU = "sfu"


@dataclass(frozen=True, slots=True)
class Mix:
    """alpha additions for every slow instruction, all back to back dependent.

    Parameters
    ----------
    alpha:
        Additions per slow instruction: 0 for slow instructions alone, infinite for additions alone.
    kind:
        The slow instruction: a load that misses every cache (streaming, strided, random), a load
        that hits the nearest cache, a load from shared memory, or a reciprocal square root.
    ways:
        Strided: words from one lane's to the next. Shared: lanes that want the same bank.
    ilp:
        Independent chains of instructions in every warp, one beside the other.
    """

    alpha: float
    kind: MixKind = MixKind.STREAMING
    ways: int = 1
    ilp: int = 1

    def __post_init__(self) -> None:
        check_alphas(self.alpha)
        if not 1 <= self.ilp <= _MOST_ILP:
            raise InputError(f"ilp is {self.ilp}", hint=f"give 1 to {_MOST_ILP} chains")
        if self.ways < 1:
            raise InputError(f"ways is {self.ways}", hint="give a whole number from 1 on")
        if self.kind is MixKind.SHARED and (self.ways > WARP_LANES or self.ways & (self.ways - 1)):
            raise InputError(
                f"{self.ways} lanes cannot share each bank of a warp alike",
                hint=f"give a power of two up to {WARP_LANES}",
            )
        if self.ways > 1 and self.kind not in (MixKind.STRIDED, MixKind.SHARED):
            raise InputError(
                f"ways is {self.ways} for a mix of kind {self.kind}",
                hint="only strided and shared mixes have ways",
            )


def check_alphas(alphas: ArrayLike) -> None:
    """InputError where one of `alphas` is no count of additions per slow instruction."""
    values = np.atleast_1d(np.asarray(alphas, np.float64))
    ends = (values == 0) | np.isposinf(values)
    wrong = values[~(ends | (values >= _LEAST_ALPHA) & (values <= _MOST_ALPHA))]
    if wrong.size:
        raise InputError(
            f"alpha is {wrong[0]:g}",
            hint=f"give 0, inf, or additions from {_LEAST_ALPHA:g} to {_MOST_ALPHA:g}",
        )


def mix_chip(machine: Machine, mix: Mix) -> Chip:
    """Latency and throughput of both instructions of a mix on a machine (Table 4.1).

    `mem_lat` and `mem_thru` are those of the slow instruction, whatever it is.

    Raises
    ------
    MissingNumberError
        If the machine lacks a number that this mix needs.
    InputError
        If loads from global memory are never cached on the machine and the mix asks for that.
    """
    issue = machine.number("sm.issue_per_cycle", _NEEDED_BY)
    mem_lat, mem_thru = _slow_instruction(machine, mix)
    return Chip(
        mem_lat=mem_lat,
        mem_thru=min(mem_thru, issue),
        alu_lat=machine.number("latency.fp32", _NEEDED_BY),
        # All instructions depend on each other, so that none is issued together with another.
        alu_thru=min(machine.number("throughput.fp32", _NEEDED_BY) / WARP_LANES, issue),
        issue_thru=issue,
        mem_slots=_passes(mix) if reissues(machine) else 1.0 + further_slots(machine, mix.kind),
    )


def mix_contention(machine: Machine, mix: Mix) -> MemoryContention | None:
    """Section 6.4 in slow instructions per cycle and SM, None where it does not apply."""
    law = contention_law(machine)
    streams = mix.kind in (MixKind.STREAMING, MixKind.STRIDED) and not _is_scattered(mix)
    if law is None or not streams:
        return None
    moved = _transactions(machine, mix)[1]
    per_rate = moved * machine.number("sm.count") * machine.number("clock.sm")
    extra = _slow_instruction(machine, mix)[0] - machine.number("latency.dram", _NEEDED_BY)
    return law.times(1, law.a + extra).in_units_of(per_rate)


def mix_work(
    machine: Machine, mix: Mix, warps: ArrayLike, alpha: ArrayLike | None = None
) -> WarpWork:
    """The work of a mix at `warps` warps per SM, for the models; arrays broadcast.

    `alpha`, where given, takes the place of the mix's own, so that one call answers for a whole
    range. With k independent chains a warp issues k instructions, each after the interval of
    section 3.7, before it waits for the first of them; loads from memory only as many as a warp may
    have in flight.

    Raises
    ------
    InputError
        If an occupancy is not from 1 to the most warps of an SM, or by `check_alphas`.
    MissingNumberError
        If the machine lacks a number.
    """
    n = np.asarray(warps, np.float64)
    most = machine.number("occupancy.warps_per_sm", _NEEDED_BY)
    if not np.all((n >= 1) & (n <= most)):
        raise InputError(f"an occupancy is outside 1 to {most:g} warps per SM", where=machine.name)
    a = np.asarray(mix.alpha if alpha is None else alpha, np.float64)
    check_alphas(a)
    chip = mix_chip(machine, mix)
    # Per slow instruction; without any, per addition.
    endless = np.isinf(a)
    additions, slow = np.where(endless, 1.0, a), np.where(endless, 0.0, 1.0)
    slow_lat = chip.mem_lat - np.minimum(a, 1.0) * _sooner(machine, mix)
    # Independent chains share the latency, but no instruction issues before its interval is over.
    interval = issue_interval(machine, _NEEDED_BY)
    alu_path = max(chip.alu_lat / mix.ilp, interval)
    slow_path = np.maximum(slow_lat / _in_flight(machine, mix), interval)
    return WarpWork(
        warps=n,
        arithmetic=additions,
        memory=slow,
        alu_lat=chip.alu_lat,
        alu_cycles=1 / chip.alu_thru,
        issue_cycles=(additions + slow * chip.mem_slots) / (additions + slow) / chip.issue_thru,
        mem_lat=slow_lat,
        mem_cycles=1 / chip.mem_thru,
        arithmetic_path=additions * alu_path,
        memory_path=slow * slow_path,
        lines=_lines(mix),
        sms=machine.number("sm.count", _NEEDED_BY),
        clock_hz=machine.number("clock.sm", _NEEDED_BY),
        pin_bandwidth=machine.number("dram.bandwidth", _NEEDED_BY),
        floating=additions,
        repeats=math.inf,
    )


def _sooner(machine: Machine, mix: Mix) -> float:
    """Cycles by which an addition gets a slow instruction's result sooner than another such does.

    Volkov 2016, section 4.7.
    """
    sooner = machine.get(f"latency.{mix.kind}_to_alu")
    return 0.0 if sooner is None else machine.number(f"latency.{mix.kind}", _NEEDED_BY) - sooner


def _in_flight(machine: Machine, mix: Mix) -> float:
    """Slow instructions of a warp at once, their issue apart (Volkov 2016, Listing 3.2)."""
    limit = machine.get("sm.loads_per_warp")
    leaves_sm = mix.kind not in (MixKind.SHARED, MixKind.SFU)
    return min(mix.ilp, limit) if leaves_sm and limit else mix.ilp


def _slow_instruction(machine: Machine, mix: Mix) -> tuple[float, float]:
    """Latency in cycles, and instructions per cycle and SM."""
    number = machine.number
    match mix.kind:
        case MixKind.SFU:
            thru = number("throughput.sfu", _NEEDED_BY) / WARP_LANES
            return number("latency.sfu", _NEEDED_BY), thru
        case MixKind.SHARED:
            latency = number("latency.shared", _NEEDED_BY)
            conflict = (
                (mix.ways - 1) * conflict_latency(machine, _NEEDED_BY) if mix.ways > 1 else 0.0
            )
            thru = number("throughput.load", _NEEDED_BY) / WARP_LANES
            return latency + conflict, thru / mix.ways
        case MixKind.CACHED:
            return _cached(machine)
    transactions, moved = _transactions(machine, mix)
    coalesced, _ = _transactions(machine, Mix(mix.alpha))
    extra = transactions - coalesced
    per_extra = transaction_latency(machine, _NEEDED_BY) if extra else 0.0
    latency = number("latency.dram", _NEEDED_BY) + extra * per_extra
    instructions = dram_bandwidth(machine, _NEEDED_BY)[0] / moved
    turns, _ = scattered_rate(machine, _NEEDED_BY)
    if _is_scattered(mix) and turns:
        # What bounds it is how often a memory can turn to another place, not how many bytes move.
        instructions = turns / transactions
    return latency, instructions / number("sm.count", _NEEDED_BY) / number("clock.sm", _NEEDED_BY)


def _passes(mix: Mix) -> float:
    """Times that one slow instruction goes through the memory unit."""
    return float(mix.ways) if mix.kind is MixKind.SHARED else _lines(mix)


def _is_scattered(mix: Mix) -> bool:
    """Whether every lane has a line of memory to itself."""
    return mix.kind in (MixKind.RANDOM, MixKind.STRIDED) and _lines(mix) == WARP_LANES


def _cached(machine: Machine) -> tuple[float, float]:
    if not caches_memory(machine):
        raise InputError(
            "loads from global memory are never cached on this chip", where=machine.name
        )
    number = machine.number
    if caches_loads_in_l1(machine):
        thru = number("l1.bandwidth", _NEEDED_BY) / COALESCED_BYTES
        return number("latency.l1", _NEEDED_BY), thru
    per_sm = number("l2.bandwidth", _NEEDED_BY) / number("sm.count") / number("clock.sm")
    return number("latency.l2", _NEEDED_BY), per_sm / COALESCED_BYTES


def _transactions(machine: Machine, mix: Mix) -> tuple[float, float]:
    """Transactions of one slow instruction, and bytes that it moves from memory.

    The rules of coalescing, CUDA C++ Programming Guide: where lanes merge in order, a transaction
    of 32 B per lane unless the half-warp reads one segment in order; in half-warps otherwise, the
    segments of 128 B that one touches, halved while one half is unused; in warps, the lines or
    sectors that one touches.
    """
    if mix.kind in (MixKind.SHARED, MixKind.SFU, MixKind.CACHED):
        return 1.0, 0.0
    if mix.kind is MixKind.RANDOM:
        return float(WARP_LANES), float(WARP_LANES * SECTOR_BYTES)
    stride = mix.ways * _WORD_BYTES
    if not merges_half_warps(machine):
        size = transaction_bytes(machine)
        touched = math.ceil(min(float(WARP_LANES), WARP_LANES * stride / size))
        return float(touched), float(touched * size)
    if mix.ways == 1:
        return 2.0, float(COALESCED_BYTES)
    if merges_in_order(machine):
        return float(WARP_LANES), float(WARP_LANES * SECTOR_BYTES)
    return _segments(stride)


def _lines(mix: Mix) -> float:
    """Lines of 128 B that one slow instruction touches."""
    if mix.kind is MixKind.RANDOM:
        return float(WARP_LANES)
    return float(min(WARP_LANES, mix.ways)) if mix.kind is MixKind.STRIDED else 1.0


def _segments(stride: int) -> tuple[float, float]:
    count, moved = 0, 0
    addresses = np.arange(WARP_LANES // 2) * stride
    for segment in np.unique(addresses // 128):
        inside = addresses[addresses // 128 == segment] % 128
        size = 128
        while size > SECTOR_BYTES and len(set(inside // (size // 2))) == 1:
            size //= 2
        count, moved = count + 2, moved + 2 * size
    return float(count), float(moved)
