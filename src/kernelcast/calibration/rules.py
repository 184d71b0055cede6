"""Which number of a machine comes from which benchmark, by which fit."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernelcast.calibration import fits
from kernelcast.machines.machine import Kind

Samples = Sequence[Mapping[str, Any]]
Device = Mapping[str, Any]
Fitted = tuple[float, float]
"""A value and its relative residual."""

MAX_RESIDUAL = 0.05
MAX_MODEL_RESIDUAL = 0.10
_WARP_LANES = 32
_COALESCED_PITCH, _SECTOR_PITCH = 8, 32
_POINTER_BYTES = 8
_TRANSACTION_BYTES = 128
_BARRIER_WARPS = 8
_REPLACED_THREADS = 64


@dataclass(frozen=True, slots=True)
class Rule:
    """`path` is `fit` of the samples of `benchmark`; refused above `max_residual`."""

    path: str
    benchmark: str
    kind: Kind
    method: str
    fit: Callable[[Samples, Device], Fitted]
    max_residual: float = MAX_RESIDUAL


OPERATION_OF: Mapping[str, str] = {
    "fp16": "fp16_fma",
    "fp32": "fp32_fma",
    "fp64": "fp64_fma",
    "int": "int_add",
    "int_mul": "int_mad",
    "logic": "logic",
    "shift": "shift",
    "bitfield": "popc",
    "convert": "convert",
    "sfu": "rsqrt",
    "shuffle": "shuffle",
}
"""The operation that stands for a class of the machine file."""


def rules() -> Iterator[Rule]:
    """All rules, in no order that matters."""
    measured, fitted = Kind.MEASURED, Kind.FITTED
    for op_class, operation in OPERATION_OF.items():
        name = f"arithmetic.{operation}"
        slope = "slope of cycles over the length of a dependent chain"
        yield Rule(f"latency.{op_class}", name, measured, slope, _chain_latency)
        plateau = "plateau over warps and chains, one SM"
        yield Rule(f"throughput.{op_class}", name, measured, plateau, _throughput)
    yield Rule(
        "latency.issue_next",
        "arithmetic.fp32_fma",
        measured,
        "cycles per instruction of one warp with four chains",
        _issue_next,
    )
    yield Rule("latency.shared", "conflicts", measured, "chase without conflicts", _shared)
    yield Rule(
        "latency.bank_conflict", "conflicts", measured, "slope over conflicting lanes", _conflict
    )
    for level, method in (
        ("l1", "chase of up to 16 KiB"),
        ("l2", "chase of 64 KiB to a quarter of L2, past L1"),
        ("dram", "chase of at least twice L2, in order, past L1"),
    ):
        yield Rule(f"latency.{level}", "chase", measured, method, partial(_chase, level))
    for level in ("l1", "shared"):
        name, method = f"bandwidth.{level}", "plateau of reads over warps and widths, one SM"
        yield Rule(f"{level}.bandwidth", name, measured, method, _near_bandwidth)
    reads = "plateau of reads over occupancies and widths"
    yield Rule("l2.bandwidth", "bandwidth.l2", measured, reads, _stream_bandwidth)
    best = "plateau of reads, writes and copies over occupancies and widths"
    yield Rule("dram.achieved_bandwidth", "bandwidth.dram", measured, best, _stream_bandwidth)
    barrier = f"barrier of a block of {_BARRIER_WARPS} warps"
    yield Rule("latency.barrier", "barriers", measured, barrier, _barrier)
    gap = f"median gap between blocks of {_REPLACED_THREADS} threads, one block per SM"
    yield Rule("latency.block_replacement", "block_replacement", measured, gap, _replacement)
    slope = "slope of time over the number of launches"
    yield Rule("launch.overhead", "launches", measured, slope, _launch)
    for part, path in (("base", "base"), ("slope", "slope"), ("capacity", "capacity")):
        yield Rule(
            f"volkov.latency_{path}",
            "loaded_latency",
            fitted,
            "latency = a + b T/(c - T), coalesced (Volkov 2016, section 6.4)",
            partial(_volkov, part),
            MAX_MODEL_RESIDUAL,
        )
    yield Rule(
        "mwp_cwp.mem_ld",
        "loaded_latency",
        fitted,
        "round trip, one warp per SM",
        _memory_round_trip,
    )
    for name, pitch in (("coalesced", _COALESCED_PITCH), ("uncoalesced", _SECTOR_PITCH)):
        yield Rule(
            f"mwp_cwp.departure_{name}",
            "loaded_latency",
            fitted,
            "least latency over warps, per transaction (Hong and Kim 2009, section 3.2.2)",
            partial(_departure, pitch),
        )


def _chain_latency(samples: Samples, _: Device) -> Fitted:
    alone = [s for s in samples if s["chains"] == 1 and s["warps"] == 1]
    lengths, cycles = [], []
    for s in alone:
        for value in s["warp_cycles"]:
            lengths.append(s["instructions"] / s["iterations"])
            cycles.append(value / s["iterations"])
    found = fits.line(lengths, cycles)
    return found.slope, found.residual


def _throughput(samples: Samples, _: Device) -> Fitted:
    rates = [
        _WARP_LANES * s["warps"] * s["instructions"] / statistics.median(s["span_cycles"])
        for s in samples
    ]
    return _of(fits.best_plateau(rates))


def _issue_next(samples: Samples, _: Device) -> Fitted:
    many = [s for s in samples if s["chains"] == 4 and s["warps"] == 1]
    return _of(fits.level([c / s["instructions"] for s in many for c in s["warp_cycles"]]))


def _per_hop(samples: Samples) -> list[float]:
    return [cycles / s["hops"] for s in samples for cycles in s["warp_cycles"]]


def _shared(samples: Samples, _: Device) -> Fitted:
    return _of(fits.level(_per_hop([s for s in samples if s["degree"] == 1])))


def _conflict(samples: Samples, _: Device) -> Fitted:
    degrees = [s["degree"] for s in samples for _repeat in s["warp_cycles"]]
    found = fits.line(degrees, _per_hop(samples))
    return found.slope, found.residual


def _chase(level: str, samples: Samples, device: Device) -> Fitted:
    l2 = device["l2_bytes"]
    kernel, low, high = {
        "l1": ("chase_ca", 0, 16 << 10),
        "l2": ("chase_cg", 64 << 10, l2 // 4),
        "dram": ("chase_cg", 2 * l2, float("inf")),
    }[level]
    chosen = [
        s
        for s in samples
        if s["kernel"] == kernel
        and low <= s["footprint_bytes"] <= high
        and (s["order"], s["stride_bytes"]) == ("next", 128)
    ]
    return _of(fits.level(_per_hop(chosen)))


def _near_bandwidth(samples: Samples, _: Device) -> Fitted:
    rates = [s["bytes"] / statistics.median(s["span_cycles"]) for s in samples]
    return _of(fits.best_plateau(rates))


def _stream_bandwidth(samples: Samples, _: Device) -> Fitted:
    rates = [s["bytes"] / statistics.median(s["seconds"]) for s in samples if s["stride"] == 1]
    return _of(fits.best_plateau(rates))


def _barrier(samples: Samples, _: Device) -> Fitted:
    chosen = [s for s in samples if s["warps"] == _BARRIER_WARPS]
    return _of(fits.level([c / s["barriers"] for s in chosen for c in s["span_cycles"]]))


def _replacement(samples: Samples, _: Device) -> Fitted:
    chosen = [s for s in samples if s["threads"] == _REPLACED_THREADS]
    return _of(fits.level([gap for s in chosen for gap in s["gap_cycles"]]))


def _launch(samples: Samples, _: Device) -> Fitted:
    points = [(s["launches"], statistics.median(s["seconds"])) for s in samples]
    found = fits.line([n for n, _ in points], [t for _, t in points])
    return found.slope, found.residual


def _loaded(samples: Samples, pitch: int) -> tuple[list[float], list[float], list[float]]:
    """Warps per SM, bytes per second that are asked for, and mean latency."""
    chosen = [s for s in samples if s["lane_pitch_bytes"] == pitch]
    hops_bytes = _WARP_LANES * _POINTER_BYTES
    return (
        [s["warps_per_sm"] for s in chosen],
        [
            s["warps"] * (s["hops"] + s["warm_hops"]) * hops_bytes / statistics.median(s["seconds"])
            for s in chosen
        ],
        [statistics.median(s["warp_cycles"]) / s["hops"] for s in chosen],
    )


def _volkov(part: str, samples: Samples, _: Device) -> Fitted:
    _warps, throughputs, latencies = _loaded(samples, _COALESCED_PITCH)
    found = fits.loaded_latency(throughputs, latencies)
    return getattr(found, part), found.residual


def _memory_round_trip(samples: Samples, _: Device) -> Fitted:
    wanted = (_COALESCED_PITCH, 1)
    alone = [s for s in samples if (s["lane_pitch_bytes"], s["warps_per_sm"]) == wanted]
    return _of(fits.level(_per_hop(alone)))


def _departure(pitch: int, samples: Samples, _: Device) -> Fitted:
    warps, _throughputs, latencies = _loaded(samples, pitch)
    found = fits.departure_delay(warps, latencies)
    coalesced = _WARP_LANES * _POINTER_BYTES // _TRANSACTION_BYTES
    transactions = coalesced if pitch == _COALESCED_PITCH else _WARP_LANES
    return found.level / transactions, found.residual


def _of(plateau: fits.Plateau) -> Fitted:
    return plateau.level, plateau.residual
