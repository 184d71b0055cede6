"""Minimum and maximum."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Immediate, Operand
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import SassLift
from kernelcast.isas.sass.meaning.packed import by_pairs_of_bytes

_TYPES = {
    **{m: m.lower() for m in ("S32", "U32", "S16x2", "U16x2", "U8x4")},
    **{m: m.lower() for m in ("S64", "U64")},
}


def _extreme(x: SassLift) -> None:
    """`VIMNMX d, P, Q, a, b, R`: the minimum of a and b where R holds, else their maximum.

    `.RELU` is not below 0. P and Q, which may not be printed, tell for the low and the high half
    whether it is a.
    """
    type = _type(x)
    target, results = x.take(), x.take_predicates()
    a, b = _take_sources(x, type, 2)
    chosen_by = x.predicate(x.take())
    x.done()
    tests = _tests(x, type, results, chosen_by, a, b)
    value = _chosen(x, type, chosen_by, a, b)
    x.write(target, _not_negative(x, type, value))
    for result, test in tests:
        x.write(result, test)


def _extreme64(x: SassLift) -> None:
    """`IMNMX.S64 PT, PT, d, a, b, P, !PT`: of pairs, where the predicates stand first."""
    type = _type(x)
    if not type.endswith("64"):
        _extreme(x)
        return
    for result in x.take_predicates():
        if x.destination(result) is not None:
            raise x.refuse("a predicate result")
    target = x.take()
    a, b = x.u64(x.take()), x.u64(x.take())
    chosen_by, last = x.predicate(x.take()), x.predicate(x.take())
    x.done()
    if last != Immediate(0):
        raise x.refuse("a second predicate")
    x.write64(target, _chosen(x, type, chosen_by, a, b))


def _extreme3(x: SassLift) -> None:
    """`VIMNMX3 d, a, b, c, P`: of three."""
    type = _type(x)
    target = x.take()
    a, b, c = _take_sources(x, type, 3)
    chosen_by = x.predicate(x.take())
    x.done()
    value = _chosen(x, type, chosen_by, _chosen(x, type, chosen_by, a, b), c)
    x.write(target, _not_negative(x, type, value))


def _sum_extreme(x: SassLift) -> None:
    """`VIADDMNMX d, a, b, c, P`: of a + b, which wraps, and c."""
    type = _type(x)
    target = x.take()
    a, b, c = _take_sources(x, type, 3)
    chosen_by = x.predicate(x.take())
    x.done()
    total = x.let("add.u16x2" if type.endswith("16x2") else "add.u32", a, b)
    value = _chosen(x, type, chosen_by, total, c)
    x.write(target, _not_negative(x, type, value))


def _type(x: SassLift) -> str:
    """The type that the modifiers name: s32 where they name none."""
    x.only("RELU", *_TYPES)
    found = [_TYPES[m] for m in x.native.modifiers if m in _TYPES]
    if len(found) > 1 or (x.has("RELU") and found and found[0][0] != "s"):
        raise x.refuse(x.native.name)
    return found[0] if found else "s32"


def _take_sources(x: SassLift, type: str, count: int) -> Sequence[Operand]:
    """The values that are compared; packed ones have no sign as a whole."""
    read = x.u32 if type.endswith("32") else x.b32
    return [read(x.take()) for _ in range(count)]


def _chosen(x: SassLift, type: str, least: Operand, a: Operand, b: Operand) -> Operand:
    """The minimum where a predicate holds, else the maximum."""
    if isinstance(least, Immediate):
        return _one(x, "min" if least.value else "max", type, a, b)
    low, high = _one(x, "min", type, a, b), _one(x, "max", type, a, b)
    return x.let(f"selp.b{64 if type.endswith('64') else 32}", low, high, least)


def _one(x: SassLift, name: str, type: str, a: Operand, b: Operand) -> Operand:
    if type == "u8x4":
        return by_pairs_of_bytes(x, a, b, lambda c, d: x.let(f"{name}.u16x2", c, d))
    return x.let(f"{name}.{type}", a, b)


def _not_negative(x: SassLift, type: str, value: Operand) -> Operand:
    return x.let(f"max.{type}", value, Immediate(0)) if x.has("RELU") else value


def _tests(
    x: SassLift,
    type: str,
    results: Sequence[sass.SassOperand],
    least: Operand,
    a: Operand,
    b: Operand,
) -> Sequence[tuple[sass.SassOperand, Operand]]:
    """For every half, low first, whether a is the result: also where both are the same."""
    if all(x.destination(r) is None for r in results):
        return []
    is_known = type.endswith("16x2") and len(results) == 2 and not x.has("RELU")
    if not is_known or not isinstance(least, Immediate):
        raise x.refuse("a predicate result")
    relation = "le" if least.value else "ge"
    tests = []
    for result, half in zip(results, (0, 1), strict=True):
        sides = [
            x.let(f"bfe.{type[0]}32", side, Immediate(16 * half), Immediate(16)) for side in (a, b)
        ]
        tests.append((result, x.let(f"setp.{relation}.s32", *sides)))
    return tests


MEANINGS = {
    **dict.fromkeys(("VIMNMX", "UVIMNMX"), _extreme),
    **dict.fromkeys(("IMNMX", "UIMNMX"), _extreme64),
    **dict.fromkeys(("VIMNMX3", "UVIMNMX3"), _extreme3),
    "VIADDMNMX": _sum_extreme,
}
