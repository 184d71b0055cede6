"""Latency and throughput of matrix instructions (Sun et al. 2022, Luo et al. 2025)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kernelcast.calibration.picture import measured
from kernelcast.calibration.rules.arithmetic import chain_latency
from kernelcast.calibration.rules.base import Device, Fitted, Rule, plateau, straight
from kernelcast.measuring.harness.microbenchmarks.tensor import Capability
from kernelcast.measuring.samples import GroupChain, MatrixChains, ThreadChain

_TURING = {"tensor": "tensor.m16n8k8_f16", "tensor_int8": "tensor.m8n8k16_s8"}
_AMPERE = {
    "tensor": "tensor.m16n8k16_f16",
    "tensor_tf32": "tensor.m16n8k8_tf32",
    "tensor_int8": "tensor.m16n8k32_s8",
    "tensor_fp64": "tensor.m8n8k4_f64",
}
_WITH_FP8 = {**_AMPERE, "tensor_fp8": "tensor.m16n8k32_e4m3"}
_HOPPER = {
    "tensor": "wgmma.f16_n256",
    "tensor_tf32": "wgmma.tf32_n128",
    "tensor_int8": "wgmma.s8_n128",
    "tensor_fp64": "tensor.m16n8k8_f64",
    "tensor_fp8": "wgmma.e4m3_n128",
}


_BLACKWELL = {
    "tensor": "tcgen05.f16_n256",
    "tensor_tf32": "tcgen05.tf32_n256",
    "tensor_fp64": "tensor.m8n8k4_f64",
    "tensor_fp8": "tcgen05.e4m3_n256",
}


def rules(capability: Capability) -> Iterator[Rule]:
    """The best instruction of every type; a warp's own one for the latency."""
    for name, benchmark in _fastest(capability).items():
        method, fit = _FITS[benchmark.partition(".")[0]]
        yield Rule(f"throughput.{name}", benchmark, method, fit)
    if capability[0] == 9:
        yield Rule("throughput.tensor_warp", "tensor.m16n8k16_f16", _PLATEAU, _warp_rate)
    if capability >= (7, 5):
        shape = "m16n8k8_f16" if capability < (8, 0) else "m16n8k16_f16"
        slope = f"slope of cycles over the length of a chain of {shape} on one accumulator"
        yield Rule("latency.tensor", f"tensor.{shape}", slope, chain_latency)


def _fastest(capability: Capability) -> dict[str, str]:
    if capability < (7, 5):
        return {}
    if capability < (8, 0):
        return _TURING
    if capability[0] in (9, 10):
        return _HOPPER if capability[0] == 9 else _BLACKWELL
    return _WITH_FP8 if capability >= (8, 9) else _AMPERE


def _warp_rate(samples: Sequence[MatrixChains], _: Device) -> Fitted:
    def rate(s: MatrixChains) -> float:
        work = s.warps * s.instructions * s.multiply_adds
        return float(work / statistics.median(s.span_cycles))

    curves = measured(samples, lambda s: f"{s.chains} chains", lambda s: s.warps, rate)
    return plateau(curves, "warps on the SM", "FMA/cycle/SM")


def _group_rate(samples: Sequence[GroupChain], _: Device) -> Fitted:
    def rate(s: GroupChain) -> float:
        work = s.groups * s.instructions * s.multiply_adds
        return float(work / statistics.median(s.span_cycles))

    curves = measured(samples, lambda s: f"{s.steps} in a chain", lambda s: s.groups, rate)
    return plateau(curves, "groups of four warps on the SM", "FMA/cycle/SM")


def _thread_rate(samples: Sequence[ThreadChain], _: Device) -> Fitted:
    """What the wait at the end of a chain costs cancels."""
    points = [(s.steps, c / s.iterations) for s in samples for c in s.span_cycles]
    found = straight(points, "instructions in a chain", "cycles of a chain").slope
    (multiply_adds,) = {s.multiply_adds for s in samples}
    return Fitted(multiply_adds / found.value, found.residual, found.picture)


_PLATEAU = "plateau over warps and chains, one SM"
_FITS: Mapping[str, tuple[str, Callable[[Any, Device], Fitted]]] = {
    "tensor": (_PLATEAU, _warp_rate),
    "wgmma": (_PLATEAU, _group_rate),
    "tcgen05": ("slope of cycles over the instructions of a chain, one SM", _thread_rate),
}
"""How the rate of an instruction follows from its benchmark."""
