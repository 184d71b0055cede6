"""Moves: between registers, from constant banks, and from special registers."""

from __future__ import annotations

from kernelcast.ir import Immediate, Operand, Register, SpecialRegister, Vector
from kernelcast.isas.masks import ALL_LANES
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import SassLift

_WORDS_OF_128 = 4
_AXES = {"X": "x", "Y": "y", "Z": "z"}
_SPECIAL = {
    **{f"SR_TID.{a}": f"tid.{b}" for a, b in _AXES.items()},
    **{f"SR_CTAID.{a}": f"ctaid.{b}" for a, b in _AXES.items()},
    "SR_LANEID": "laneid",
    "SR_EQMASK": "lanemask_eq",
    "SR_LTMASK": "lanemask_lt",
    "SR_LEMASK": "lanemask_le",
    "SR_GTMASK": "lanemask_gt",
    "SR_GEMASK": "lanemask_ge",
    "SR_CLOCKLO": "clock",
    "SR_CLOCKHI": "clock_hi",
    "SR_GLOBALTIMERLO": "globaltimer_lo",
    "SR_GLOBALTIMERHI": "globaltimer_hi",
    "SR_VIRTUALSMID": "smid",
}
"""Special registers that PTX has as well."""

_WIDE = {"SR_CLOCKLO": "clock64", "SR_GLOBALTIMERLO": "globaltimer"}
"""Those that a move of 64 bits reads together with their high word."""

_ZERO = frozenset({"SRZ", "SR_CgaSize", "SR_LMEMHIOFF"})
"""The words about clusters stand where `SR_CgaSize` is 0 (`launch_state.py`). The last one is the
lowest offset that the stack may reach, which code for debuggers compares it with."""

_RANK = frozenset({"SR_CgaCtaId", "SR_CTAID_IN_CGA"})

_RETURN_ADDRESS = {f"Rpc.{part}": Register(f"RPC.{part}", "b32") for part in ("LO", "HI")}

_SHARED_WINDOW = ("SR_SWINLO", "SR_SWINHI")


def _move(x: SassLift) -> None:
    """`MOV d, a`: a copy; `.64` of a pair."""
    target = x.take()
    if x.has("64"):
        x.write64(target, x.u64(x.take()))
    else:
        x.write(target, x.b32(x.take()))


def special(x: SassLift) -> None:
    """`S2R d, SR`: a special register."""
    x.write(x.take(), _special(x, x.take()))


def _wide_special(x: SassLift) -> None:
    """`CS2R d, SR`: 64 bits of a special register; `.32` the low word."""
    target, source = x.take(), x.take()
    if x.has("32"):
        x.write(target, _special(x, source))
        return
    name = _name(x, source)
    if name in _WIDE:
        value: Operand = x.let("mov.b64", SpecialRegister(_WIDE[name]))
    elif name in _ZERO:
        value = Immediate(0)
    else:
        raise x.refuse(f"special register {name}")
    x.write64(target, value)


def _return_address(x: SassLift) -> None:
    """`RPCMOV.32 Rpc.LO, a` and back: a word beside the registers, where code keeps what it needs
    again."""
    x.only("32")
    target, source = x.take(), x.take()
    x.done()
    match target, source:
        case sass.NameOperand(name), _ if name in _RETURN_ADDRESS:
            x.do("mov.b32", _RETURN_ADDRESS[name], x.b32(source), guard=x.guard)
        case _, sass.NameOperand(name) if name in _RETURN_ADDRESS:
            x.write(target, _RETURN_ADDRESS[name])
        case _:
            raise x.refuse(f"operand {source}")


def _load_constant(x: SassLift) -> None:
    """`LDC d, c[bank][address]`, and the same into uniform registers."""
    target, source = x.take(), x.take()
    if not isinstance(source, sass.ConstantOperand):
        raise x.refuse(f"operand {source}")
    if x.has("64"):
        x.write64(target, x.constant(source, "b64"))
        return
    narrow = [m for m in ("U8", "S8", "U16", "S16") if x.has(m)]
    if narrow:
        x.write(
            target, x.let(f"cvt.u32.{narrow[0].lower()}", x.constant(source, narrow[0].lower()))
        )
    elif x.has("128"):
        words = tuple(x.temporary("b32") for _ in range(_WORDS_OF_128))
        x.load_constant(source, "v4.b32", Vector(words))
        for register, word in zip(x.words(target, _WORDS_OF_128) or (), words, strict=False):
            x.do("mov.b32", register, word, guard=x.guard)
    else:
        x.write(target, x.constant(source, "b32"))


def _to_uniform(x: SassLift) -> None:
    """`R2UR P, ur, r`: a value that is the same in all active lanes, so each lane keeps its own.

    Under a guard, or with a P, it is the value of the first lane in which the guard holds, for all
    lanes. P says where r differs from it; with `.OR` it stays true where it was.
    """
    predicates = x.take_predicates()
    target, source = x.take(), x.b32(x.take())
    x.done()
    if x.guard is None and not predicates:
        x.write(target, source)
        return
    holds = x.both(x.guard, Immediate(1)).register
    lanes = x.let("vote.sync.ballot.b32", holds, ALL_LANES)
    below = x.let("sub.u32", x.let("and.b32", lanes, x.let("neg.s32", lanes)), Immediate(1))
    first = x.let("popc.b32", below)
    value = x.let("shfl.sync.idx.b32", source, first, Immediate(31), ALL_LANES)
    for predicate in predicates:
        differs = x.let("setp.ne.u32", source, value)
        if x.has("OR"):
            differs = x.let("or.pred", differs, x.predicate(predicate))
        x.write(predicate, differs)
    register = x.destination(target)
    if register is not None:
        some = x.let("setp.ne.u32", lanes, Immediate(0))
        x.do("selp.b32", register, value, register, some)


def _name(x: SassLift, operand: sass.SassOperand) -> str:
    if not isinstance(operand, sass.NameOperand):
        raise x.refuse(f"operand {operand}")
    return operand.name


def _special(x: SassLift, operand: sass.SassOperand) -> Operand:
    name = _name(x, operand)
    if name in _ZERO:
        return Immediate(0)
    if name in _RANK:
        # Without clusters every block is the first of its own.
        is_alone = x.code.cluster_blocks == 1
        return Immediate(0) if is_alone else SpecialRegister("cluster_ctarank")
    if name in _SHARED_WINDOW:
        # The words of generic addresses of shared memory: of offset 0 of it, made generic.
        window = x.halves(x.let("cvta.shared.u64", Immediate(0), type="b64"))
        return window[_SHARED_WINDOW.index(name)]
    if name not in _SPECIAL:
        raise x.refuse(f"special register {name}")
    return SpecialRegister(_SPECIAL[name])


MEANINGS = {
    **dict.fromkeys(("MOV", "UMOV", "MOV32I"), _move),
    **dict.fromkeys(("S2R", "S2UR"), special),
    "CS2R": _wide_special,
    "RPCMOV": _return_address,
    **dict.fromkeys(("LDC", "ULDC", "LDCU"), _load_constant),
    "R2UR": _to_uniform,
}
