"""What a warp waits for other than loads: atomics, barriers, branches, its own stores."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from kernelcast.calibration import fits
from kernelcast.calibration.picture import Picture, PlottedCurve, level_curve, measured
from kernelcast.calibration.rules.base import (
    Device,
    Fitted,
    LineFit,
    Rule,
    constant,
    cycles_per,
    straight,
)
from kernelcast.measuring.samples import Atomics, Barriers, Branches, Divergence, Stores

_BARRIER_WARPS = 8
_MANY_WARPS = 32
_MAX_BARRIER_RESIDUAL = 0.10
"""Warps come to a barrier by fours, one per scheduler: the line has steps."""


def rules() -> Iterator[Rule]:
    """From one warp or block each."""
    for name, benchmark in (("atomic", "atom_global"), ("atomic_shared", "atom_shared")):
        alone = "cycles of one lane on each address, one warp"
        yield Rule(f"latency.{name}", f"atomics.{benchmark}", alone, _atomic)
        further = "slope over lanes that share an address"
        yield Rule(f"latency.{name}_conflict", f"atomics.{benchmark}", further, _atomic_conflict)
    full = f"slope over lanes that share an address, a block of {_MANY_WARPS} warps"
    yield Rule("atomics.shared_lane_cycles", "atomics.atom_shared", full, _shared_lane)
    barrier = f"barrier of a block of {_BARRIER_WARPS} warps"
    yield Rule("latency.barrier", "barriers", barrier, _barrier)
    each = "slope over the warps of the block"
    yield Rule("latency.barrier_warp", "barriers", each, _barrier_warp, _MAX_BARRIER_RESIDUAL)
    body = "line of cycles over the length of a loop, where that decides, less two instructions"
    yield Rule("latency.branch_taken", "branches", body, _branch)
    paths = "slope over paths, less their instructions, from paths of two lengths"
    yield Rule("latency.divergence", "divergence", paths, _divergence)
    one = "cycles per store of one warp"
    yield Rule("latency.store_next", "stores", one, _store_next)


def _of_one_warp(samples: Sequence[Atomics]) -> list[Atomics]:
    return [s for s in samples if s.warps == 1 and not s.is_line_shared]


def _sharing(samples: Sequence[Atomics]) -> LineFit:
    """Cycles of an atomic of one warp over its lanes that share an address."""
    chosen = _of_one_warp(samples)
    points = [(s.sharing, c / s.atomics) for s in chosen for c in s.warp_cycles]
    return straight(points, "lanes on an address", "cycles per atomic")


def _atomic(samples: Sequence[Atomics], _: Device) -> Fitted:
    """Not the line's first point: where sharing costs nothing at first, there is no line."""
    alone = [s for s in _of_one_warp(samples) if s.sharing == 1]
    return constant(cycles_per(alone, lambda s: s.atomics), "cycles per atomic")


def _atomic_conflict(samples: Sequence[Atomics], _: Device) -> Fitted:
    return _sharing(samples).slope


def _shared_lane(samples: Sequence[Atomics], _: Device) -> Fitted:
    """Of many warps, so that their additions follow each other in the banks without a gap."""
    chosen = [s for s in samples if s.warps == _MANY_WARPS and not s.is_line_shared]
    points = [(s.sharing, c / s.atomics / s.warps) for s in chosen for c in s.span_cycles]
    return straight(points, "lanes on an address", "cycles per atomic of the SM").slope


def _barrier(samples: Sequence[Barriers], _: Device) -> Fitted:
    curves = measured(
        samples,
        lambda s: "measured",
        lambda s: s.warps,
        lambda s: statistics.median(s.span_cycles) / s.barriers,
    )
    chosen = [s for s in samples if s.warps == _BARRIER_WARPS]
    found = fits.level([c / s.barriers for s in chosen for c in s.span_cycles])
    fitted = level_curve(f"of {_BARRIER_WARPS} warps", found.level, curves)
    picture = Picture("warps of the block", "cycles per barrier", (*curves, fitted))
    return Fitted(found.level, found.residual, picture)


def _barrier_warp(samples: Sequence[Barriers], _: Device) -> Fitted:
    points = [(s.warps, c / s.barriers) for s in samples for c in s.span_cycles]
    return straight(points, "warps of the block", "cycles per barrier").slope


def _branch(samples: Sequence[Branches], _: Device) -> Fitted:
    """An iteration is its body, an addition, a comparison and the branch, each issued in turn.

    A branch waits for its comparison, and that for the addition: a short body takes no less.
    """
    points = sorted((s.length, c / s.iterations) for s in samples for c in s.warp_cycles)
    xs, ys = [float(x) for x, _ in points], [y for _, y in points]
    law = fits.floored_line(xs, ys)
    ends = sorted({*xs, (law.floor - law.line.intercept) / law.line.slope})
    curves = (
        PlottedCurve("measured", tuple(points)),
        PlottedCurve("law", tuple((x, law.at(x)) for x in ends if xs[0] <= x), is_fit=True),
    )
    picture = Picture("instructions in the body", "cycles per iteration", curves)
    error = (law.line.intercept_error**2 + (2 * law.line.slope_error) ** 2) ** 0.5
    value = law.line.intercept - 2 * law.line.slope
    return Fitted(value, max(law.residual, abs(error / value)), picture)


def _divergence(samples: Sequence[Divergence], _: Device) -> Fitted:
    """A path costs c + n l for n instructions of latency l; from paths of two lengths follows c."""
    lengths = sorted({s.length for s in samples})
    if len(lengths) != 2:
        raise fits.UnfitError("paths of two lengths are needed")
    short, long = (_over_paths(samples, length) for length in lengths)
    # c = slope(n1) - n1 (slope(n2) - slope(n1)) / (n2 - n1)
    weight = lengths[0] / (lengths[1] - lengths[0])
    value = (1 + weight) * short.line.slope - weight * long.line.slope
    errors = (1 + weight) * short.line.slope_error, weight * long.line.slope_error
    found = short.derived(value, (errors[0] ** 2 + errors[1] ** 2) ** 0.5)
    both = (*short.picture.curves, *long.picture.curves)
    picture = Picture(short.picture.x_label, short.picture.y_label, both)
    return Fitted(value, max(found.residual, long.line.residual), picture)


def _over_paths(samples: Sequence[Divergence], length: int) -> LineFit:
    points = [
        (s.ways, c / s.iterations) for s in samples if s.length == length for c in s.warp_cycles
    ]
    return straight(
        points, "paths that lanes take", "cycles per iteration", f"{length} instructions a path"
    )


def _store_next(samples: Sequence[Stores], _: Device) -> Fitted:
    return constant(cycles_per(samples, lambda s: s.stores), "cycles per store")
