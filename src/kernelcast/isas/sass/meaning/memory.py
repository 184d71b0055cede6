"""Loads and stores of global, shared, local and generic memory."""

from __future__ import annotations

from kernelcast.ir import Address, Guard, Immediate, Operand, Register, Vector
from kernelcast.isas.ptx.mbarriers import bring
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.bits import immediate
from kernelcast.isas.sass.meaning.lift import SassLift, consecutive, ir_register

_SPACES = {
    **dict.fromkeys(("LDG", "STG", "ATOMG", "RED", "REDG"), "global"),
    **dict.fromkeys(("LDS", "STS", "ATOMS"), "shared"),
    **dict.fromkeys(("LDL", "STL"), "local"),
    **dict.fromkeys(("LD", "ST", "ATOM"), ""),
}
"""The state space of every opcode with an address; a generic one has no name."""

_NARROW = {"U8": "u8", "S8": "s8", "U16": "u16", "S16": "s16"}
_WORDS = {"64": 2, "128": 4}
_WORD_BYTES = 4
_REDUCTIONS = frozenset({"ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"})
_WORDS_OF_256, _ALL_OF_256 = 8, 0xFF


def space_prefix(x: SassLift) -> str:
    """The part of a PTX name that says where an opcode accesses: `.global`, or nothing."""
    space = _SPACES[x.native.opcode]
    return f".{space}" if space else ""


def address(x: SassLift, operand: sass.SassOperand) -> Address:
    """The sum of an address operand's registers and its offset, in 64 bits or, where it wraps
    around, in 32.

    A plain register of a 64-bit address is a pair; one marked `.U32` is extended by zeros, and
    `.X4` and the like scale it.
    """
    if not isinstance(operand, sass.AddressOperand) or operand.space:
        raise x.refuse(f"operand {operand}")
    wide = x.has("E") or any("64" in r.decoration.suffixes for r in operand.registers)
    total: Operand | None = None
    for part in operand.registers:
        value = _part(x, part, wide)
        if value is not None:
            kind = "u64" if wide else "u32"
            total = value if total is None else x.let(f"add.{kind}", total, value)
    assert total is None or isinstance(total, Register)
    return Address(total, operand.offset or 0)


def _part(x: SassLift, part: sass.RegisterOperand, wide: bool) -> Register | None:
    suffixes = part.decoration.suffixes
    if part.register.number is None:
        return None
    if wide and "U32" not in suffixes:
        words = consecutive(part.register, 2)
        assert words is not None
        return x.pack(words)
    value = ir_register(part.register)
    if wide:
        value = x.let("cvt.u64.u32", value)
    for suffix in suffixes:
        if suffix in ("X4", "X8", "X16"):
            value = x.let(f"mul.lo.{'u64' if wide else 'u32'}", value, Immediate(int(suffix[1:])))
        elif suffix not in ("U32", "64"):
            raise x.refuse(f"suffix .{suffix}")
    return value


def _load(x: SassLift) -> None:
    """`LDG d, [address]`: 32 bits, `.64` and `.128` into consecutive registers, or a narrow
    integer, extended."""
    if x.has("256"):
        _load_256(x)
        return
    for predicate in x.take_predicates():
        if x.destination(predicate) is not None:
            raise x.refuse("a predicate result")
    target = x.take()
    where = address(x, x.take())
    name = f"ld{space_prefix(x)}"
    load_words(x, name, target, where, x.guard)


def load_words(
    x: SassLift, name: str, target: sass.SassOperand, where: Address, guard: Guard | None
) -> None:
    """Load as much as the modifiers say to a register and those behind it."""
    narrow = [m for m in _NARROW if x.has(m)]
    words = next((n for m, n in _WORDS.items() if x.has(m)), 1)
    registers = x.words(target, words) or tuple(x.temporary("b32") for _ in range(words))
    if narrow:
        x.do(f"{name}.{_NARROW[narrow[0]]}", registers[0], where, guard=guard)
    elif words == 1:
        x.do(f"{name}.b32", registers[0], where, guard=guard)
    else:
        pairs = tuple(x.temporary("b64") for _ in range(words // 2))
        into: Operand = pairs[0] if words == 2 else Vector(pairs)
        x.do(f"{name}{'.v2' if words == 4 else ''}.b64", into, where, guard=guard)
        for at, pair in enumerate(pairs):
            x.do("mov.b64", Vector(registers[2 * at : 2 * at + 2]), pair, guard=guard)


def _load_256(x: SassLift) -> None:
    """`LDG.E.ENL2.256 d, e, [address], mask`: the four low words to e and the registers behind it,
    the high ones to d. Without those that a mask leaves out the others move together."""
    if not x.has("ENL2"):
        raise x.refuse("256 bits")
    high, low, where = x.take(), x.take(), address(x, x.take())
    mask = immediate(x, x.take()) if x.operands else _ALL_OF_256
    x.done()
    words = tuple(x.temporary("b32") for _ in range(_WORDS_OF_256))
    pairs = tuple(x.temporary("b64") for _ in range(_WORDS_OF_256 // 2))
    x.do(f"ld{space_prefix(x)}.v4.b64", Vector(pairs), where, guard=x.guard)
    for at, pair in enumerate(pairs):
        x.do("mov.b64", Vector(words[2 * at : 2 * at + 2]), pair)
    for target, places in ((low, range(4)), (high, range(4, 8))):
        kept = [words[n] for n in places if mask >> n & 1]
        for register, word in zip(x.words(target, len(kept)) or (), kept, strict=False):
            x.do("mov.b32", register, word, guard=x.guard)


def _store_256(x: SassLift) -> None:
    """`STG.E.ENL2.256 [address], a, b`: the four registers from a on, then those from b on."""
    if not x.has("ENL2"):
        raise x.refuse("256 bits")
    where = address(x, x.take())
    pairs: list[Register | Immediate] = []
    for source in (x.take(), x.take()):
        words = x.words(source, 4)
        pairs += [Immediate(0)] * 2 if words is None else [x.pack(words[:2]), x.pack(words[2:])]
    x.done()
    x.do(f"st{space_prefix(x)}.v4.b64", where, Vector(tuple(pairs)), guard=x.guard)


def _store(x: SassLift) -> None:
    """`STG [address], a`: the counterpart of a load."""
    if x.has("256"):
        _store_256(x)
        return
    where = address(x, x.take())
    source = x.take()
    name = f"st{space_prefix(x)}"
    store_words(x, name, where, source, x.guard)


def store_words(
    x: SassLift, name: str, where: Address, source: sass.SassOperand, guard: Guard | None
) -> None:
    """Store as much as the modifiers say of a register and those behind it."""
    narrow = [m for m in _NARROW if x.has(m)]
    words = next((n for m, n in _WORDS.items() if x.has(m)), 1)
    if narrow:
        x.do(f"{name}.{_NARROW[narrow[0]]}", where, x.b32(source), guard=guard)
        return
    if words == 1:
        x.do(f"{name}.b32", where, x.b32(source), guard=guard)
        return
    registers = x.words(source, words)
    pairs: tuple[Register | Immediate, ...] = (Immediate(0),) * (words // 2)
    if registers is not None:
        pairs = tuple(x.pack(registers[at : at + 2]) for at in range(0, words, 2))
    value: Operand = pairs[0] if words == 2 else Vector(pairs)
    x.do(f"{name}{'.v2' if words == 4 else ''}.b64", where, value, guard=guard)


def _store_and_arrive(x: SassLift) -> None:
    """`STAS [Rn.64], a`: a store to the place in shared memory that Rn names, and its bytes come to
    the barrier that the register behind names."""
    place, barrier = _place_and_barrier(x)
    source = x.take()
    words = next((n for m, n in _WORDS.items() if x.has(m)), 1)
    store_words(x, "st.shared", place, source, x.guard)
    bring(x, barrier, Immediate(_WORD_BYTES * words), x.guard)


def _reduce_and_arrive(x: SassLift) -> None:
    """`REDAS.op [Rn.64], a`: the same with an atomic operation."""
    place, barrier = _place_and_barrier(x)
    (operation,) = (m.lower() for m in x.native.modifiers if m in _REDUCTIONS)
    is_wide = x.has("64", "U64")
    sign = "s32" if x.has("S32") else "u32"
    kind = "u64" if is_wide else "b32" if operation in ("and", "or", "xor") else sign
    value = x.u64(x.take()) if is_wide else x.b32(x.take())
    x.do(f"red.shared.{operation}.{kind}", place, value, guard=x.guard)
    bring(x, barrier, Immediate(8 if is_wide else _WORD_BYTES), x.guard)


def _place_and_barrier(x: SassLift) -> tuple[Address, Address]:
    operand = x.take()
    if not isinstance(operand, sass.AddressOperand) or len(operand.registers) != 1:
        raise x.refuse(f"operand {operand}")
    words = consecutive(operand.registers[0].register, 2)
    if words is None or operand.offset:
        raise x.refuse(f"operand {operand}")
    return Address(words[0]), Address(words[1])


def _query_space(x: SassLift) -> None:
    """`QSPC.G P, d, [address]`: whether a generic address lies in global (G), shared (S) or local
    (L) memory; D is the shared memory of other blocks of the cluster."""
    spaces = {"G": "global", "S": "shared", "L": "local", "D": "other"}
    (space,) = (name for m, name in spaces.items() if x.has(m))
    (verdict,) = x.take_predicates()
    if x.destination(x.take()) is not None:
        raise x.refuse("a result in a register")
    if space == "other" and x.code.cluster_blocks == 1:
        x.write(verdict, Immediate(0))
        return
    where = address(x, x.take())
    if space == "other":
        is_own = x.let("not.pred", lies_in(x, where, "shared"))
        x.write(verdict, x.let("and.pred", lies_in(x, where, "shared::cluster"), is_own))
        return
    x.write(verdict, lies_in(x, where, space))


def lies_in(x: SassLift, where: Address, space: str) -> Operand:
    """Whether a generic address lies in a space."""
    place: Operand = where.base if isinstance(where.base, Register) else Immediate(0)
    if where.offset:
        place = x.let("add.u64", place, Immediate(where.offset))
    return x.let(f"isspacep.{space}", place)


MEANINGS = {
    "QSPC": _query_space,
    "STAS": _store_and_arrive,
    "REDAS": _reduce_and_arrive,
    **dict.fromkeys(("LDG", "LDS", "LDL", "LD"), _load),
    **dict.fromkeys(("STG", "STS", "STL", "ST"), _store),
}
