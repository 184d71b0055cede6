"""What a launch gains without its bottlenecks, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from kernelcast.models.terms.base import Bottleneck, Prediction
from kernelcast.simulation.removals import Removal


class Interplay(StrEnum):
    """What two removals are to each other."""

    SWALLOWS = "swallows"
    OVERLAPS = "overlaps"
    ADDS = "adds up"
    HIDES = "hides"


@dataclass(frozen=True, slots=True)
class Gain:
    """The time of a launch without some bottlenecks, and what binds it then; `gain_s` is what that
    is shorter, and negative where warps get into each other's way without them."""

    removed: tuple[Removal, ...]
    time_s: float
    gain_s: float
    bottleneck: Bottleneck


@dataclass(frozen=True, slots=True)
class PairGain:
    """Two removals together, the one that gains more alone first; `alone_s` is what they gain one
    by one, both added."""

    gain: Gain
    alone_s: float
    relation: Interplay


@dataclass(frozen=True)
class WhatIf:
    """What each bottleneck of a launch costs, by the timing simulation.

    `gains` and `pairs` are ranked, the greatest gain first. `noise` is the share of the time below
    which a gain may come from another order in which warps happen to issue; so may twice as much of
    what two gains together differ from their sum. `absent` are removals that change nothing here.
    """

    base: Prediction = field(repr=False)
    gains: tuple[Gain, ...]
    noise: float
    pairs: tuple[PairGain, ...] = ()
    absent: tuple[Removal, ...] = ()

    @cached_property
    def swallowed_by(self) -> Mapping[Removal, Removal]:
        """Removals whose gain another one swallows, and the greatest such one."""
        swallowed: dict[Removal, Removal] = {}
        for pair in self.pairs:
            if pair.relation is Interplay.SWALLOWS:
                greater, lesser = pair.gain.removed
                swallowed.setdefault(lesser, greater)
        return swallowed
