"""Atomic operations on global, shared and generic memory."""

from __future__ import annotations

from kernelcast.ir import Address, Immediate, Operand, Register, Vector
from kernelcast.isas.ptx.tries import TRY_TO_SWAP
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import SassLift
from kernelcast.isas.sass.meaning.memory import address, lies_in, space_prefix

_OPERATIONS = {
    **{m: m.lower() for m in ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH")},
    "CAS": "cas",
    "CAST": TRY_TO_SWAP,
}
_TYPES = {
    "F32": "f32",
    "F64": "f64",
    "F16x2": "noftz.f16x2",
    "BF16x2": "noftz.bf16x2",
    "BF16_V2": "noftz.bf16x2",
    "S32": "s32",
    "S64": "s64",
    "U64": "u64",
    "64": "u64",
}
_BITWISE = frozenset({"and", "or", "xor", "exch", "cas", TRY_TO_SWAP})
_WITHOUT_EFFECT = frozenset(
    {"E", "STRONG", "WEAK", "GPU", "SYS", "CTA", "SM", "FTZ", "RN", "SPIN", "POPC", "U32", "32"}
)
"""Modifiers that change no value where one thread after the other acts on memory."""


def _atomic(x: SassLift) -> None:
    """`ATOMG.op d, [address], a`: the old value to d. CAS takes what to compare and what to write.

    `CAS` of the kind `CAST` gives whether it has written instead of the old value.
    """
    operation, kind = _form(x)
    verdict = x.take() if x.takes_predicate() else None
    target = None
    if x.native.opcode not in ("RED", "REDG") and not _is_address_next(x):
        target = x.take()
    where = address(x, x.take())
    values = [_value(x, kind) for _ in range(2 if operation in ("cas", TRY_TO_SWAP) else 1)]
    name = f"{space_prefix(x)}.{operation}.{kind}"
    if target is None and verdict is None:
        x.do(f"red{name}", where, *values, guard=x.guard)
        return
    old = x.temporary("b64" if kind.endswith("64") else "b32")
    guard, done = x.guard, None
    if verdict is not None and x.destination(verdict) is not None and operation != TRY_TO_SWAP:
        done = _done(x, operation, where)
        guard = x.both(guard, done)
    x.do(f"atom{name}", old, where, *values, guard=guard)
    if operation == TRY_TO_SWAP:
        _deliver_success(x, old, target, verdict)
        return
    registers = x.words(target, 2 if old.type == "b64" else 1) if target is not None else None
    if registers is not None:
        into = Vector(registers) if len(registers) > 1 else registers[0]
        x.do(f"mov.{old.type}", into, old, guard=guard)
    if verdict is not None and done is not None:
        x.write(verdict, done)


def _done(x: SassLift, operation: str, where: Address) -> Operand:
    """Where `ATOM P, d, [address], a` does what it says; elsewhere P is false, and the code behind
    it does that.

    That code has a loop for shared memory, where only exchanges of words are atomic, and takes
    everything else for local memory.
    """
    if x.native.opcode != "ATOM":
        raise x.refuse("a predicate result")
    elsewhere = lies_in(x, where, "local")
    if operation not in ("exch", "cas"):
        elsewhere = x.let("or.pred", elsewhere, lies_in(x, where, "shared"))
    return x.let("not.pred", elsewhere)


def _deliver_success(
    x: SassLift,
    done: Register,
    target: sass.SassOperand | None,
    verdict: sass.SassOperand | None,
) -> None:
    """Write whether a CAST has written: 1 in `done` where it has, else 0."""
    if verdict is not None:
        x.write(verdict, x.let(f"setp.ne.u{done.type[1:]}", done, Immediate(0)))
    if target is None:
        return
    if done.type == "b64":
        x.write64(target, done)
    else:
        x.write(target, done)


def _form(x: SassLift) -> tuple[str, str]:
    """The operation and the type, as PTX names them."""
    found = [name for m, name in _OPERATIONS.items() if x.has(m)]
    operation = found[0] if found else ""
    if x.has("POPC") and x.has("INC"):
        operation = "add"
    known = {*_OPERATIONS, *_TYPES, *_WITHOUT_EFFECT}
    if not operation or not set(x.native.modifiers) <= known:
        raise x.refuse()
    kind = next((name for m, name in _TYPES.items() if x.has(m)), "u32")
    if operation in _BITWISE:
        kind = "b64" if kind.endswith("64") else "b32"
    return operation, kind


def _value(x: SassLift, kind: str) -> Operand:
    if x.has("POPC"):
        return Immediate(1)
    return x.u64(x.take()) if kind.endswith("64") else x.b32(x.take())


def _is_address_next(x: SassLift) -> bool:
    return bool(x.operands) and isinstance(x.operands[0], sass.AddressOperand)


MEANINGS = dict.fromkeys(("ATOMG", "ATOMS", "ATOM", "RED", "REDG"), _atomic)
