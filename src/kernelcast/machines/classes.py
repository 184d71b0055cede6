"""The numbers of a class of instructions, where a machine has some."""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.ir import LaneMatch, MatrixProduct, OpClass
from kernelcast.machines.machine import Machine

_WITHIN: Mapping[OpClass, OpClass] = {OpClass.BIT_COUNT: OpClass.BITFIELD}
"""Classes that are counted among another one where a machine does not tell them apart."""


_MULTIPLIED = (OpClass.FP32, OpClass.INT_MUL)
_HALF, _NEARLY = 0.5, 0.05
_WARP_PRODUCT = 16 * 8 * 16
_FEWEST_LANES = 4
"""Of an arithmetic pipe that each scheduler has for itself; with fewer, all share one."""


def class_number(machine: Machine, kind: str, op_class: OpClass) -> float | None:
    """The `throughput` or `latency` of a class, or of the one that it is counted among.

    The throughput of double precision is what kernels reach, where a machine says that.
    """
    known = machine.get(f"{kind}.{op_class}")
    if known is not None and (kind, op_class) == ("throughput", OpClass.FP64):
        return known * (machine.get("throughput.fp64_share") or 1.0)
    wider = _WITHIN.get(op_class)
    return machine.get(f"{kind}.{wider}") if known is None and wider else known


def counts_bits_apart(machine: Machine) -> bool:
    """Whether bits are counted by the units of special functions, at a rate of their own."""
    return machine.get(f"throughput.{OpClass.BIT_COUNT}") is not None


def multiplies_in_half(machine: Machine) -> bool:
    """Whether half of the lanes of single precision multiply integers, and the others do not.

    So it is where that has half the rate and integer arithmetic has a pipe of its own: of an H100,
    Nsight Compute counts an IMAD on the FMA pipe like an FFMA, and it has half the throughput.
    """
    floats, integers = (class_number(machine, "throughput", c) for c in _MULTIPLIED)
    if not floats or not integers or machine.get("sm.integer_pipe") == 0:
        return False
    return abs(integers / floats - _HALF) < _NEARLY


def shares_fp64(machine: Machine) -> bool:
    """Whether the schedulers of an SM share one pipe of double precision, which then converts from
    and to 64-bit types, too."""
    rate = machine.get(f"throughput.{OpClass.FP64}")
    schedulers = int(machine.get("sm.schedulers") or 1)
    return rate is not None and rate < _FEWEST_LANES * schedulers


def wide_product_rate(machine: Machine) -> float | None:
    """Throughput of integer products of which the upper half is wanted, too."""
    known = machine.get("throughput.int_mul_wide")
    return class_number(machine, "throughput", OpClass.INT_MUL) if known is None else known


def product_cycles(machine: Machine, product: MatrixProduct) -> float | None:
    """Cycles that a warp's part of a product keeps the tensor cores of an SM; None without a rate.

    With the work W of m16n8k16, the rate R of the tensor cores and R_w of such products of one
    warp, whose matrices come from its registers, one takes a time beyond its work w:

        t = w / R + max(1, w / W) W (1 / R_w - 1 / R)

    On an H100 this holds of all shapes and formats: m16n8k16 takes 6 cycles of a tensor core that
    needs 4 for its work, and m16n8k8 takes 4, not 2.
    """
    rate, of_warp = (machine.get(f"throughput.{name}") for name in ("tensor", "tensor_warp"))
    if rate is None:
        return None
    work = product.half_multiply_adds
    beyond = 0.0
    if of_warp is not None and product.warps == 1:
        beyond = max(_WARP_PRODUCT, work) * (1 / of_warp - 1 / rate)
    return work / rate + beyond


def match_cycles(machine: Machine, match: LaneMatch, values: float) -> float | None:
    """Cycles for which a comparison with so many values keeps the unit of an SM busy; None without
    a rate."""
    rate = machine.get("throughput.match")
    return None if rate is None else values * match.words / rate


def match_latency(machine: Machine, match: LaneMatch, values: float) -> float | None:
    """From such a comparison to who needs its result; None where nobody has measured it.

    With v values of w words at a rate of R, of which each takes b beyond its time in the unit:

        L = L_0 + v (b + w / R)
    """
    first, each = (machine.get(f"latency.{name}") for name in ("match", "match_value"))
    busy = match_cycles(machine, match, values)
    return None if first is None or each is None or busy is None else first + values * each + busy
