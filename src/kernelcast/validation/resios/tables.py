"""Chapters 3, 4 and 6 of the thesis: its numbers, from our equations, executions and caches.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kernelcast.analysis.list_schedule import TieBreak, list_schedule
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.machines.loader import load_machine
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.launch_size import launch_size
from kernelcast.models.terms.resios_delays import (
    Delay,
    compute_delay,
    global_penalty,
    memory_delay,
    shared_penalty,
)
from kernelcast.models.terms.transfers import Direction, transfer_law
from kernelcast.validation.paper_numbers import PaperNumber

GPU = "gtx-460"
_MB = 1e6
_TRANSFERS = ((0.1, 0.142), (1, 1.263), (10, 5.910), (43.08, 8.616), (100, 20.0))
_MADD = ((1, 22), (2, 11), (5, 4.4), (11, 2), (12, 2.1667), (16, 2.125), (32, 2.0625), (48, 2.0417))
_PEAKS = (
    *((kind, 1.0, 1.059) for kind in ("add", "fadd", "fmul", "logic")),
    ("mul", 1.25, 2.074),
    ("fmadd", 1.125, 1.066),
    ("div", 63.4, 28.34),
    ("fdiv", 177.75, 78.22),
    ("sqrt", 53.8, 28.97),
)


def printed_number(source: str, says: str, unit: str, stated: float, found: float) -> PaperNumber:
    """A number to its printed digits."""
    text = f"{stated!r}"
    decimals = len(text.partition(".")[2]) if "." in text and not text.endswith(".0") else 0
    half = 0.5 * 10.0**-decimals if decimals else 0.0
    return PaperNumber(source, says, unit, stated - half, stated + half, found)


def equations() -> Iterator[PaperNumber]:
    """Chapters 3 and 4: transfers, delays and bandwidths."""
    machine = load_machine(GPU)
    yield from _transfers(machine)
    madd = _table_3_1(machine, "madd")
    for tlp, cycles in _MADD:
        says = f"delay of madd at TLP {tlp}"
        yield printed_number("(4.5)", says, "cycles", cycles, madd.printed(tlp))
    for kind, at_peak, further in _PEAKS:
        delay = _table_3_1(machine, kind)
        for warps, cycles in ((delay.peak, at_peak), (delay.peak + 1, further)):
            says = f"delay of {kind} at TLP {warps:g}"
            yield printed_number("(4.5)", says, "cycles", cycles, delay.printed(warps))
    yield from _memory(machine)


def _transfers(machine: Machine) -> Iterator[PaperNumber]:
    law = transfer_law(machine, Direction.TO_DEVICE)
    for megabytes, stated in _TRANSFERS:
        found = 1e3 * law.seconds(megabytes * _MB)
        yield printed_number("(4.2)", f"TRANSFER({megabytes:g} MB)", "ms", stated, found)
    knee = law.knee_bytes / _MB
    yield printed_number("(4.2)", "size from which on bandwidth is constant", "MB", 43.08, knee)


def _table_3_1(machine: Machine, kind: str) -> Delay:
    number = machine.number
    latency, throughput, warps = (
        number(f"resios.{kind}.{name}") for name in ("latency", "throughput", "warps")
    )
    return compute_delay(latency, throughput, warps)


def _memory(machine: Machine) -> Iterator[PaperNumber]:
    number = machine.number
    clock, sms, banks = number("clock.sm"), number("sm.count"), number("shared.banks")
    chip = number("resios.memory_bandwidth")
    latency, peak = number("resios.memory_latency"), number("resios.memory_warps")
    for c in (1, 8, 32):
        penalty = global_penalty(128, c, chip / clock)
        delay = memory_delay(latency, penalty, peak)
        found = latency + peak * delay.penalty
        says = f"{peak:g} requests together of {c} lines each: 500 + 16 c"
        yield printed_number("(4.8)", says, "cycles", 500 + 16 * c, found)
    shared = number("resios.shared_latency")
    for c in (0, 2, 32):
        for rate, stated, source in ((32.0, 37 + c, "(4.9)"), (4.0, 44 + 8 * c, "(4.9), 7")):
            found = shared + 8 * shared_penalty(4, c, banks, rate)
            says = f"8 requests, {c} conflicts, {rate:g} B/cycle of a bank"
            yield printed_number(source, says, "cycles", stated, found)
    total = number("resios.bank_bandwidth") * banks * sms * clock / 1e12
    yield printed_number("3.2", "bandwidth of shared memory", "TB/s", 1.21, total)
    yield printed_number("7", "bandwidth of one SM", "GB/s", 12.34, chip / sms / 1e9)
    yield printed_number("7", "bandwidth of one SM", "B/cycle", 9.14, chip / sms / clock)


TLPS = (1, 2, 4, 8, 12, 16, 24, 32, 48)
"""Warps of an SM at which throughputs are tabulated."""

_ILPS = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class ThroughputCurve:
    """Results per cycle of an SM, of a chain of `ilp` independent operations in every warp, at
    every number of warps of `TLPS`."""

    operation: str
    ilp: int
    results_per_cycle: tuple[float, ...]


def throughputs() -> Iterator[ThroughputCurve]:
    """Chapters 3 and 4: throughput against TLP and ILP, by equation 4.5 as printed."""
    machine = load_machine(GPU)
    for kind in ("madd", *(kind for kind, _, _ in _PEAKS)):
        delay = _table_3_1(machine, kind)
        for ilp in _ILPS:
            found = tuple(WARP_LANES / delay.printed(ilp * tlp) for tlp in TLPS)
            yield ThroughputCurve(kind, ilp, found)


_LATENCIES = (1, 2, 2, 1, 1, 2)
_NEEDS = ((), (), (), (), (), (4,))
"""Additions take two cycles, all else one; the last addition needs the instruction before it. The
thesis' own program is lost in the copy at hand, this one takes as long."""


def schedules() -> Iterator[PaperNumber]:
    """Section 5.1: list scheduling, in which the order of ties decides."""
    for tie, stated in ((TieBreak.CODE, 6), (TieBreak.FINISHES_FIRST, 5)):
        found = list_schedule(_LATENCIES, _NEEDS, 2, tie).cycles
        says = f"a graph like Figure 5.1's on two units, ties by {tie}"
        yield printed_number("Figure 5.1", says, "cycles", stated, found)


def launches() -> Iterator[PaperNumber]:
    """Chapter 7: the block sizes that the strategies of section 5.2.1 suggest."""
    machine = load_machine(GPU)
    small = launch_size(machine, 1024, compute_latencies=[20])
    exact = 1024 / (machine.number("sm.count") * 32)
    yield printed_number("5.2.1", "warps of an SM for 1024 threads, unrounded", "1", 4.57, exact)
    yield printed_number("7", "block of mul, 1024 threads", "threads", 160, small.block()[0])
    large = launch_size(machine, 1 << 20, memory_latencies=[500], intensity=2.0)
    for axis, found in zip("xy", large.block(2), strict=True):
        says = f"block of transpose and convolution, {axis}"
        yield printed_number("7", says, "threads", 32, found)


def conflicts_of_stride(bank: int) -> int:
    """gcd(32, bank): lanes in the fullest bank of Listing 3.3."""
    return math.gcd(32, bank)
