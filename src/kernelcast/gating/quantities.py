"""What a condition may name of an explained forecast: times, bytes, counts and shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from kernelcast.gating.conditions import Dimension, Interval
from kernelcast.reporting.documents.explain import ExplainDocument, LinePart

Unit = Literal["s", "B", "B/s", "share", "count", "ratio"]
_GateValue = float | tuple[float | None, float, float | None] | None
_DIMENSIONS: Mapping[Unit, Dimension] = {"s": (1, 0), "B": (0, 1), "B/s": (-1, 1)}


@dataclass(frozen=True, slots=True)
class GateQuantity:
    """A name of conditions.

    `find` gives its value, or its least, its own and its greatest; None where it is not known.
    `blame` says what a line has in it: the line that has most is where it is reported.
    """

    name: str
    unit: Unit
    meaning: str
    find: Callable[[ExplainDocument], _GateValue]
    blame: Callable[[LinePart], float] = lambda line: line.cost

    @property
    def dimension(self) -> Dimension:
        """Of its unit."""
        return _DIMENSIONS.get(self.unit, (0, 0))

    def interval(self, document: ExplainDocument) -> Interval:
        """Its value in a forecast."""
        dimension = self.dimension
        found = self.find(document)
        if found is None:
            return Interval.unknown(dimension)
        if not isinstance(found, tuple):
            return Interval.exactly(found, dimension)
        low, value, high = found
        return Interval(
            value if low is None else low, value, value if high is None else high, dimension
        )


def _sectors(line: LinePart) -> float:
    return line.sectors


def _instructions(line: LinePart) -> float:
    return line.warp_instructions


def _lost_passes(line: LinePart) -> float:
    return line.shared_passes - line.shared_ideal_passes


def _of_space(name: str, count: str) -> Callable[[ExplainDocument], float]:
    return lambda d: sum(getattr(s, count) for s in d.spaces if s.space == name)


def _bank_conflicts(document: ExplainDocument) -> float:
    return sum(s.passes - s.ideal_passes for s in document.spaces)


def _sectors_per_request(document: ExplainDocument) -> float | None:
    asked = [s for s in document.spaces if s.space in ("global", "local")]
    requests = sum(s.loads + s.stores + s.atomics for s in asked)
    return sum(s.sectors for s in asked) / requests if requests else None


def _sampled(count: Callable[[ExplainDocument], float]) -> Callable[[ExplainDocument], _GateValue]:
    """A count of the executed sample, within its standard error."""

    def find(document: ExplainDocument) -> _GateValue:
        value, spread = count(document), document.result.sampled.spread or 0.0
        return value * (1 - spread), value, value * (1 + spread)

    return find


def _hit_rate(level: str) -> Callable[[ExplainDocument], _GateValue]:
    def find(document: ExplainDocument) -> _GateValue:
        held = document.result.traffic.caches
        ratio: float | None = getattr(held, f"{level}_hit_ratio") if held else None
        return ratio

    return find


def _throughput(document: ExplainDocument) -> _GateValue:
    result = document.result
    return result.traffic.dram_bytes / result.time_s if result.time_s else None


def _term(name: str) -> Callable[[ExplainDocument], float]:
    """The share of the time that a term of the breakdown takes."""
    return lambda d: sum(part.fraction for part in d.result.breakdown if part.name == name)


QUANTITIES: tuple[GateQuantity, ...] = (
    GateQuantity(
        "time",
        "s",
        "of the launch, between its least and its most",
        lambda d: (d.result.low_s, d.result.time_s, d.result.high_s),
    ),
    GateQuantity("cycles", "count", "SM cycles of the launch", lambda d: d.result.cycles),
    GateQuantity("occupancy", "share", "theoretical", lambda d: d.result.occupancy.relative),
    GateQuantity(
        "warps_per_sm", "count", "resident at once", lambda d: d.result.occupancy.warps_per_sm
    ),
    GateQuantity(
        "blocks_per_sm", "count", "resident at once", lambda d: d.result.occupancy.blocks_per_sm
    ),
    GateQuantity(
        "waves", "ratio", "the grid over what all SMs hold", lambda d: d.result.occupancy.waves
    ),
    GateQuantity("tail", "share", "of the time, of the last wave", _term("tail")),
    GateQuantity(
        "launch_overhead", "share", "of the time, of starting the kernel", _term("launch overhead")
    ),
    GateQuantity("registers", "count", "of a thread", lambda d: d.result.resources.registers),
    GateQuantity(
        "spills", "B", "of a thread's registers", lambda d: d.result.resources.spilled_bytes
    ),
    GateQuantity("shared_memory", "B", "of a block", lambda d: d.result.resources.shared_bytes),
    GateQuantity(
        "instructions",
        "count",
        "of warps, within the sample's standard error",
        _sampled(lambda d: d.result.work.warp),
        _instructions,
    ),
    GateQuantity(
        "thread_instructions",
        "count",
        "of threads, within the sample's standard error",
        _sampled(lambda d: d.result.work.thread),
        _instructions,
    ),
    GateQuantity(
        "simt_efficiency", "share", "lanes that are active", lambda d: d.result.work.simt_efficiency
    ),
    GateQuantity(
        "divergent_branches",
        "share",
        "branches at which lanes of a warp part",
        lambda d: d.result.work.divergent_share or 0.0,
    ),
    GateQuantity(
        "bank_conflicts",
        "count",
        "cycles of shared memory beyond those without conflicts",
        _bank_conflicts,
        _lost_passes,
    ),
    GateQuantity(
        "sectors_per_request",
        "ratio",
        "of global and local memory",
        _sectors_per_request,
        lambda line: line.sectors / line.requests if line.requests else 0.0,
    ),
    GateQuantity(
        "global_sectors", "count", "of all requests", _of_space("global", "sectors"), _sectors
    ),
    GateQuantity(
        "global_bytes", "B", "asked for", _of_space("global", "requested_bytes"), _sectors
    ),
    GateQuantity("local_bytes", "B", "asked for", _of_space("local", "requested_bytes"), _sectors),
    GateQuantity("shared_bytes", "B", "asked for", _of_space("shared", "requested_bytes")),
    GateQuantity("l1_bytes", "B", "served by L1", lambda d: d.result.traffic.l1_bytes, _sectors),
    GateQuantity(
        "l2_bytes",
        "B",
        "served by L2",
        lambda d: (
            d.result.traffic.l2_low_bytes,
            d.result.traffic.l2_bytes,
            d.result.traffic.l2_high_bytes,
        ),
        _sectors,
    ),
    GateQuantity(
        "dram_bytes",
        "B",
        "moved by the DRAM",
        lambda d: (
            d.result.traffic.dram_low_bytes,
            d.result.traffic.dram_bytes,
            d.result.traffic.dram_high_bytes,
        ),
        _sectors,
    ),
    GateQuantity(
        "dram_throughput", "B/s", "moved by the DRAM over the time", _throughput, _sectors
    ),
    GateQuantity("l1_hit_rate", "share", "where caches are simulated", _hit_rate("l1"), _sectors),
    GateQuantity("l2_hit_rate", "share", "where caches are simulated", _hit_rate("l2"), _sectors),
    GateQuantity(
        "dpki",
        "ratio",
        "divergent loads per 1000 warp instructions",
        lambda d: d.result.divergence.dpki,
        _sectors,
    ),
)
"""All names, in the order of a report."""

_BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}


def intervals(document: ExplainDocument) -> dict[str, Interval]:
    """All quantities of a forecast by their names."""
    return {quantity.name: quantity.interval(document) for quantity in QUANTITIES}


def costliest_line(document: ExplainDocument, name: str) -> tuple[str, int] | None:
    """File and line that have most of a quantity, or cost most where none has any of it.

    None where the code says no lines.
    """
    blame = _BY_NAME[name].blame
    line = max(document.lines, key=lambda one: (blame(one), one.cost), default=None)
    return (line.file, line.line) if line else None


def unit_of(name: str) -> Unit:
    """The unit of a quantity."""
    return _BY_NAME[name].unit
