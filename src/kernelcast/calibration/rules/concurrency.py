"""How much may be in flight at once: loads of a warp and of an SM, atomics on one address."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kernelcast.calibration import fits
from kernelcast.calibration.picture import Picture, PlottedCurve, level_curve
from kernelcast.calibration.rules.base import (
    Device,
    Fitted,
    Rule,
    constant,
    seconds,
    warp_cycles,
)
from kernelcast.measuring.samples import Contention, InFlight

_LEVELS = ("l2", "dram")
_ALIKE = 0.05
"""Relative difference up to which two rates are one."""


def rules() -> Iterator[Rule]:
    """Limits of what is in flight, and rates of atomics."""
    little = "loads times latency alone over latency, the same from L2 and from DRAM"
    yield Rule("sm.loads_per_warp", "in_flight.warp", little, _loads_per_warp)
    yield Rule("sm.sectors_in_flight", "in_flight.sm", little, _sectors_in_flight)
    one = "time over additions, one lane of every warp on one address"
    for name, scope in (("", "gpu"), ("_block", "cta"), ("_system", "sys")):
        yield Rule(f"atomics.same_address{name}", f"contention.{scope}", one, _same_address)
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

    There is a limit where loads that are asked for beyond it make the rate no higher. A limit of
    what is in flight gives the same n for L2 and DRAM, one of the rate the same rate.
    """
    alone, curves, rates = {}, [], {}
    for level in _LEVELS:
        chosen = sorted(_of_level(samples, level), key=asked)
        cycles = [warp_cycles(s, lambda s: s.hops) for s in chosen]
        rates[level] = [asked(s) / c for s, c in zip(chosen, cycles, strict=True)]
        if rates[level][-1] > (1 + _ALIKE) * max(rates[level][:-1]):
            raise fits.UnfitError(f"no limit up to {asked(chosen[-1])} {what} in flight")
        alone[level] = cycles[0]
        held = [(asked(s), r * cycles[0]) for s, r in zip(chosen, rates[level], strict=True)]
        curves.append(PlottedCurve(level, tuple(held)))
    best = {level: fits.best_plateau(rates[level]).level for level in _LEVELS}
    if max(best.values()) < (1 + _ALIKE) * min(best.values()):
        from_each = ", ".join(f"{rate:.3g} from {level}" for level, rate in best.items())
        raise fits.UnfitError(f"what is limited is the rate: {what} per cycle, {from_each}")
    most = [best[level] * alone[level] for level in _LEVELS]
    value = sum(most) / len(most)
    fitted = level_curve("limit", value, curves)
    picture = Picture(f"{what} asked for", f"{what} in flight", (*curves, fitted))
    return Fitted(value, (max(most) - min(most)) / 2 / value, picture)


def _of_level(samples: Sequence[InFlight], level: str) -> list[InFlight]:
    return [s for s in samples if s.level == level]


def _same_address(samples: Sequence[Contention], _: Device) -> Fitted:
    """One address, not more: lines that share a slice of the L2 cache wait for each other, too."""
    chosen = [s for s in samples if (s.lanes, s.addresses) == (1, 1)]
    return constant([t / s.additions for s in chosen for t in s.seconds], "seconds per addition")


def _atomic_rate(samples: Sequence[Contention], _: Device) -> Fitted:
    chosen = [s for s in samples if s.lanes > 1]
    found = fits.best_plateau([s.additions / t for s in chosen for t in s.seconds])
    curve = PlottedCurve(
        "measured", tuple(sorted((s.addresses, s.additions / seconds(s)) for s in samples))
    )
    fitted = level_curve("every lane on its own", found.level, [curve])
    picture = Picture("addresses", "additions/s", (curve, fitted), is_logarithmic=True)
    return Fitted(found.level, found.residual, picture)
