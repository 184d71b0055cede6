"""Constants of the models: of Volkov's latency under load, of Hong and Kim's departures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from kernelcast.calibration import fits
from kernelcast.calibration.picture import Picture, PlottedCurve, level_curve
from kernelcast.calibration.rules.base import (
    Device,
    Fitted,
    Rule,
    constant,
    cycles_per,
    pin_bandwidth,
    seconds,
    warp_cycles,
)
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.machines.machine import Provenance
from kernelcast.measuring.samples import LoadedChase

_MAX_MODEL_RESIDUAL = 0.10
_COALESCED_PITCH, _SECTOR_PITCH = 8, 32
_POINTER_BYTES = 8
_TRANSACTION_BYTES = 128
_CURVE_POINTS = 60


def rules() -> Iterator[Rule]:
    """All from the latency under load."""
    law = "latency = a + b T/(c - T), coalesced (Volkov 2016, section 6.4)"
    for part in ("base", "slope", "capacity"):
        path, fit = f"volkov.latency_{part}", partial(_volkov, part)
        yield Rule(path, "loaded_latency", law, fit, _MAX_MODEL_RESIDUAL, Provenance.FITTED)
    alone = "round trip, one warp per SM"
    yield Rule("mwp_cwp.mem_ld", "loaded_latency", alone, _round_trip, kind=Provenance.FITTED)
    least = "least latency over warps, per transaction (Hong and Kim 2009, section 3.2.2)"
    for name, pitch in (("coalesced", _COALESCED_PITCH), ("uncoalesced", _SECTOR_PITCH)):
        path, fit = f"mwp_cwp.departure_{name}", partial(_departure, pitch)
        yield Rule(path, "loaded_latency", least, fit, _MAX_MODEL_RESIDUAL, Provenance.FITTED)


def _loaded(
    samples: Sequence[LoadedChase], pitch: int
) -> tuple[list[float], list[float], list[float]]:
    """Warps per SM, bytes per second that are asked for, and mean latency."""
    chosen = [s for s in samples if s.lane_pitch_bytes == pitch]
    hops_bytes = WARP_LANES * _POINTER_BYTES
    return (
        [s.warps_per_sm for s in chosen],
        [s.warps * (s.hops + s.warm_hops) * hops_bytes / seconds(s) for s in chosen],
        [warp_cycles(s, lambda s: s.hops) for s in chosen],
    )


def _check_that_pins_carry(device: Device, bytes_per_s: float) -> None:
    """Warps that follow each other closely find in L2 what another one has just loaded."""
    pins = pin_bandwidth(device)
    if pins is not None and bytes_per_s > pins:
        much = f"{bytes_per_s:.4g} of the {pins:.4g} byte/s that the pins carry"
        raise fits.UnfitError(f"not all of it is DRAM: {much}")


def _volkov(part: str, samples: Sequence[LoadedChase], device: Device) -> Fitted:
    _warps, throughputs, latencies = _loaded(samples, _COALESCED_PITCH)
    found = fits.loaded_latency(throughputs, latencies)
    _check_that_pins_carry(device, found.capacity)
    points = tuple(sorted(zip(throughputs, latencies, strict=True)))
    # Up to the throughput at which the law is at the highest latency that was measured.
    rise = (max(latencies) - found.base) / found.slope
    end = found.capacity * rise / (1 + rise) if rise > 0 else points[-1][0]
    steps = [end * i / _CURVE_POINTS for i in range(_CURVE_POINTS + 1)]
    law = PlottedCurve("a + b T/(c - T)", tuple((t, found.at(t)) for t in steps), is_fit=True)
    curves = (PlottedCurve("measured", points), law)
    picture = Picture("memory throughput in byte/s", "cycles per load", curves)
    return Fitted(getattr(found, part), found.residual, picture)


def _round_trip(samples: Sequence[LoadedChase], _: Device) -> Fitted:
    wanted = (_COALESCED_PITCH, 1)
    alone = [s for s in samples if (s.lane_pitch_bytes, s.warps_per_sm) == wanted]
    return constant(cycles_per(alone, lambda s: s.hops), "cycles per load")


def _departure(pitch: int, samples: Sequence[LoadedChase], device: Device) -> Fitted:
    warps, throughputs, latencies = _loaded(samples, pitch)
    # Of a sector that a lane alone touches, all of it moves.
    _check_that_pins_carry(device, max(throughputs, default=0.0) * pitch / _POINTER_BYTES)
    found = fits.departure_delay(warps, latencies)
    coalesced = WARP_LANES * _POINTER_BYTES // _TRANSACTION_BYTES
    transactions = coalesced if pitch == _COALESCED_PITCH else WARP_LANES
    each = sorted(
        (n, latency / n / transactions) for n, latency in zip(warps, latencies, strict=True)
    )
    curve = PlottedCurve("measured", tuple(each))
    value = found.level / transactions
    picture = Picture(
        "warps per SM", "cycles per transaction", (curve, level_curve("least", value, [curve]))
    )
    return Fitted(value, found.residual, picture)
