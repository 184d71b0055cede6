"""How much may be in flight at once: loads of a warp and of an SM, atomics on one address."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kernelcast.calibration import fits
from kernelcast.calibration.picture import Picture, PlottedCurve, level_curve, measured
from kernelcast.calibration.rules.base import (
    Device,
    Fitted,
    Rule,
    seconds,
    straight,
    warp_cycles,
)
from kernelcast.measuring.samples import Contention, InFlight

_LEVELS = ("l2", "dram")
_MUCH = 0.9
"""Share of the loads asked for that are in flight, above which none is kept waiting."""


def rules() -> Iterator[Rule]:
    """Limits of what is in flight, and rates of atomics."""
    little = "loads times latency alone over latency, the same from L2 and from DRAM"
    yield Rule("sm.loads_per_warp", "in_flight.warp", little, _loads_per_warp)
    yield Rule("sm.sectors_in_flight", "in_flight.sm", little, _sectors_in_flight)
    slope = "slope of time over the additions that each address gets, one lane per warp"
    for name, scope in (("", "gpu"), ("_block", "cta"), ("_system", "sys")):
        yield Rule(f"atomics.same_address{name}", f"contention.{scope}", slope, _same_address)
    own = "additions over time, every lane on a word of its own"
    yield Rule("atomics.rate", "contention.gpu", own, _atomic_rate)


def _loads_per_warp(samples: Sequence[InFlight], _: Device) -> Fitted:
    found = _in_flight(samples, lambda s: s.chains, "loads")
    whole = round(found.value)
    return Fitted(whole, max(found.residual, abs(found.value / whole - 1)), found.picture)


def _sectors_in_flight(samples: Sequence[InFlight], _: Device) -> Fitted:
    return _in_flight(samples, lambda s: s.warps * s.chains * s.lanes, "sectors")


def _in_flight(samples: Sequence[InFlight], asked: Callable[[InFlight], int], what: str) -> Fitted:
    """Little's law: n = asked x latency alone / latency (Volkov 2016).

    A limit of what is in flight gives the same n for L2 and DRAM; a limit of the rate does not,
    and shows in the residual.
    """
    alone = {
        level: warp_cycles(min(_of_level(samples, level), key=asked), lambda s: s.hops)
        for level in _LEVELS
    }

    def in_flight(s: InFlight) -> float:
        return asked(s) * alone[s.level] / warp_cycles(s, lambda s: s.hops)

    curves = measured(samples, lambda s: s.level, asked, in_flight)
    most = []
    for level in _LEVELS:
        chosen = _of_level(samples, level)
        last = max(chosen, key=asked)
        if in_flight(last) > _MUCH * asked(last):
            raise fits.UnfitError(f"no limit up to {asked(last)} {what} in flight")
        most.append(fits.best_plateau([in_flight(s) for s in chosen]).level)
    value = sum(most) / len(most)
    fitted = level_curve("limit", value, curves)
    picture = Picture(f"{what} asked for", f"{what} in flight", (*curves, fitted))
    return Fitted(value, (max(most) - min(most)) / 2 / value, picture)


def _of_level(samples: Sequence[InFlight], level: str) -> list[InFlight]:
    return [s for s in samples if s.level == level]


def _same_address(samples: Sequence[Contention], _: Device) -> Fitted:
    points = [(s.additions / s.addresses, t) for s in samples if s.lanes == 1 for t in s.seconds]
    return straight(points, "additions to an address", "seconds").slope


def _atomic_rate(samples: Sequence[Contention], _: Device) -> Fitted:
    chosen = [s for s in samples if s.lanes > 1]
    found = fits.best_plateau([s.additions / t for s in chosen for t in s.seconds])
    curve = PlottedCurve(
        "measured", tuple(sorted((s.addresses, s.additions / seconds(s)) for s in samples))
    )
    fitted = level_curve("every lane on its own", found.level, [curve])
    picture = Picture("addresses", "additions/s", (curve, fitted), is_logarithmic=True)
    return Fitted(found.level, found.residual, picture)
