"""Latencies of the memory's levels and of conflicts; how far the caches and the TLB reach."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from functools import partial

from kernelcast.analysis.order_statistics import largest_beyond_mean
from kernelcast.calibration import fits
from kernelcast.calibration.picture import Picture, PlottedCurve, level_curve, measured
from kernelcast.calibration.rules.base import (
    Device,
    Fitted,
    Rule,
    constant,
    cycles_per,
    straight,
    warp_cycles,
)
from kernelcast.measuring.samples import (
    CacheSize,
    Chase,
    Conflict,
    ConstantChase,
    InFlight,
    Pages,
    Slices,
    Transactions,
)

_CONSTANT_BYTES = 1024
"""A footprint that every constant cache holds: 2 KiB is the least known (Jia et al. 2018)."""
_FAR_CONSTANT_BYTES = 4096
"""One that the nearest cache does not, of any GPU that is known."""
CACHE_SHARE, _TLB_SHARE = 0.1, 0.5
"""Part of its rise at which the latency has left a cache, and the TLB."""
_MAX_SPREAD = 0.15
"""Slices and SMs lie at different distances: their latencies are spread, not their measurement."""
_MOST_CHAINS = 16
"""More loads of a warp may be more than it can have in flight."""
_CYCLES = "cycles per load"


def rules() -> Iterator[Rule]:
    """From a chase each."""
    yield Rule("latency.shared", "conflicts", "chase without conflicts", _shared)
    slope = "slope over conflicting lanes"
    yield Rule("latency.bank_conflict", "conflicts", slope, _conflict)
    yield Rule("latency.l1", "chase", "chase of up to 16 KiB", _l1)
    spread = "mean over SMs and lines; the residual is their spread"
    near, far = f"{spread}; of the near partition, if two", f"{spread}; of the far partition"
    yield Rule("latency.l2", "l2_slices", near, partial(_slices, is_far=False), _MAX_SPREAD)
    yield Rule("latency.l2_far", "l2_slices", far, partial(_slices, is_far=True), _MAX_SPREAD)
    within = "standard deviation over lines, of the mean SM"
    yield Rule("latency.l2_spread", "l2_slices", within, _spread_of_slices, _MAX_SPREAD)
    last = "slope of the latency of chains side by side over that of the slowest, DRAM less L2"
    yield Rule("latency.dram_spread", "in_flight.warp", last, _spread_of_dram, _MAX_SPREAD)
    dram = "chase of at least twice L2, in order, past L1, nothing of it in L2"
    yield Rule("latency.dram", "chase", dram, _dram)
    small = f"chase of up to {_CONSTANT_BYTES} bytes of constant memory"
    yield Rule("latency.constant", "constants", small, partial(_constant, is_far=False))
    large = f"chase of {_FAR_CONSTANT_BYTES} bytes of constant memory and more"
    yield Rule("latency.constant_far", "constants", large, partial(_constant, is_far=True))
    lanes = "slope over the lanes that want lines of their own, hits in L2"
    yield Rule("latency.transaction", "transactions", lanes, _transaction)
    for level in ("l1", "l2"):
        knee = f"footprint where the latency has risen by {CACHE_SHARE:.0%} of all it rises"
        yield Rule(f"{level}.reach", "cache_sizes", knee, partial(_cache_size, level))
    half = "2 MiB for every page, where the latency has risen by half of all it rises"
    yield Rule("tlb.reach", "tlb", half, _tlb_reach)
    rise = "last less first level of the latency over pages"
    yield Rule("latency.tlb_miss", "tlb", rise, _tlb_miss)


def _shared(samples: Sequence[Conflict], _: Device) -> Fitted:
    return constant(cycles_per([s for s in samples if s.degree == 1], lambda s: s.hops), _CYCLES)


def _conflict(samples: Sequence[Conflict], _: Device) -> Fitted:
    points = [(s.degree, c / s.hops) for s in samples for c in s.warp_cycles]
    return straight(points, "lanes on one bank", _CYCLES).slope


def _l1(samples: Sequence[Chase], _: Device) -> Fitted:
    chosen = [s for s in samples if s.kernel == "chase_ca" and s.footprint_bytes <= 16 << 10]
    return constant(cycles_per(chosen, lambda s: s.hops), _CYCLES)


def _dram(samples: Sequence[Chase], device: Device) -> Fitted:
    chosen = [
        s
        for s in samples
        if s.kernel == "chase_cg"
        and s.footprint_bytes >= 2 * device["l2_bytes"]
        and (s.order, s.stride_bytes) == ("next", 128)
    ]
    return constant(cycles_per(chosen, lambda s: s.hops), _CYCLES)


def _slices(samples: Sequence[Slices], _: Device, *, is_far: bool) -> Fitted:
    """Where the latencies gather at one level, that is the cache's, and there is no far one."""
    found = sorted(cycles / s.hops for s in samples for cycles in s.line_cycles)
    try:
        two = fits.two_levels(found)
        levels = {"near": two.low, "far": two.high}
    except fits.UnfitError:
        if is_far:
            raise
        levels = {"all": fits.mean(found)}
    ranks = PlottedCurve("measured", tuple(enumerate(found, 1)))
    fitted = [level_curve(name, level.level, [ranks]) for name, level in levels.items()]
    picture = Picture("SM and line, by latency", _CYCLES, (ranks, *fitted))
    chosen = list(levels.values())[-1 if is_far else 0]
    return Fitted(chosen.level, chosen.residual, picture)


def _spread_of_slices(samples: Sequence[Slices], _: Device) -> Fitted:
    """A warp waits for lines of its own SM: how SMs differ among each other is no part of it."""
    spreads = [statistics.pstdev([c / s.hops for c in s.line_cycles]) for s in samples]
    found = fits.mean(spreads)
    curve = PlottedCurve("standard deviation", tuple(enumerate(sorted(spreads), 1)))
    picture = Picture("SM, by spread", _CYCLES, (curve, level_curve("mean", found.level, [curve])))
    return Fitted(found.level, found.residual / len(spreads) ** 0.5, picture)


def _spread_of_dram(samples: Sequence[InFlight], _: Device) -> Fitted:
    """L(k) = L(1) + s m(k): a warp waits for the last of the k loads that it has in flight.

    m(k) is the mean of the largest of k standard normal numbers. From L2, whose loads take alike
    long, the k loads issue in the same loop: the difference has none of that.
    """
    found = {(s.level, s.chains): warp_cycles(s, lambda s: s.hops) for s in samples}
    chains = [n for level, n in found if level == "dram" and n <= _MOST_CHAINS]
    points = [(largest_beyond_mean(n), found["dram", n] - found["l2", n]) for n in chains]
    return straight(points, "slowest of as many, in standard deviations", _CYCLES).slope


def _constant(samples: Sequence[ConstantChase], _: Device, *, is_far: bool) -> Fitted:
    curves = measured(
        samples,
        lambda s: f"stride {s.stride_bytes} bytes",
        lambda s: s.footprint_bytes,
        lambda s: warp_cycles(s, lambda s: s.hops),
    )
    near = [s for s in samples if s.footprint_bytes <= _CONSTANT_BYTES]
    far = [s for s in samples if s.footprint_bytes >= _FAR_CONSTANT_BYTES]
    found = fits.level(cycles_per(far if is_far else near, lambda s: s.hops))
    fitted = level_curve("beyond" if is_far else "in the nearest cache", found.level, curves)
    picture = Picture("footprint in bytes", _CYCLES, (*curves, fitted), is_logarithmic=True)
    return Fitted(found.level, found.residual, picture)


def _transaction(samples: Sequence[Transactions], _: Device) -> Fitted:
    points = [(s.lanes, c / s.hops) for s in samples for c in s.warp_cycles]
    return straight(points, "lanes, each with a line of its own", _CYCLES).slope


def _cache_size(level: str, samples: Sequence[CacheSize], _: Device) -> Fitted:
    points = [
        (s.footprint_bytes, warp_cycles(s, lambda s: s.hops)) for s in samples if s.level == level
    ]
    found, picture = knee_of(points, CACHE_SHARE, "footprint in bytes")
    return Fitted(found.size, found.residual, picture)


def _tlb(samples: Sequence[Pages]) -> tuple[fits.Knee, Picture]:
    points = [(s.reach_bytes, warp_cycles(s, lambda s: s.hops)) for s in samples]
    return knee_of(points, _TLB_SHARE, "bytes of the pages")


def _tlb_reach(samples: Sequence[Pages], _: Device) -> Fitted:
    found, picture = _tlb(samples)
    return Fitted(found.size, found.residual, picture)


def _tlb_miss(samples: Sequence[Pages], _: Device) -> Fitted:
    found, picture = _tlb(samples)
    return Fitted(found.high - found.low, found.residual, picture)


def knee_of(
    points: Sequence[tuple[float, float]], share: float, x_label: str
) -> tuple[fits.Knee, Picture]:
    """Where the latency leaves its lower level, and how that looks."""
    points = sorted(points)
    found = fits.knee([x for x, _ in points], [y for _, y in points], share)
    curve = PlottedCurve("measured", tuple(points))
    first, last = points[0][0], points[-1][0]
    steps = ((first, found.low), (found.size, found.low), (found.size, found.high))
    fitted = PlottedCurve("levels", (*steps, (last, found.high)), is_fit=True)
    mark = (f"{found.size:.4g} bytes", found.size)
    return found, Picture(x_label, _CYCLES, (curve, fitted), mark, is_logarithmic=True)
