"""What each PTX instruction is: its op class, what it writes, its state space and width.

The table is keyed by dotted prefixes of the full name (`bar.red`, `st`); the longest one decides
(PTX ISA 9.0, section 9.7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from kernelcast.ir import OpClass, Space

TYPE_BYTES: Mapping[str, int] = {
    **{f"{kind}{bits}": bits // 8 for kind in "bus" for bits in (8, 16, 32, 64)},
    "b128": 16,
    "u16x2": 4,
    "s16x2": 4,
    "f16": 2,
    "f16x2": 4,
    "bf16": 2,
    "bf16x2": 4,
    "tf32": 4,
    "f32": 4,
    "f32x2": 8,
    "f64": 8,
    "pred": 1,
}
"""Size of one value of every fundamental type (PTX ISA 9.0, section 5.2)."""


class ControlFlow(Enum):
    """Where control goes after an instruction."""

    NEXT = "next"
    BRANCH = "branch"
    TABLE = "table"
    LEAVE = "leave"  # the thread ends, or the function does
    WAIT = "wait"  # on, but after other threads have arrived
    CALL = "call"


@dataclass(frozen=True, slots=True)
class Form:
    """One instruction name taken apart.

    It has `fewest` to `most` operands; the first `destinations` (0 or 1) are written, and read as
    well where it works `is_in_place`.
    `access_bytes` is what one lane moves, in `elements` values of a vector; 0 for instructions
    without an address.
    """

    opcode: str
    modifiers: tuple[str, ...]
    op_class: OpClass
    fewest: int
    most: int
    destinations: int
    flow: ControlFlow
    space: Space | None
    elements: int
    access_bytes: int
    is_in_place: bool


_BY_TYPE: Mapping[str, OpClass] = {
    **dict.fromkeys(("f16", "f16x2", "bf16", "bf16x2"), OpClass.FP16),
    **dict.fromkeys(("f32", "f32x2"), OpClass.FP32),
    "f64": OpClass.FP64,
}
_ADDITIVE: Mapping[str, OpClass] = {**dict.fromkeys(TYPE_BYTES, OpClass.INT), **_BY_TYPE}
_MULTIPLICATIVE: Mapping[str, OpClass] = {
    **dict.fromkeys(TYPE_BYTES, OpClass.INT_MUL),
    **_BY_TYPE,
}
_SPECIAL: Mapping[str, OpClass] = {
    **dict.fromkeys(TYPE_BYTES, OpClass.INT_MUL),
    **dict.fromkeys(_BY_TYPE, OpClass.SFU),
    "f64": OpClass.FP64,
}

_Classes = OpClass | Mapping[str, OpClass]
"""One class, or one for each type: the first type among the modifiers decides."""


@dataclass(frozen=True, slots=True)
class _OpcodeRule:
    classes: _Classes
    fewest: int
    most: int
    destinations: int
    flow: ControlFlow
    is_in_place: bool = False


def _rules(
    names: str,
    classes: _Classes,
    fewest: int,
    most: int | None = None,
    *,
    destinations: int = 1,
    flow: ControlFlow = ControlFlow.NEXT,
) -> dict[str, _OpcodeRule]:
    """The same rule for several names: `fewest` to `most` operands."""
    rule = _OpcodeRule(classes, fewest, fewest if most is None else most, destinations, flow)
    return dict.fromkeys(names.split(), rule)


def _effects(
    names: str,
    op_class: OpClass,
    fewest: int,
    most: int | None = None,
    flow: ControlFlow = ControlFlow.NEXT,
) -> dict[str, _OpcodeRule]:
    """Rules for instructions that write no operand."""
    return _rules(names, op_class, fewest, most, destinations=0, flow=flow)


_ANY = 99

_TABLE: Mapping[str, _OpcodeRule] = {
    **_rules("neg abs", _ADDITIVE, 2),
    **_rules("add sub addc subc copysign", _ADDITIVE, 3),
    **_rules("mul mul24", _MULTIPLICATIVE, 3),
    **_rules("mad fma madc mad24 sad dp4a dp2a vabsdiff4", _MULTIPLICATIVE, 4),
    **_rules("rcp rsqrt sqrt sin cos lg2 ex2 tanh", _SPECIAL, 2),
    **_rules("div rem", _SPECIAL, 3),
    **_rules("not cnot", OpClass.LOGIC, 2),
    **_rules("and or xor", OpClass.LOGIC, 3),
    **_rules("lop3", OpClass.LOGIC, 5, 6),
    **_rules("shl shr", OpClass.SHIFT, 3),
    **_rules("shf", OpClass.SHIFT, 4),
    **_rules("brev popc clz bfind", OpClass.BIT_COUNT, 2),
    **_rules("bmsk szext", OpClass.BITFIELD, 3),
    **_rules("bfe prmt fns", OpClass.BITFIELD, 4),
    **_rules("bfi", OpClass.BITFIELD, 5),
    **_rules("testp", OpClass.COMPARE, 2),
    **_rules("set setp min max", OpClass.COMPARE, 3, 4),
    **_rules("selp slct", OpClass.COMPARE, 4),
    **_rules("cvt", OpClass.CONVERT, 2, 4),
    **_rules("mov cvta isspacep getctarank", OpClass.MOVE, 2),
    **_rules("mapa", OpClass.MOVE, 3),
    **_rules("ld ldu", OpClass.LOAD, 2, 3),
    **_effects("st", OpClass.STORE, 2, 3),
    **_rules("atom", OpClass.ATOMIC, 3, 5),
    **_effects("red", OpClass.ATOMIC, 2, 3),
    **_rules("shfl", OpClass.SHUFFLE, 4, 5),
    **_rules("activemask", OpClass.VOTE, 1),
    **_rules("vote elect", OpClass.VOTE, 2, 3),
    **_rules("match", OpClass.MATCH, 3),
    **_rules("redux", OpClass.REDUCE, 3),
    **_effects("bar.sync barrier.sync", OpClass.BARRIER, 1, 2, ControlFlow.WAIT),
    **_effects("bar.cta.sync barrier.cta.sync", OpClass.BARRIER, 1, 2, ControlFlow.WAIT),
    **_rules("bar.red barrier.red", OpClass.BARRIER, 3, 4, flow=ControlFlow.WAIT),
    **_rules("bar.cta.red barrier.cta.red", OpClass.BARRIER, 3, 4, flow=ControlFlow.WAIT),
    **_effects("bar.arrive barrier.arrive", OpClass.BARRIER, 2),
    **_effects("bar.cta.arrive barrier.cta.arrive", OpClass.BARRIER, 2),
    **_effects("barrier.cluster.arrive", OpClass.OTHER, 0),
    **_effects("barrier.cluster.wait", OpClass.BARRIER, 0, flow=ControlFlow.WAIT),
    # No instruction of PTX but a step of other ISAs: other warps run before this one goes on.
    **_effects("pause", OpClass.BARRIER, 0, flow=ControlFlow.WAIT),
    # It synchronises the lanes of one warp, which no other warp can notice.
    **_effects("bar.warp.sync", OpClass.OTHER, 1),
    **_effects("membar", OpClass.FENCE, 0),
    **_effects("fence", OpClass.FENCE, 0, 2),
    **_effects("bra", OpClass.BRANCH, 1, flow=ControlFlow.BRANCH),
    **_effects("brx.idx", OpClass.BRANCH, 2, _ANY, ControlFlow.TABLE),
    **_effects("ret exit trap", OpClass.BRANCH, 0, flow=ControlFlow.LEAVE),
    **_effects("call", OpClass.BRANCH, 1, _ANY, ControlFlow.CALL),
    **_rules("mma wmma movmatrix tcgen05.ld", OpClass.TENSOR, 2, _ANY),
    **_effects("wmma.store tcgen05", OpClass.TENSOR, 0, _ANY),
    # What keeps products of warp groups in order.
    **_effects("wgmma", OpClass.OTHER, 0, 1),
    "wgmma.mma_async": _OpcodeRule(OpClass.TENSOR, 4, _ANY, 1, ControlFlow.NEXT, is_in_place=True),
    **_rules("ldmatrix", OpClass.LOAD, 2),
    **_effects("stmatrix", OpClass.STORE, 2),
    **_effects("cp st.async st.bulk red.async tensormap", OpClass.ASYNC_COPY, 0, _ANY),
    **_effects(
        "mbarrier.init mbarrier.inval mbarrier.expect_tx mbarrier.complete_tx",
        OpClass.ASYNC_COPY,
        1,
        2,
    ),
    **_rules("mbarrier.arrive mbarrier.arrive_drop", OpClass.ASYNC_COPY, 2, 3),
    **_rules("mbarrier.pending_count", OpClass.ASYNC_COPY, 2),
    **_rules(
        "mbarrier.try_wait mbarrier.test_wait", OpClass.ASYNC_COPY, 3, 4, flow=ControlFlow.WAIT
    ),
    # No instructions of PTX but steps of bulk copies; the first operand stands for the data.
    **_rules("bulk.read", OpClass.LOAD, 4, _ANY),
    **_effects("bulk.write", OpClass.STORE, 4, _ANY),
    # No instruction of PTX but a step of calls: what the system does, with words of 64 bits.
    **_rules("system", OpClass.OTHER, 2, 5),
    **_rules("tex tld4 txq suq suld", OpClass.OTHER, 2, 6),
    **_effects("sust sured", OpClass.OTHER, 2, 3),
    **_rules("createpolicy", OpClass.OTHER, 2, 5),
    **_effects("griddepcontrol brkpt", OpClass.OTHER, 0),
    **_effects("prefetch prefetchu pmevent setmaxnreg", OpClass.OTHER, 1, 2),
    **_effects("nanosleep", OpClass.OTHER, 1, flow=ControlFlow.WAIT),
    **_effects("applypriority discard", OpClass.OTHER, 2),
}

_SPACES: Mapping[str, Space] = {space.value: space for space in Space}


@lru_cache(maxsize=4096)
def form(name: str) -> Form | None:
    """Take an instruction's full name apart; None where the table does not know it."""
    opcode, *modifiers = name.split(".")
    rule = next(
        (
            _TABLE[prefix]
            for length in (3, 2, 1, 0)
            if (prefix := ".".join((opcode, *modifiers[:length]))) in _TABLE
        ),
        None,
    )
    if rule is None:
        return None
    # The first type decides on the class, for those that differ by type.
    type_ = next((m for m in modifiers if m in TYPE_BYTES), "")
    op_class = rule.classes if isinstance(rule.classes, OpClass) else rule.classes.get(type_)
    if op_class is None:
        return None
    space, elements, access_bytes = None, 1, 0
    # The last modifier is the type that memory holds.
    if op_class.is_memory:
        space = _space(modifiers)
        elements = _elements(modifiers)
        access_bytes = elements * TYPE_BYTES.get(modifiers[-1] if modifiers else "", 0)
        if access_bytes == 0:
            return None
    elif rule.is_in_place:
        space = Space.SHARED  # where descriptors lead
    return Form(
        opcode=opcode,
        modifiers=tuple(modifiers),
        op_class=op_class,
        fewest=rule.fewest,
        most=rule.most,
        destinations=rule.destinations,
        flow=rule.flow,
        space=space,
        elements=elements,
        access_bytes=access_bytes,
        is_in_place=rule.is_in_place,
    )


def known_form(name: str) -> Form:
    """The form of a name that this package itself wrote."""
    known = form(name)
    assert known is not None, name
    return known


def _space(modifiers: list[str]) -> Space:
    """The state space named (`shared::cta` is `shared`), else generic."""
    for modifier in modifiers:
        space = _SPACES.get(modifier.partition("::")[0])
        if space is not None:
            return space
    return Space.GENERIC


def _elements(modifiers: list[str]) -> int:
    """Values of a vector, or matrices."""
    return next((int(m[1:]) for m in modifiers if m in ("v2", "v4", "v8", "x2", "x4")), 1)
