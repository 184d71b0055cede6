"""What every mechanism of the default model is worth: forecasts without it, beside measured times.

A mechanism is left out by leaving out the numbers that it lives by, one at a time, as on a chip of
which nobody knows them; the rest of the machine stays. Launches that it does not touch say nothing
of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from kernelcast.models.auto import Auto
from kernelcast.models.terms.base import Case, Model, Prediction
from kernelcast.models.terms.parameters import model_label
from kernelcast.models.terms.trust import trusted
from kernelcast.models.volkov import Volkov
from kernelcast.validation.accuracy import Comparison, nearest_rank
from kernelcast.validation.measured import Score
from kernelcast.validation.public import SetAccuracy

MECHANISMS: Mapping[str, tuple[str, ...]] = {
    "instruction fetch": ("fetch.l0_size",),
    "caches of constants": ("latency.constant", "constant.near_size", "constant.size"),
    "simulated caches": ("l1.ways", "l2.ways"),
    "contention for the DRAM": ("latency.dram_contention", "volkov.latency_slope"),
    "spread of latencies": (
        "latency.l2_spread",
        "latency.dram_spread",
        "latency.dram_line_spread",
    ),
    "the far part of the L2 cache": ("latency.l2_far",),
    "requests to the L2 cache": (
        "l2.bandwidth",
        "l2.write_bandwidth",
        "l2.request_rate",
        "l2.write_rate",
    ),
    "achieved bandwidth of the DRAM": ("dram.achieved_bandwidth",),
    "writes among the DRAM's reads": (
        "dram.triad_bandwidth",
        "dram.mixed_bandwidth",
        "dram.write_bandwidth",
        "dram.write_wait",
    ),
    "scattered sectors": ("dram.scattered_rate", "dram.scattered_transaction"),
    "banks of the L1 cache": ("l1.tags", "l1.tag_bank_bits"),
    "what leaves an SM": (
        "sm.store_cycles",
        "sm.store_further_cycles",
        "sm.store_narrow_cycles",
        "sm.store_whole_cycles",
        "sm.store_lines",
        "sm.miss_cycles",
    ),
    "latency of bank conflicts": (
        "latency.bank_conflict",
        "latency.shared_operand",
        "latency.shared_operand_conflict",
    ),
    "life of a block": (
        "launch.block_interval",
        "latency.block_replacement",
        "latency.block_drain",
    ),
    "share of double precision's peak": ("throughput.fp64_share", "throughput.convert64"),
    "double precision in the latch": ("lsu.doubles_in_latch",),
    "products apart from sums": ("throughput.int_mul_wide", "throughput.fp32_multiply"),
    "registers that are read late": ("registers.read_cycles",),
    "taken branches": ("latency.branch_taken",),
    "atomics on one address": (
        "atomics.same_address",
        "atomics.same_address_cycles",
        "atomics.same_address_float",
    ),
    "atomics on several words": (
        "atomics.several_words",
        "atomics.repeated_words",
        "atomics.doubles_by_lane",
    ),
    "start of a launch": ("launch.overhead", "launch.cold_overhead"),
}
"""By name, the numbers that are left out."""
SIMULATION = "the timing simulation"
"""Left out for the bounds, which answer in its place."""


@dataclass(frozen=True)
class Ablated:
    """The default model without one of its mechanisms.

    Parameters
    ----------
    without:
        The mechanism that is left out.
    """

    name: ClassVar[str] = Auto.name
    title: ClassVar[str] = "The default model without one of its mechanisms"
    source: ClassVar[str] = Auto.source
    not_modelled: ClassVar[tuple[str, ...]] = Auto.not_modelled

    without: str = ""

    def predict(self, case: Case) -> Prediction:
        """The time of a case; MissingNumberError as of the default model."""
        if self.without == SIMULATION:
            return replace(trusted(Volkov().predict(case)), model=self)
        machine, dropped = case.machine, MECHANISMS[self.without]
        left = {path: q for path, q in machine.quantities.items() if path not in dropped}
        said = Auto().predict(case.on(replace(machine, quantities=left)))
        return replace(said, model=self)


def ablated_models() -> tuple[Model, ...]:
    """The default model, and it without each of its mechanisms."""
    return (Auto(), *(Ablated(without) for without in (SIMULATION, *MECHANISMS)))


@dataclass(frozen=True)
class MechanismWorth:
    """What a mechanism is worth on the launches of whose forecast it changes more than `least`:
    `own` with it, `without` the same launches without it. `by_set` are the median errors of the
    sets that it touches, with it and without."""

    mechanism: str
    own: Score
    without: Score
    by_set: Mapping[str, tuple[float, float]]


_LEAST = 0.002
"""Forecasts that differ by no more are the same."""


def worth_of_mechanisms(rows: Sequence[SetAccuracy]) -> tuple[MechanismWorth, ...]:
    """Of the sets as `ablated_models` predict them, by what the error would grow without it, as a
    sum over all launches; mechanisms that change nothing are left out."""
    own = {(row.title, row.gpu): row for row in rows if row.model == Auto.name and row.score}
    found = []
    for model in ablated_models()[1:]:
        label = model_label(model)
        pairs = {
            f"{row.title}, {row.gpu}": _changed(own[row.title, row.gpu], row)
            for row in rows
            if row.model == label and row.score and (row.title, row.gpu) in own
        }
        pairs = {name: changed for name, changed in pairs.items() if changed}
        if pairs:
            found.append(_worth(label.partition("without=")[2], pairs))
    return tuple(sorted(found, key=_gain, reverse=True))


_Changed = Sequence[tuple[Comparison, Comparison]]


def _changed(row: SetAccuracy, other: SetAccuracy) -> _Changed:
    """The launches whose forecasts differ, with the mechanism and without."""
    assert row.score
    assert other.score
    known = {(c.kernel, c.configuration): c for c in row.score.comparisons}
    both = ((known.get((c.kernel, c.configuration)), c) for c in other.score.comparisons)
    return [
        (before, after)
        for before, after in both
        if before and abs(after.predicted_s / before.predicted_s - 1) > _LEAST
    ]


def _worth(mechanism: str, by_set: Mapping[str, _Changed]) -> MechanismWorth:
    every = [pair for pairs in by_set.values() for pair in pairs]
    own, without = (Score(tuple(side)) for side in zip(*every, strict=True))
    medians = {
        name: (
            nearest_rank([a.error for a, _ in pairs], 0.5),
            nearest_rank([b.error for _, b in pairs], 0.5),
        )
        for name, pairs in by_set.items()
    }
    return MechanismWorth(mechanism, own, without, medians)


def _gain(worth: MechanismWorth) -> float:
    """Summed errors without the mechanism, less those with it; one that is off by more than once
    the time counts as that."""
    own, without = (
        sum(min(c.error, 1.0) for c in score.comparisons) for score in (worth.own, worth.without)
    )
    return without - own
