"""Which number of a machine comes from which table of gpu-benches, by which fit.

The samples of a rule are the typed rows of its table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from kernelcast.calibration import fits
from kernelcast.calibration.levels import Level, levels
from kernelcast.calibration.picture import Picture, PlottedCurve, level_curve
from kernelcast.calibration.rules.base import Device, Fitted, Rule, straight
from kernelcast.calibration.rules.latency import CACHE_SHARE, knee_of
from kernelcast.measurements.gpu_benches import (
    CacheRead,
    ChaseRow,
    Intensity,
    SharedRead,
    ShortStreams,
    SmallKernel,
    Streams,
    Strided,
)

_CYCLES = "cycles per load"
_FOOTPRINT = "footprint in bytes"
_NEAR_DRAM = 2
"""DRAM is taken at this many times L2; below, even a random cyclic chase has hits in L2."""
_ALIKE = 0.05
_COMPUTE_SHARE = 0.5
"""Arithmetic limits, and not memory, where as much work needs less than this of the bandwidth."""
_FLOPS_OF_FMA = 2
_READING = ("read", "scale", "triad")
"""Streams that read; writes alone are faster, and no kernel that reads is (`bandwidth.rules`)."""

_ROUNDS_ANYWHERE = (0.42 * 2.9375 + (1 - 0.42) * (8.75 - 2.9375) / 3) / 2
"""How much longer a warp's 32 words of 8 bytes take the L2 cache that begin anywhere, not with a
line: they lie in 2.94 lines in the mean and 8.75 sectors, not in 2 and 8."""

_Read = CacheRead | SharedRead


class _FitMethod(NamedTuple):
    program: str
    method: str
    fit: Callable[[Any, Device], Fitted]


def rules(programs: Collection[str]) -> Iterator[Rule]:
    """One rule for every number: by the first of its programs that ran, else by the first."""
    for path, methods in _fit_methods().items():
        method = next((w for w in methods if w.program in programs), methods[0])
        yield Rule(path, method.program, method.method, method.fit)


def _fit_methods() -> Mapping[str, Sequence[_FitMethod]]:
    level = "level of the chase over footprints"
    rise = f"footprint where the latency has risen by {CACHE_SHARE:.0%} of all it rises"
    plateau = "plateau over footprints of reads of all SMs"
    streams = "plateau over occupancies"
    chase, stream = partial(_FitMethod, "gpu-latency"), partial(_FitMethod, "gpu-stream")
    # Of several programs that tell a number, the first that ran decides.
    return {
        "latency.l1": [chase(f"first {level}", _l1)],
        "latency.l2": [chase(f"second {level}", partial(_l2, place=0))],
        # Where a chase leaves the near partition, hits in the far one are among other loads.
        "latency.l2_far": [chase(f"third {level}, within L2; at most", partial(_l2, place=1))],
        "latency.dram": [chase(f"last {level}, of at least twice L2", _dram)],
        "l1.reach": [chase(rise, _l1_reach)],
        "l2.reach": [chase(f"{rise}; of the near partition, if two", _l2_reach)],
        "l1.bandwidth": [
            _FitMethod("gpu-cache", "plateau of reads over footprints, all SMs alike", _l1_rate),
            _FitMethod(
                "gpu-strides", "plateau of loads of consecutive words, one SM", _consecutive
            ),
        ],
        "l2.bandwidth": [
            _FitMethod(
                "gpu-cache", f"{plateau}, each of the same array", partial(_cache_rate, place=1)
            ),
            _FitMethod("gpu-l2-cache", plateau, partial(_cache_rate, place=0)),
        ],
        "l2.mixed_bandwidth": [
            _FitMethod(
                "gpu-l2-stream",
                f"{streams} and lengths of scale, as much read as written",
                partial(_in_l2, "scale"),
            )
        ],
        "l2.write_bandwidth": [
            _FitMethod(
                "gpu-l2-stream", f"{streams} and lengths of write, by whole lines", _written_in_l2
            )
        ],
        "dram.achieved_bandwidth": [
            stream(f"{streams} of read, scale and triad", partial(_stream, _READING))
        ],
        "dram.write_bandwidth": [stream(f"{streams} of init", partial(_stream, ("init",)))],
        "dram.triad_bandwidth": [
            stream(f"{streams} of triad, three reads to a write", partial(_stream, ("triad",)))
        ],
        "dram.mixed_bandwidth": [
            stream(f"{streams} of scale, as much read as written", partial(_stream, ("scale",)))
        ],
        "launch.overhead": [
            _FitMethod(
                "gpu-small-kernels", "first level of the time of a launch over its size", _launch
            )
        ],
        "launch.block_interval": [
            _FitMethod(
                "gpu-small-kernels", "slope of time over blocks, whatever their size", _block
            )
        ],
        "throughput.fp32": [
            _FitMethod("gpu-roofline", "plateau over intensities, at the highest clock", _fp32)
        ],
    }


def _chased(rows: Sequence[ChaseRow]) -> tuple[list[float], list[float]]:
    ordered = sorted(rows, key=lambda r: r.footprint_bytes)
    return [r.footprint_bytes for r in ordered], [r.cycles for r in ordered]


def _caches(rows: Sequence[ChaseRow], device: Device) -> tuple[Level, list[Level], Level]:
    """The levels of L1, of L2, near before far, and of DRAM, the first beyond the stated L2."""
    found = levels(*_chased(rows))
    within = [each for each in found[1:] if each.middle <= device["l2_bytes"]]
    beyond = [each for each in found[1:] if each.middle > device["l2_bytes"]]
    if not within or not beyond:
        raise fits.UnfitError(f"{len(found)} levels of latency, not those of L1, L2 and DRAM")
    return found[0], within, beyond[0]


def _at_level(rows: Sequence[ChaseRow], values: Sequence[float]) -> Fitted:
    found = fits.level(values)
    curve = _curve(*_chased(rows))
    fitted = level_curve("level", found.level, [curve])
    picture = Picture(_FOOTPRINT, _CYCLES, (curve, fitted), is_logarithmic=True)
    return Fitted(found.level, found.residual, picture)


def _l1(rows: Sequence[ChaseRow], device: Device) -> Fitted:
    return _at_level(rows, _caches(rows, device)[0].values)


def _l2(rows: Sequence[ChaseRow], device: Device, *, place: int) -> Fitted:
    within = _caches(rows, device)[1]
    if place >= len(within):
        raise fits.UnfitError("the latency of L2 is at one level, not at two")
    return _at_level(rows, within[place].values)


def _dram(rows: Sequence[ChaseRow], device: Device) -> Fitted:
    level = _caches(rows, device)[2]
    least = _NEAR_DRAM * device["l2_bytes"]
    pairs = zip(level.sizes, level.values, strict=True)
    return _at_level(rows, [cycles for size, cycles in pairs if size >= least])


def _l1_reach(rows: Sequence[ChaseRow], device: Device) -> Fitted:
    l1, within, _dram_level = _caches(rows, device)
    return _reach(rows, l1, within[0])


def _l2_reach(rows: Sequence[ChaseRow], device: Device) -> Fitted:
    _l1_level, within, dram = _caches(rows, device)
    return _reach(rows, within[0], dram)


def _reach(rows: Sequence[ChaseRow], low: Level, high: Level) -> Fitted:
    """Where the latency leaves the lower level, of what lies from that to the higher one."""
    points = list(zip(*_chased(rows), strict=True))[low.place : high.end]
    found, picture = knee_of(points, CACHE_SHARE, _FOOTPRINT)
    return Fitted(found.size, found.residual, picture)


def _read_level(
    rows: Sequence[_Read], device: Device, place: int
) -> tuple[fits.Plateau, PlottedCurve]:
    """The best rates of a level, of arrays that L2 holds.

    Beyond, SMs that read the same array at about the same time still share what one has fetched.
    """
    xs, ys = _columns(rows, "footprint_bytes", "bytes_per_s")
    found = levels(xs, ys)
    if place >= len(found):
        raise fits.UnfitError(f"{len(found)} levels of bandwidth, not those of L1 and L2")
    pairs = zip(found[place].sizes, found[place].values, strict=True)
    held = [rate for size, rate in pairs if size <= device["l2_bytes"]]
    return fits.best_plateau(held), _curve(xs, ys)


def _cache_rate(rows: Sequence[_Read], device: Device, *, place: int) -> Fitted:
    found, curve = _read_level(rows, device, place)
    return _plateau(found, (curve,), _FOOTPRINT, "byte/s", is_logarithmic=True)


def _l1_rate(rows: Sequence[CacheRead], device: Device) -> Fitted:
    """Byte per cycle of one SM, of the clock that the tables say, else of that of the GPU."""
    cycles_per_s = device["sm_count"] * device["clock_khz"] * 1e3
    found, curve = _read_level(rows, device, 0)
    own = fits.Plateau(found.level / cycles_per_s, found.residual)
    each = PlottedCurve(curve.label, tuple((x, y / cycles_per_s) for x, y in curve.points))
    return _plateau(own, (each,), _FOOTPRINT, "byte/cycle/SM", is_logarithmic=True)


def _consecutive(rows: Sequence[Strided], _: Device) -> Fitted:
    curves = tuple(
        _curve(*_columns(chosen, "stride", "bytes_per_cycle"), label=word)
        for word in ("float", "double")
        if (chosen := [r for r in rows if (r.word, r.shape) == (word, "stride")])
    )
    found = fits.best_plateau([y for curve in curves for x, y in curve.points if x == 1])
    return _plateau(found, curves, "stride in words", "byte/cycle")


def _stream(kinds: Sequence[str], rows: Sequence[Streams], _: Device) -> Fitted:
    curves = tuple(_curve(*_columns(rows, "threads", kind), label=kind) for kind in kinds)
    found = fits.best_plateau([y for curve in curves for _, y in curve.points])
    return _plateau(found, curves, "threads", "byte/s")


def _in_l2(kind: str, rows: Sequence[ShortStreams], _: Device) -> Fitted:
    most = max((r.threads for r in rows), default=0)
    full = [r for r in rows if r.threads == most]
    curve = _curve(*_columns(full, "length", kind), label=f"{most} threads")
    found = fits.best_plateau([getattr(r, kind) for r in rows])
    return _plateau(found, (curve,), "length of the arrays", "byte/s", is_logarithmic=True)


def _written_in_l2(rows: Sequence[ShortStreams], device: Device) -> Fitted:
    """The first sector of a line takes 0.42 of what the line does, as on H100 and H200, where that
    was measured (`l2.write_rate`)."""
    anywhere = _in_l2("init", rows, device)
    return replace(anywhere, value=_ROUNDS_ANYWHERE * anywhere.value)


def _launch(rows: Sequence[SmallKernel], _: Device) -> Fitted:
    """Of every size the block that takes least; what a launch moves is no matter at the first."""
    sizes = sorted({r.elements for r in rows})
    least = [min(r.launch_s for r in rows if r.elements == size) for size in sizes]
    found = levels(sizes, least)
    if not found:
        raise fits.UnfitError("the time grows with the size from the first on")
    level = fits.level(found[0].values)
    curve = _curve(sizes, least)
    fitted = level_curve("level", level.level, [curve])
    picture = Picture("elements", "seconds", (curve, fitted), is_logarithmic=True)
    return Fitted(level.level, level.residual, picture)


def _block(rows: Sequence[SmallKernel], _: Device) -> Fitted:
    """Blocks that each take as long, whatever their size, are limited by how fast they begin."""
    sizes = sorted({r.block for r in rows})
    rates = {b: fits.best_plateau([r.blocks_per_s for r in rows if r.block == b]) for b in sizes}
    best = max((rate.level for rate in rates.values()), default=0.0)
    alike = {b for b, rate in rates.items() if rate.level >= (1 - _ALIKE) * best}
    if len(alike) < 2:
        raise fits.UnfitError("small blocks take as long as they are large: memory limits them")
    points = [(r.elements / r.block, r.launch_s) for r in rows if r.block in alike]
    return straight(points, "blocks", "seconds").slope


def _fp32(rows: Sequence[Intensity], device: Device) -> Fitted:
    """At a clock that the limit of power has lowered, nobody knows the cycles."""
    fastest = [r for r in rows if r.clock_hz == max(r.clock_hz for r in rows)]
    curve = _curve(*_columns(fastest, "fma_per_element", "flops"))
    found = fits.best_plateau([r.flops for r in fastest])
    near = [r for r in fastest if r.flops >= (1 - _ALIKE) * max(r.flops for r in fastest)]
    needed = min(r.bytes_per_s for r in near) / max(r.bytes_per_s for r in rows)
    if needed > _COMPUTE_SHARE:
        raise fits.UnfitError("at the highest clock memory limits, not arithmetic")
    scale = _FLOPS_OF_FMA * device["sm_count"] * fastest[0].clock_hz
    own = fits.Plateau(found.level / scale, found.residual)
    each = PlottedCurve(curve.label, tuple((x, y / scale) for x, y in curve.points))
    return _plateau(own, (each,), "FMA per element", "results/cycle/SM")


def _columns(rows: Sequence[object], x: str, y: str) -> tuple[list[float], list[float]]:
    return [getattr(r, x) for r in rows], [getattr(r, y) for r in rows]


def _curve(xs: Sequence[float], ys: Sequence[float], *, label: str = "measured") -> PlottedCurve:
    return PlottedCurve(label, tuple(sorted(zip(xs, ys, strict=True))))


def _plateau(
    found: fits.Plateau,
    curves: tuple[PlottedCurve, ...],
    x_label: str,
    y_label: str,
    *,
    is_logarithmic: bool = False,
) -> Fitted:
    fitted = level_curve("plateau", found.level, curves)
    picture = Picture(x_label, y_label, (*curves, fitted), is_logarithmic=is_logarithmic)
    return Fitted(found.level, found.residual, picture)
