"""Which clock each number of a machine follows, and what it is at another one.

An SM counts in cycles of its own clock f_sm. What lies outside of it takes seconds, so at another
f_sm it takes as many seconds and other cycles. With r = new clock / old clock of a domain:

    cycles that follow    become            numbers
    the SM                n                 arithmetic, latency.shared, latency.l1, barriers
    the L2 cache          n r_sm / r_l2     what latency.l2, .l2_far, .atomic have beyond latency.l1
    the memory            n r_sm / r_mem    what latency.dram has beyond latency.l2, but for
    no clock              n r_sm            dram.core_latency of it, and latency.tlb_miss

The L2 cache and the network have the SM's clock where the machine has no `clock.l2` (an assumption:
simulators run them so, and L2 takes 212 cycles on a V100 at 1.38 GHz, 211 on one at 1.2 GHz).
Rates follow the clock of their domain: `l2.bandwidth` and `noc.bandwidth` r_l2, all of the DRAM's
r_mem. Constants of models that are such latencies or rates follow as these do. The host's part of a
launch (`launch.overhead`, `.cold_overhead`) follows none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelcast.errors import InputError

CLOCKS = ("clock.sm", "clock.l2", "clock.memory")
"""Paths of the clocks that other numbers follow."""

Known = Callable[[str], float | None]
"""A number by its path, None where it is not known."""


@dataclass(frozen=True, slots=True)
class _Ratios:
    """New over old clock of the three domains."""

    sm: float
    l2: float
    memory: float


_L2_RATES = (
    *("l2.bandwidth", "l2.mixed_bandwidth", "l2.write_bandwidth"),
    *("l2.request_rate", "l2.write_rate"),
    *("noc.bandwidth", "atomics.rate"),
)
_MEMORY_RATES = (
    *(f"dram.{which}bandwidth" for which in ("", "achieved_", "write_", "mixed_", "triad_")),
    *("dram.scattered_rate", "volkov.latency_capacity", "volkov.latency_capacity_2"),
)
_BEYOND_L1 = ("latency.l2", "latency.l2_far", "latency.atomic", "fetch.l2_latency")
_L2_CYCLES = (
    "latency.l2_spread",
    "latency.l2_all_sms",
    "latency.atomic_conflict",
    "atomics.same_address_cycles",
)
_DRAM_LATENCIES = ("latency.dram", "volkov.latency_base", "mwp_cwp.mem_ld")
_MEMORY_CYCLES = (
    *("volkov.latency_slope", "volkov.latency_slope_2", "latency.dram_contention"),
    "latency.dram_spread",
    "latency.dram_line_spread",
    "latency.dram_all_sms",
    *("mwp_cwp.departure_uncoalesced", "mwp_cwp.departure_coalesced"),
)
_L2_SECONDS = (
    "atomics.same_address",
    "atomics.same_address_float",
    "atomics.same_address_block",
    "atomics.same_address_system",
)


def at_clocks(known: Known, clocks: Mapping[str, float]) -> dict[str, float]:
    """What the numbers that follow a clock are at others; without the clocks themselves.

    `clocks` are in Hz, by paths of `CLOCKS`; the others stay. InputError where the memory's clock
    is to change and the present one is not known.
    """
    ratios = _ratios(known, clocks)
    found: dict[str, float] = {}
    _scale(found, known, _L2_RATES, ratios.l2)
    _scale(found, known, _MEMORY_RATES, ratios.memory)
    _scale(found, known, _L2_CYCLES, ratios.sm / ratios.l2)
    _scale(found, known, _MEMORY_CYCLES, ratios.sm / ratios.memory)
    _scale(found, known, _L2_SECONDS, 1 / ratios.l2)
    _scale(found, known, ("dram.write_wait",), 1 / ratios.memory)
    _scale(found, known, ("launch.block_interval",), 1 / ratios.sm)
    _scale(found, known, ("latency.tlb_miss",), ratios.sm)
    for path in _BEYOND_L1:
        if (cycles := known(path)) is not None:
            found[path] = _through_l2(known, cycles, ratios)
    for path in _DRAM_LATENCIES:
        if (cycles := known(path)) is not None:
            found[path] = _through_dram(known, cycles, ratios)
    return {path: value for path, value in found.items() if value != known(path)}


def _ratios(known: Known, clocks: Mapping[str, float]) -> _Ratios:
    sm = known("clock.sm")
    new_sm = clocks.get("clock.sm", sm)
    l2 = known("clock.l2")
    new_l2 = clocks.get("clock.l2", new_sm if l2 is None else l2)
    memory = known("clock.memory")
    new_memory = clocks.get("clock.memory", memory)
    if memory is None and new_memory is not None:
        raise InputError(
            "the machine has no clock.memory, so nothing tells how much faster another one is",
            where="clock.memory",
            hint="set dram.bandwidth and latency.dram instead",
        )
    return _Ratios(_ratio(new_sm, sm), _ratio(new_l2, l2 or sm), _ratio(new_memory, memory))


def _ratio(new: float | None, old: float | None) -> float:
    return 1.0 if new is None or old is None else new / old


def _scale(found: dict[str, float], known: Known, paths: tuple[str, ...], factor: float) -> None:
    for path in paths:
        if (value := known(path)) is not None:
            found[path] = value * factor


def _through_l2(known: Known, cycles: float, ratios: _Ratios) -> float:
    inside = min(cycles, _inside_sm(known))
    return inside + (cycles - inside) * ratios.sm / ratios.l2


def _through_dram(known: Known, cycles: float, ratios: _Ratios) -> float:
    near = known("latency.l2")
    upto_l2 = min(cycles, _inside_sm(known) if near is None else near)
    beyond = cycles - upto_l2
    core_s, clock_hz = known("dram.core_latency") or 0.0, known("clock.sm") or 0.0
    core = min(beyond, core_s * clock_hz)
    dram = (core + (beyond - core) / ratios.memory) * ratios.sm
    return _through_l2(known, upto_l2, ratios) + dram


def _inside_sm(known: Known) -> float:
    """Cycles of a load before it leaves the SM."""
    return known("latency.l1") or known("latency.shared") or 0.0
