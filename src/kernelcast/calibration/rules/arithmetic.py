"""Latency and throughput of instructions (Volkov 2016, section 3.4)."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from kernelcast.calibration.picture import measured
from kernelcast.calibration.rules.base import (
    Device,
    Fitted,
    Rule,
    constant,
    cycles_per,
    plateau,
    straight,
)
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.measuring.samples import Chains

OPERATION_OF: Mapping[str, str] = {
    "fp16": "fp16_fma",
    "fp32": "fp32_fma",
    "fp64": "fp64_fma",
    "int": "int_add",
    "int_mul": "int_mad",
    "logic": "logic",
    "shift": "shift",
    "bit_count": "popc",
    "compare": "int_compare",
    "sfu": "rsqrt",
    "shuffle": "shuffle",
}
"""The operation that stands for a class of the machine file, one pipe in every instruction."""
_PACKED_SINCE = (8, 6)
"""From here on an integer becomes a float (I2FP) where integers are computed."""
_PACKED_WAIT = 6
"""Cycles that the compiler has an F2I wait for its I2FP: the stall count in all such code."""


def rules() -> Iterator[Rule]:
    """Every class, and the interval between independent instructions."""
    slope = "slope of cycles over the length of a dependent chain"
    rate = "plateau over warps and chains, one SM"
    for op_class, operation in OPERATION_OF.items():
        name = f"arithmetic.{operation}"
        yield Rule(f"latency.{op_class}", name, slope, chain_latency)
        yield Rule(f"throughput.{op_class}", name, rate, _throughput)
    pair = "slope of cycles over pairs of I2F and F2I, less the I2FP where that has another pipe"
    yield Rule("latency.convert", "arithmetic.convert", pair, _conversion_latency)
    pairs = f"{rate}, of pairs of I2F and F2I; an I2FP does not count"
    yield Rule("throughput.convert", "arithmetic.convert", pairs, _conversions)
    wide = "plateau over warps and chains, one SM; from single to double precision and back"
    yield Rule("throughput.convert64", "arithmetic.convert_f64", wide, _throughput)
    method = "cycles per instruction of one warp with four chains"
    yield Rule("latency.issue_next", "arithmetic.fp32_fma", method, _issue_next)


def chain_latency(samples: Sequence[Chains], _: Device) -> Fitted:
    """Cycles from an instruction to the next of its chain; what the loop costs cancels."""
    points = [
        (s.instructions / s.iterations, cycles / s.iterations)
        for s in samples
        if s.chains == 1 and s.warps == 1
        for cycles in s.warp_cycles
    ]
    return straight(points, "instructions in a chain", "cycles of a chain").slope


def _is_packed(device: Device) -> bool:
    return (device["major"], device["minor"]) >= _PACKED_SINCE


def _conversion_latency(samples: Sequence[Chains], device: Device) -> Fitted:
    """Of two instructions, I2F and F2I, or of the F2I beyond its I2FP."""
    found = chain_latency(samples, device)
    if not _is_packed(device):
        return found
    pair = 2 * found.value
    value = pair - _PACKED_WAIT
    return Fitted(value, found.residual * pair / value, found.picture)


def _conversions(samples: Sequence[Chains], device: Device) -> Fitted:
    return _throughput(samples, device, counted=0.5 if _is_packed(device) else 1.0)


def _throughput(samples: Sequence[Chains], _: Device, *, counted: float = 1.0) -> Fitted:
    """`counted` is the share of the instructions whose rate is asked for."""

    def rate(s: Chains) -> float:
        span = statistics.median(s.span_cycles)
        return float(WARP_LANES * s.warps * s.instructions * counted / span)

    curves = measured(samples, lambda s: f"{s.chains} chains", lambda s: s.warps, rate)
    return plateau(curves, "warps on the SM", "results/cycle/SM")


def _issue_next(samples: Sequence[Chains], _: Device) -> Fitted:
    many = [s for s in samples if s.chains == 4 and s.warps == 1]
    return constant(cycles_per(many, lambda s: s.instructions), "cycles per instruction")
