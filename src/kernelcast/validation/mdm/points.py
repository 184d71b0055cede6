"""The machines of Figures 5 to 15: Table III with some of its numbers replaced.

Where a figure sweeps a number the text names its ends at most; the steps in between are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelcast.validation.mdm.applications import Application
from kernelcast.validation.mdm.schemes import GPUMECH, MDM

Settings = tuple[tuple[str, float], ...]
"""Paths of machine numbers and what replaces their values, ordered by path."""

TABLE_III: Settings = ()


@dataclass(frozen=True, slots=True)
class Point:
    """What is forecast: one application by one scheme on one machine."""

    scheme: str
    application: str
    settings: Settings = TABLE_III


@dataclass(frozen=True, slots=True)
class Sweep:
    """A figure that varies one number, over all applications whose loads diverge."""

    figure: str
    path: str
    title: str
    values: tuple[float, ...]

    @property
    def settings(self) -> tuple[Settings, ...]:
        """The machine of each value."""
        return tuple(((self.path, value),) for value in self.values)


NOC, DRAM, SMS = "noc.bandwidth", "dram.bandwidth", "sm.count"

SWEEPS = (
    Sweep("Figure 6", NOC, "NoC bandwidth", (350e9, 700e9, 1050e9, 1400e9, 2100e9)),
    Sweep("Figure 7", DRAM, "DRAM bandwidth", (240e9, 480e9, 720e9, 960e9)),
    Sweep("Figure 8", "l1.miss_registers", "miss registers", (32, 64, 128, 256)),
    Sweep("Figure 9", SMS, "SMs", (15, 28, 40, 60, 80)),
)

GRIDS = {"Figure 11": "BT", "Figure 12": "CFD"}
"""Figures of one application each over numbers of SMs and bandwidths of the DRAM."""

GRID_SMS = (15, 28, 40, 60, 80)
GRID_BANDWIDTHS = (240e9, 480e9, 720e9, 960e9)


def grid_settings(sms: float, bandwidth: float) -> Settings:
    """The machine of one place in Figures 11 and 12."""
    return ((DRAM, bandwidth), (SMS, sms))


FAST_HZ, SLOW_HZ = 2.0e9, 1.4e9
FAST_CLOCK: Settings = (("clock.sm", FAST_HZ),)
"""Figure 13; the slow clock is that of Table III."""

STACKED = "BFS"
STACK_SCALES = (0.5, 1.0, 2.0, 4.0)
"""Figure 14: bandwidths of NoC and DRAM over those of Table III."""

_NOC_BANDWIDTH, _DRAM_BANDWIDTH = 1050e9, 480e9
"""Table III."""


def stack_settings(scale: float) -> Settings:
    """The machine of one column of Figure 14."""
    return ((DRAM, scale * _DRAM_BANDWIDTH), (NOC, scale * _NOC_BANDWIDTH))


STREAMING_L1: Settings = (("l1.allocates_on_fill", 1), ("l1.miss_registers", 4096))
"""Figure 15."""

_COMPARED = (GPUMECH, MDM)
"""The two that Figures 11 to 15 show."""


def needed_points(applications: Sequence[Application], schemes: Sequence[str]) -> tuple[Point, ...]:
    """All points of the figures, each once, for the applications that are there."""
    return tuple(dict.fromkeys(_points(applications, schemes)))


def observable_points(applications: Sequence[Application], scheme: str) -> tuple[Point, ...]:
    """Every application on every machine of the figures, by one scheme."""
    every = needed_points(applications, _COMPARED)
    return tuple(dict.fromkeys(Point(scheme, p.application, p.settings) for p in every))


def _points(applications: Sequence[Application], schemes: Sequence[str]) -> Iterator[Point]:
    names = [a.name for a in applications]
    divergent = [a.name for a in applications if a.is_divergent]
    yield from (Point(s, name) for s in schemes for name in names)
    for settings in (settings for sweep in SWEEPS for settings in sweep.settings):
        yield from (Point(s, name, settings) for s in schemes for name in divergent)
    for settings in (FAST_CLOCK, STREAMING_L1):
        yield from (Point(s, name, settings) for s in _COMPARED for name in divergent)
    for name in set(GRIDS.values()).intersection(names):
        for settings in (grid_settings(n, b) for n in GRID_SMS for b in GRID_BANDWIDTHS):
            yield from (Point(s, name, settings) for s in _COMPARED)
    if STACKED in names:
        for settings in map(stack_settings, STACK_SCALES):
            yield from (Point(s, STACKED, settings) for s in _COMPARED)
