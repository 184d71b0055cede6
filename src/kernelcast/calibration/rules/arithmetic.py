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
    "bitfield": "popc",
    "compare": "int_compare",
    "convert": "convert",
    "sfu": "rsqrt",
    "shuffle": "shuffle",
}
"""The operation that stands for a class of the machine file."""


def rules() -> Iterator[Rule]:
    """Every class, and the interval between independent instructions."""
    for op_class, operation in OPERATION_OF.items():
        name = f"arithmetic.{operation}"
        slope = "slope of cycles over the length of a dependent chain"
        yield Rule(f"latency.{op_class}", name, slope, chain_latency)
        rate = "plateau over warps and chains, one SM"
        yield Rule(f"throughput.{op_class}", name, rate, _throughput)
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


def _throughput(samples: Sequence[Chains], _: Device) -> Fitted:
    def rate(s: Chains) -> float:
        span = statistics.median(s.span_cycles)
        return float(WARP_LANES * s.warps * s.instructions / span)

    curves = measured(samples, lambda s: f"{s.chains} chains", lambda s: s.warps, rate)
    return plateau(curves, "warps on the SM", "results/cycle/SM")


def _issue_next(samples: Sequence[Chains], _: Device) -> Fitted:
    many = [s for s in samples if s.chains == 4 and s.warps == 1]
    return constant(cycles_per(many, lambda s: s.instructions), "cycles per instruction")
