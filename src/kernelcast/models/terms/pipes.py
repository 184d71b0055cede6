"""For how long a mean warp keeps each pipe of an SM busy (`machines.pipes`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kernelcast.ir import Instruction, OpClass
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.isas.assembly import assembled_class
from kernelcast.machines.classes import (
    class_number,
    match_cycles,
    multiplies_in_half,
    product_cycles,
    shares_fp64,
    wide_product_rate,
)
from kernelcast.machines.machine import Machine
from kernelcast.machines.pipes import RATE_OF, Pipe, pipe_of
from kernelcast.models.terms.base import Bottleneck, Case, kept_of_warps
from kernelcast.models.terms.tensor_work import half_multiply_adds
from kernelcast.profiling.profile import compared_values

_BOTTLENECKS: Mapping[Pipe, Bottleneck] = {
    Pipe.FP32: Bottleneck.FP32,
    Pipe.INT: Bottleneck.INT,
    Pipe.FP64: Bottleneck.FP64,
    Pipe.SFU: Bottleneck.SFU,
    Pipe.ADU: Bottleneck.ADU,
    Pipe.LSU: Bottleneck.LSU,
}
"""Pipes that take a class's rate; what has none of its own is left out."""
_BY_WORK = (*RATE_OF, OpClass.MATCH)
"""Classes whose instructions are not counted by their lanes."""
_VALUES_GUESSED = (
    "nobody recorded how many different values lanes hold that a match finds: all are taken to "
    "differ"
)
_ADDRESS_RATE = {OpClass.ATOMIC: OpClass.STORE}
"""Atomics hand their addresses over like stores."""


def pipe_cycles(
    case: Case, counts: Mapping[OpClass, float]
) -> tuple[dict[Bottleneck, float], list[str]]:
    """Cycles of one SM's pipes, and what was left out for want of a rate.

    `counts` are the instructions of a mean warp by class.
    """
    machine = case.machine
    cycles: dict[Bottleneck, float] = {}
    left_out = []
    for pipe, classes in _classes_of_pipes(machine).items():
        spent = 0.0
        for op_class in classes:
            count = counts.get(op_class, 0.0)
            rate = class_number(machine, "throughput", _ADDRESS_RATE.get(op_class, op_class))
            if count and rate is None:
                left_out.append(f"{op_class} instructions on the {pipe}: no throughput")
            elif count and rate is not None:
                spent += count * WARP_LANES / rate
        if spent:
            cycles[pipe] = spent
    _add_wide_products(case, cycles)
    _share_halves(case, counts, cycles)
    _add_wide_conversions(case, cycles)
    if counts.get(OpClass.MATCH):
        left_out += _add_matches(case, cycles)
    if counts.get(OpClass.TENSOR):
        left_out += _add_products(case, cycles)
    return {pipe: spent for pipe, spent in cycles.items() if spent > 0}, left_out


def _classes_of_pipes(machine: Machine) -> Mapping[Bottleneck, Sequence[OpClass]]:
    found: dict[Bottleneck, list[OpClass]] = {name: [] for name in _BOTTLENECKS.values()}
    for op_class in OpClass:
        pipe = pipe_of(op_class, machine)
        if pipe is not None and pipe in _BOTTLENECKS and op_class not in _BY_WORK:
            found[_BOTTLENECKS[pipe]].append(op_class)
    return found


def _add_wide_products(case: Case, cycles: dict[Bottleneck, float]) -> None:
    """Integer products with their upper half, at their own rate."""
    plain = class_number(case.machine, "throughput", OpClass.INT_MUL)
    wide = wide_product_rate(case.machine)
    if plain and wide and (count := _wide_products_per_warp(case)):
        cycles[Bottleneck.FP32] += count * WARP_LANES * (1 / wide - 1 / plain)


def _share_halves(
    case: Case, counts: Mapping[OpClass, float], cycles: dict[Bottleneck, float]
) -> None:
    """The cycles of an FP32 pipe one half of which multiplies integers.

    That half is busy for M cycles with such products; F cycles of both take what either can do,
    which fills up what M leaves of the other. Products with their upper half take both, W cycles:

        T = W + max(M, F + M/2)
    """
    rate = class_number(case.machine, "throughput", OpClass.INT_MUL)
    count = counts.get(OpClass.INT_MUL, 0.0)
    if not count or not rate or not multiplies_in_half(case.machine):
        return
    is_known = case.machine.get("throughput.int_mul_wide") is not None
    widened = _wide_products_per_warp(case) if is_known else 0.0
    wide = WARP_LANES * widened / (wide_product_rate(case.machine) or rate)
    products = WARP_LANES * (count - widened) / rate
    either = cycles[Bottleneck.FP32] - products - wide
    cycles[Bottleneck.FP32] = wide + max(products, either + products / 2)


@kept_of_warps
def _wide_products_per_warp(case: Case) -> float:
    products = _executed(case, OpClass.INT_MUL)
    return sum(times for instruction, times in products if instruction.traits.widens)


def _add_wide_conversions(case: Case, cycles: dict[Bottleneck, float]) -> None:
    """Conversions from and to 64-bit types at their own rate.

    Where an SM has few units of double precision, they do both.
    """
    own, other = (case.machine.get(f"throughput.{name}") for name in ("convert64", "convert"))
    wide = _wide_conversions_per_warp(case)
    if not wide or own is None or other is None:
        return
    cycles[Bottleneck.SFU] -= wide * WARP_LANES / other
    pipe = Bottleneck.FP64 if shares_fp64(case.machine) else Bottleneck.SFU
    cycles[pipe] = cycles.get(pipe, 0.0) + wide * WARP_LANES / own


@kept_of_warps
def _wide_conversions_per_warp(case: Case) -> float:
    wide = ((i, times) for i, times in _executed(case, OpClass.CONVERT) if i.traits.converts_wide)
    return sum(times for _, times in wide)


def _executed(case: Case, op_class: OpClass) -> Iterator[tuple[Instruction, float]]:
    """Instructions of a class, and how often a mean warp executes each."""
    kernel, profile = case.kernel, case.profile
    for instruction, times in zip(kernel.instructions, profile.instruction_warps, strict=True):
        if times and assembled_class(instruction, kernel) is op_class:
            yield instruction, float(times) / profile.warps


def _add_matches(case: Case, cycles: dict[Bottleneck, float]) -> list[str]:
    """Comparisons of lanes, with every different value that they hold."""
    if case.machine.get("throughput.match") is None:
        return [f"match instructions on the {Bottleneck.ADU}: no throughput"]
    spent = _match_cycles_per_warp(case)
    cycles[Bottleneck.ADU] = cycles.get(Bottleneck.ADU, 0.0) + spent
    return []


@kept_of_warps
def _match_cycles_per_warp(case: Case) -> float:
    spent = 0.0
    for instruction, times in _executed(case, OpClass.MATCH):
        values = compared_values(instruction, case.profile.different_values)
        if (match := instruction.traits.match) is not None:
            spent += times * (match_cycles(case.machine, match, values) or 0.0)
    return spent


def match_notes(case: Case) -> tuple[str, ...]:
    """What is assumed of comparisons of lanes."""
    return (_VALUES_GUESSED,) if case.profile.guesses_values else ()


def _add_products(case: Case, cycles: dict[Bottleneck, float]) -> list[str]:
    """Matrix products; a fragment's moves through registers ask nothing of the tensor cores."""
    if case.machine.get("throughput.tensor") is None:
        return ["tensor instructions: no throughput.tensor"]
    spent, unknown = _product_cycles_per_warp(case)
    if spent:
        cycles[Bottleneck.TENSOR] = spent
    return [f"{name} instructions: their work is not known" for name in unknown]


@kept_of_warps
def _product_cycles_per_warp(case: Case) -> tuple[float, tuple[str, ...]]:
    """Cycles of a mean warp, and the opcodes of which nobody knows how much they do."""
    spent, unknown = 0.0, set()
    for instruction, times in _executed(case, OpClass.TENSOR):
        product = instruction.traits.product
        if product is None or half_multiply_adds(instruction) is None:
            unknown.add(instruction.opcode)
        else:
            spent += times * (product_cycles(case.machine, product) or 0.0)
    return spent, tuple(sorted(unknown))
