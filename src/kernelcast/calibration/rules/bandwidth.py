"""Bandwidth of the memory's levels, of random access, of copies to and from the host."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from functools import partial

from kernelcast.calibration import fits
from kernelcast.calibration.picture import Picture, PlottedCurve, level_curve, measured
from kernelcast.calibration.rules.base import (
    Device,
    Fitted,
    Rule,
    plateau,
    seconds,
    straight,
)
from kernelcast.measuring.samples import (
    Copies,
    NearStream,
    RandomReads,
    RandomWrites,
    Stream,
    StreamMix,
)

_MAX_WAIT_RESIDUAL = 0.15
"""The latency of copies grows by more than what the DRAM writes alone, close to its bandwidth."""
_UNSATURATED = 0.9
"""Share of the bandwidth up to which latency is what binds."""
_IN_HOST_DIRECTION = {"pcie.bandwidth": "HtoD", "pcie.bandwidth_to_host": "DtoH"}


def rules() -> Iterator[Rule]:
    """The best rates seen."""
    near = "plateau of reads over warps and widths, one SM"
    for level in ("l1", "shared"):
        yield Rule(f"{level}.bandwidth", f"bandwidth.{level}", near, _near)
    reads = "plateau of reads over occupancies and widths"
    for path in ("l2.bandwidth", "noc.bandwidth"):
        yield Rule(path, "bandwidth.l2", reads, partial(_stream, modes=("read",)))
    # Writes alone come to all that the pins carry, on V100 and A100 5 to 9 % more than streams that
    # read (docs/measured-gpus.md): no kernel that reads is as fast.
    best = "plateau of reads and copies over occupancies and widths"
    reading = partial(_stream, modes=("read", "copy"))
    yield Rule("dram.achieved_bandwidth", "bandwidth.dram", best, reading)
    writes = "plateau of writes over occupancies and widths"
    yield Rule("dram.write_bandwidth", "bandwidth.dram", writes, partial(_stream, modes=("write",)))
    wait = "slope of the latency of copies, less that of reads, over the time that the DRAM writes"
    yield Rule("dram.write_wait", "bandwidth.dram", wait, _write_wait, _MAX_WAIT_RESIDUAL)
    for level in ("dram", "l2"):
        mix = "plateau of streams that read as much as they write"
        yield Rule(f"{level}.mixed_bandwidth", "mixes", mix, partial(_mixed, level))
    written = "what is written, over the time that streams would take that read nothing"
    yield Rule("l2.write_bandwidth", "mixes", written, partial(_written, "l2"))
    random = "plateau over occupancies of reads from random sectors of the largest array"
    yield Rule("dram.scattered_rate", "random", random, _random)
    slope = "slope of time over reads from random sectors of the smallest array, most in flight"
    yield Rule("l2.request_rate", "random", slope, _requests)
    slope = "slope of time over stores to random sectors within L2"
    yield Rule("l2.write_rate", "random_writes", slope, _slope)
    for path, direction in _IN_HOST_DIRECTION.items():
        large = "plateau of copies over sizes, pinned memory"
        yield Rule(path, "copies", large, partial(_copies, direction))
    least = "the smallest copies from pinned memory"
    yield Rule("pcie.latency", "copies", least, _copy_latency)


def _near(samples: Sequence[NearStream], _: Device) -> Fitted:
    def rate(s: NearStream) -> float:
        return float(s.bytes / statistics.median(s.span_cycles))

    curves = measured(samples, lambda s: f"{s.width_bytes} bytes", lambda s: s.warps, rate)
    return plateau(curves, "warps on the SM", "byte/cycle/SM")


def _stream(samples: Sequence[Stream], _: Device, *, modes: Sequence[str]) -> Fitted:
    curves = measured(
        [s for s in samples if s.stride == 1 and s.mode in modes],
        lambda s: f"{s.mode} {s.width_bytes} x {s.in_flight}",
        lambda s: s.threads_per_sm * s.width_bytes * s.in_flight,
        lambda s: s.bytes / seconds(s),
    )
    return plateau(curves, "bytes in flight per SM", "byte/s")


def _write_wait(samples: Sequence[Stream], device: Device) -> Fitted:
    """Of streams of a load each: L_copy(T) - L_read(T / r) = constant + v T / 2 W.

    L is the latency that the bytes read and their rate tell (Little's law), T the throughput, half
    of which copies write, W that of writes alone and r that of copies over that of reads: a queue
    is as long at the same share of what can be served. The constant is what the loops differ by.
    """
    chosen = [s for s in samples if s.stride == 1]
    least = min((s.width_bytes * s.in_flight for s in chosen), default=0)
    most = {m: _fastest(chosen, m) for m in ("read", "write", "copy")}

    def latencies(mode: str) -> list[tuple[float, float]]:
        read_share = 0.5 if mode == "copy" else 1.0
        points = []
        for s in chosen:
            rate = s.bytes / seconds(s)
            is_bound = rate > _UNSATURATED * most[mode]
            if s.mode == mode and s.width_bytes * s.in_flight == least and not is_bound:
                held = s.threads_per_sm * device["sm_count"] * least
                points.append((rate, held / (rate * read_share)))
        return sorted(points)

    reads, copies = latencies("read"), latencies("copy")
    alike = most["copy"] / most["read"]
    points = [
        (rate / 2 / most["write"], latency - fits.between(reads, rate / alike))
        for rate, latency in copies
        if reads and reads[0][0] <= rate / alike <= reads[-1][0]
    ]
    label = "copies less reads"
    return straight(points, "share of the time that the DRAM writes", "seconds", label).slope


def _fastest(samples: Sequence[Stream], mode: str) -> float:
    return fits.best_plateau([s.bytes / seconds(s) for s in samples if s.mode == mode]).level


def _mixed(level: str, samples: Sequence[StreamMix], _: Device) -> Fitted:
    curves = measured(
        [s for s in samples if s.level == level],
        lambda s: level,
        lambda s: s.reads / (s.reads + s.writes),
        lambda s: s.bytes / seconds(s),
    )
    even = [s for s in samples if s.level == level and s.reads == s.writes]
    found = fits.best_plateau([s.bytes / t for s in even for t in s.seconds])
    fitted = level_curve("half reads", found.level, curves)
    return Fitted(found.level, found.residual, Picture("reads", "byte/s", (*curves, fitted)))


def _written(level: str, samples: Sequence[StreamMix], _: Device) -> Fitted:
    """Bytes over the time that streams would take that read nothing: what they read takes its turn
    among what they write, as long as they do not read the more of both."""
    points = [
        (s.reads / s.writes, t / s.bytes * (s.reads + s.writes) / s.writes)
        for s in samples
        if s.level == level and s.reads <= s.writes
        for t in s.seconds
    ]
    fitted = straight(points, "reads to a write", "seconds for a byte written")
    alone = fitted.line.intercept
    return fitted.derived(1 / alone, fitted.line.intercept_error / alone**2)


def _random(samples: Sequence[RandomReads], _: Device) -> Fitted:
    largest = max((s.footprint_bytes for s in samples), default=0)
    curves = measured(
        [s for s in samples if s.footprint_bytes == largest],
        lambda s: f"{s.in_flight} in flight",
        lambda s: s.threads_per_sm,
        lambda s: s.transactions / seconds(s),
    )
    return plateau(curves, "threads per SM", "transactions/s")


def _requests(samples: Sequence[RandomReads], device: Device) -> Fitted:
    """A slope, as the launch counts among the fewest of these reads."""
    least = min(s.footprint_bytes for s in samples)
    most = max(s.in_flight for s in samples)
    return _slope([s for s in samples if (s.footprint_bytes, s.in_flight) == (least, most)], device)


def _slope(samples: Sequence[RandomReads | RandomWrites], _: Device) -> Fitted:
    points = [(s.transactions, t) for s in samples for t in s.seconds]
    fitted = straight(points, "requests", "seconds")
    line = fitted.line
    return fitted.derived(1 / line.slope, line.slope_error / line.slope**2)


def _pinned(samples: Sequence[Copies], direction: str) -> list[Copies]:
    return [s for s in samples if (s.direction, s.host_memory) == (direction, "pinned")]


def _copies(direction: str, samples: Sequence[Copies], _: Device) -> Fitted:
    curves = measured(
        [s for s in samples if s.direction == direction],
        lambda s: s.host_memory,
        lambda s: s.bytes,
        lambda s: s.bytes / seconds(s),
    )
    found = fits.best_plateau([s.bytes / seconds(s) for s in _pinned(samples, direction)])
    fitted = level_curve("plateau", found.level, curves)
    picture = Picture("bytes", "byte/s", (*curves, fitted), is_logarithmic=True)
    return Fitted(found.level, found.residual, picture)


def _copy_latency(samples: Sequence[Copies], _: Device) -> Fitted:
    copies = sorted(_pinned(samples, "HtoD"), key=lambda s: s.bytes)
    found = fits.level([t for s in copies[:1] for t in s.seconds])
    curve = PlottedCurve("measured", tuple((s.bytes, seconds(s)) for s in copies))
    fitted = level_curve("the smallest", found.level, [curve])
    picture = Picture("bytes", "seconds", (curve, fitted), is_logarithmic=True)
    return Fitted(found.level, found.residual, picture)
