"""What `occupancy-curve FILE` answers: whether a launch has the warps that hide its latency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from kernelcast.exploration.occupancy_curve import CurvePoint, OccupancyCurve
from kernelcast.models.terms.base import Bottleneck
from kernelcast.reporting.documents.base import (
    Natural,
    NotNegative,
    Positive,
    Share,
    json_schema,
)
from kernelcast.reporting.documents.result import launch_title
from kernelcast.reporting.figures import digits, grouped
from kernelcast.reporting.plain_words import MEANING

_SCHEMA: Literal["kernelcast/occupancy-curve/1"] = "kernelcast/occupancy-curve/1"


class PointPart(Struct, frozen=True):
    """One occupancy: throughput, and what latency without load would allow, in warps/cycle/SM,
    and as warps per second of the whole chip; then the throughput over its bound and over that of
    the launch. `fits` is the occupancy of the launch, `is_enough` the least that hides latency.
    """

    blocks: Positive
    warps: Positive
    throughput: NotNegative
    latency_bound: NotNegative
    warps_per_s: NotNegative
    latency_bound_warps_per_s: NotNegative
    of_bound: NotNegative
    of_launch: NotNegative
    fits: bool
    is_enough: bool


class CurveResult(Struct, frozen=True):
    """One launch on one GPU, by the volkov model.

    `needed_warps`, null where no number of warps suffices, reach `needed_share` of the throughput
    bound. `resident_warps` an SM really holds, `warps_per_sm` it could hold of this launch, and
    `limit_warps` of blocks of this size. `gain` is the throughput at `wanted_blocks` over that of
    the launch, `most_for_needed` the most registers per thread and bytes of shared memory per
    block with which those fit. Throughputs are in warps per cycle and SM; `points` run from one
    block per SM to the most. `is_small` says that the grid has too few blocks to fill the SMs;
    the two bounds are the same at `bounds_meet_warps`, without load on memory.
    """

    kernel: str
    gpu: str
    needed_warps: NotNegative | None
    needed_share: Share
    resident_warps: NotNegative
    warps_per_sm: Positive
    limit_warps: Positive
    enough: bool
    gain: NotNegative
    wanted_blocks: Positive
    latency_cycles: NotNegative
    throughput_bound: NotNegative
    throughput: NotNegative
    waits_for: Bottleneck
    busiest: Bottleneck
    limiter: str
    most_for_needed: dict[str, Natural | None]
    advice: list[str]
    points: list[PointPart]
    title: str
    wanted_warps: Positive
    is_small: bool
    bound_warps_per_s: NotNegative
    bounds_meet_warps: NotNegative


class CurveDocument(Struct, frozen=True):
    """All that `occupancy-curve FILE --json` prints."""

    schema: Literal["kernelcast/occupancy-curve/1"]
    results: list[CurveResult]


def curve_document(curves: Sequence[OccupancyCurve]) -> CurveDocument:
    """The document of any number of launches and GPUs."""
    return CurveDocument(_SCHEMA, [curve_result(c) for c in curves])


def curve_schema() -> dict[str, Any]:
    """The JSON Schema of `occupancy-curve FILE --json`."""
    return json_schema(CurveDocument, _SCHEMA, "kernelcast occupancy-curve --json")


def curve_result(c: OccupancyCurve) -> CurveResult:
    """One curve in the published form."""
    held = c.case.occupancy
    return CurveResult(
        kernel=c.case.kernel.shown,
        gpu=c.case.machine.name,
        needed_warps=c.needed_warps,
        needed_share=c.needed_share,
        resident_warps=c.resident_warps,
        warps_per_sm=held.warps_per_sm,
        limit_warps=c.limit_warps,
        enough=c.is_enough,
        gain=c.gain,
        wanted_blocks=c.wanted.blocks,
        latency_cycles=c.latency_cycles,
        throughput_bound=c.throughput_bound,
        throughput=c.throughput,
        waits_for=c.waits_for,
        busiest=c.busiest,
        limiter=held.limiter,
        most_for_needed=dict(c.most_for_needed),
        advice=_advice(c),
        points=[_point(c, p) for p in c.points],
        title=launch_title(c.case),
        wanted_warps=c.wanted.warps,
        is_small=_is_small(c),
        bound_warps_per_s=c.throughput_bound * _per_second(c),
        bounds_meet_warps=c.throughput_bound * c.latency_cycles,
    )


def _advice(c: OccupancyCurve) -> list[str]:
    """What would change the answer, one clause each."""
    return _spare(c) if c.is_enough else _missing(c)


def _point(c: OccupancyCurve, p: CurvePoint) -> PointPart:
    per_second = _per_second(c)
    return PointPart(
        blocks=p.blocks,
        warps=p.warps,
        throughput=p.throughput,
        latency_bound=p.latency_bound,
        warps_per_s=p.throughput * per_second,
        latency_bound_warps_per_s=p.latency_bound * per_second,
        of_bound=p.throughput / c.throughput_bound,
        of_launch=p.throughput / c.throughput,
        fits=p.blocks == c.case.occupancy.blocks_per_sm,
        is_enough=p == c.wanted and c.needed_warps <= c.limit_warps,
    )


def _per_second(c: OccupancyCurve) -> float:
    """Warps per second of the chip in one warp per cycle and SM."""
    number = c.case.machine.number
    return number("clock.sm") * number("sm.count")


def _is_small(c: OccupancyCurve) -> bool:
    return c.resident_warps < c.case.occupancy.warps_per_sm


def _spare(c: OccupancyCurve) -> list[str]:
    held = c.case.occupancy
    found = [
        f"more warps gain {'nothing' if c.needed_share == 1 else 'little'}: {MEANING[c.busiest]}"
    ]
    for name, now, most in _resources(c):
        if most is not None and most > now and c.wanted.blocks < held.blocks_per_sm:
            found.append(
                f"{name} may grow from {grouped(now)} to {grouped(most)}: {_blocks(c)} suffice"
            )
    return found


def _missing(c: OccupancyCurve) -> list[str]:
    case, held = c.case, c.case.occupancy
    found: list[str] = []
    if _is_small(c):
        blocks = "1 block fills" if case.launch.blocks == 1 else f"{case.launch.blocks} blocks fill"
        found.append(
            f"a larger grid: {blocks} "
            f"{digits(c.resident_warps)} of the {held.warps_per_sm} warps that fit on each SM"
        )
    if c.wanted.blocks > held.blocks_per_sm:
        shrink = [
            f"{name} from {grouped(now)} to at most {grouped(most)}"
            if most is not None
            else f"{name} cannot be made small enough"
            for name, now, most in _resources(c)
            if most is None or most < now
        ]
        if "barriers" in c.most_for_needed:
            shrink.append("fewer barriers per block")
        if shrink:
            found.append(f"for {_blocks(c)} per SM ({c.wanted.warps} warps): {', '.join(shrink)}")
    if c.needed_warps > c.limit_warps:
        found.append(f"no more than {c.limit_warps} warps fit in blocks of this size")
    found.append(
        f"or more instructions of each warp at once: one warp takes "
        f"{grouped(c.latency_cycles)} cycles; the present warps would suffice at "
        f"{grouped(c.latency_for_present_cycles)}, without load on memory"
    )
    return [*found, f"waiting: {MEANING[c.waits_for]}"]


def _resources(c: OccupancyCurve) -> list[tuple[str, int, int | None]]:
    """Name, present value, and the most with which the wanted blocks fit."""
    held = c.case.occupancy
    now = {
        "registers": ("registers per thread", held.registers_per_thread or 0),
        "shared memory": ("bytes of shared memory per block", held.shared_bytes_per_block),
    }
    return [(*now[r], most) for r, most in c.most_for_needed.items() if r in now]


def _blocks(c: OccupancyCurve) -> str:
    return "1 block" if c.wanted.blocks == 1 else f"{c.wanted.blocks} blocks"
