"""Launches, and blocks as they come onto the SMs (Volkov 2016, sections 3.7 and 5.6)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence

from kernelcast.calibration import fits
from kernelcast.calibration.picture import Picture, PlottedCurve
from kernelcast.calibration.rules.base import (
    Device,
    Fitted,
    Rule,
    constant,
    seconds,
    straight,
)
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.measuring.samples import BlockLaunches, Launches, Replacement, Residency

_REPLACED_THREADS = 64
_SMALL_THREADS = 32


def rules() -> Iterator[Rule]:
    """What a launch and its blocks cost, and how many blocks there are at once."""
    gap = f"median gap between blocks of {_REPLACED_THREADS} threads, one block per SM"
    yield Rule("latency.block_replacement", "block_replacement", gap, _replacement)
    launches = "slope of time over the number of launches"
    yield Rule("launch.overhead", "launches", launches, _launch)
    blocks = f"slope of time over empty blocks of {_SMALL_THREADS} threads"
    yield Rule("launch.block_interval", "block_launches", blocks, _block_interval)
    most = "most blocks of one warp that an SM held at once; the residual is the SMs that held less"
    yield Rule("occupancy.blocks_per_sm", "residency", most, _blocks_per_sm)
    warps = "most warps that an SM held at once; the residual is the SMs that held less"
    yield Rule("occupancy.warps_per_sm", "residency", warps, _warps_per_sm)


def _replacement(samples: Sequence[Replacement], _: Device) -> Fitted:
    chosen = [s for s in samples if s.threads == _REPLACED_THREADS]
    return constant([gap for s in chosen for gap in s.gap_cycles], "cycles")


def _launch(samples: Sequence[Launches], _: Device) -> Fitted:
    points = [(s.launches, seconds(s)) for s in samples]
    return straight(points, "launches", "seconds").slope


def _block_interval(samples: Sequence[BlockLaunches], _: Device) -> Fitted:
    points = [(s.blocks, seconds(s)) for s in samples if s.threads == _SMALL_THREADS]
    return straight(points, "blocks", "seconds").slope


def _blocks_per_sm(samples: Sequence[Residency], _: Device) -> Fitted:
    chosen = [s for s in samples if s.threads == _SMALL_THREADS and not s.shared_bytes]
    return _residents(chosen, lambda s: 1, "blocks")


def _warps_per_sm(samples: Sequence[Residency], _: Device) -> Fitted:
    return _residents(samples, lambda s: s.threads // WARP_LANES, "warps")


def _residents(samples: Sequence[Residency], each: Callable[[Residency], int], what: str) -> Fitted:
    """The most that the typical SM held, and the run of the shape that reached it."""
    if not samples:
        raise fits.UnfitError("no blocks")
    held = {id(s): each(s) * statistics.mode(s.most_resident) for s in samples}
    best = max(samples, key=lambda s: held[id(s)])
    most = held[id(best)]
    fewer = sum(each(best) * n != most for n in best.most_resident) / len(best.most_resident)
    curves = tuple(
        PlottedCurve(
            f"{s.threads} threads" + (f", {kib:.0f} KiB" if (kib := s.shared_bytes / 1024) else ""),
            tuple(
                ((i + 0.5) / len(s.mean_resident), each(s) * n)
                for i, n in enumerate(s.mean_resident)
            ),
        )
        for s in samples
    )
    level = PlottedCurve("most", ((0.0, most), (1.0, most)), is_fit=True)
    return Fitted(most, fewer, Picture("share of the run", f"{what} held", (*curves, level)))
