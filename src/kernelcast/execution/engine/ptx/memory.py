"""`ld`, `st`, `atom` and `red`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kernelcast.execution.engine.context import Slot
from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.memory import Access, access, for_each_lane, load, locate, store
from kernelcast.execution.engine.ptx.floating import from_float, lanes_of, to_float
from kernelcast.execution.engine.ptx.operands import (
    guard_of,
    pack,
    read,
    resize,
    type_of,
    write,
)
from kernelcast.execution.engine.values import PtxType, Value, element_bits, ptx_type, vector
from kernelcast.ir import Address, Instruction, Operand, Space, Symbol, Vector
from kernelcast.isas.ptx import mbarriers
from kernelcast.isas.ptx.tries import BANKS, TRY_TO_SWAP


def address_of(lw: Lowering, operand: Operand) -> Value:
    """The address of a memory operand, as i64."""
    b = lw.b
    if not isinstance(operand, Address):
        raise lw.unsupported(f"address {operand}")
    if operand.base is None:
        return b.constant("i64", operand.offset)
    if isinstance(operand.base, Symbol):
        address = lw.symbol_address(operand.base)
    else:
        address = lw.register(operand.base)
        if operand.offset and address.bits < 64:
            # In the width of the register, where it wraps around.
            address = b.binary("add", address, b.constant(address.type, operand.offset))
            return resize(b, address, "i64")
        address = resize(b, address, "i64")
    if operand.offset:
        address = b.binary("add", address, b.constant("i64", operand.offset))
    return address


def _elements(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, Vector) else (operand,)


def _ld(lw: Lowering, i: Instruction) -> None:
    """Load a scalar or vector; narrow integers are extended by their type."""
    kind = type_of(i)
    targets = _elements(i.operands[0])
    if i.space is Space.PARAM and _load_parameter(lw, i, kind, targets):
        return
    space = _space(lw, i)
    address = address_of(lw, i.operands[1])
    element = f"i{kind.bits * kind.lanes}"
    size = element_bits(element) // 8
    lanes = guard_of(lw, i) or lw.active
    b = lw.b
    slots: list[str] = []

    def body(at: Access) -> None:
        for number in range(len(targets)):
            value = load(lw, at, element, number * size, whole=len(targets) == 1)
            slots.append(value.text)

    if lw.is_address_only and i.is_traced:
        locate(lw, address, space, size * len(targets), writes=False, lanes=lanes)
        return
    whole = size * len(targets)
    reading = partial(
        access, lw, address, space, whole, writes=False, lanes=lanes, logs=i.is_traced
    )
    if i.guard is None:
        reading(body=body)
        values = [Value(text, element) for text in slots]
    else:
        values = _guarded_values(lw, len(targets), size, element, reading)
    for target, value in zip(targets, values, strict=True):
        typed = b.cast("bitcast", value, kind.llvm)
        write(lw, i, target, typed, signed=kind.signed)


def _guarded_values(
    lw: Lowering, count: int, size: int, element: str, reading: Callable[..., None]
) -> list[Value]:
    """Loads that may not happen at all pass their values through stack slots."""
    b = lw.b
    kind = vector(element)
    slots = [b.slot(kind) for _ in range(count)]
    for slot in slots:
        b.line(f"store {kind} zeroinitializer, ptr {slot}")

    def body(at: Access) -> None:
        for number, slot in enumerate(slots):
            value = load(lw, at, element, number * size, whole=len(slots) == 1)
            b.line(f"store {kind} {value.text}, ptr {slot}")

    reading(body=body)
    return [b.value(element, f"load {kind}, ptr {slot}") for slot in slots]


def _load_parameter(
    lw: Lowering, i: Instruction, kind: PtxType, targets: tuple[Operand, ...]
) -> bool:
    """A parameter at a constant offset is one scalar load for the whole warp."""
    operand = i.operands[1]
    start = _parameter_place(lw, operand)
    if start is None or not 0 <= start <= lw.kernel.parameter_bytes - i.access_bytes:
        return False  # its place is checked where it is read
    b = lw.b
    base = lw.slot(Slot.PARAM, "ptr")
    element = f"i{kind.bits * kind.lanes}"
    size = element_bits(element) // 8
    for number, target in enumerate(targets):
        offset = start + number * size
        pointer = b.scalar(f"getelementptr i8, ptr {base}, i64 {offset}")
        scalar = b.scalar(f"load {element}, ptr {pointer}, align 1")
        value = b.cast("bitcast", b.splat(scalar, element), kind.llvm)
        write(lw, i, target, value, signed=kind.signed)
    return True


def _parameter_place(lw: Lowering, operand: Operand) -> int | None:
    """The offset in the parameter block, where it is known while lowering."""
    if not isinstance(operand, Address):
        return None
    if operand.base is None:
        return operand.offset
    if not isinstance(operand.base, Symbol):
        return None
    start = lw.parameter_offset(operand.base.name)
    return None if start is None else start + operand.base.offset + operand.offset


def _space(lw: Lowering, i: Instruction) -> Space:
    if i.space is None:
        raise lw.unsupported("an access without a state space")
    return i.space


def _st(lw: Lowering, i: Instruction) -> None:
    """Store a scalar or vector."""
    kind = type_of(i)
    sources = _elements(i.operands[1])
    element = f"i{kind.bits * kind.lanes}"
    size = element_bits(element) // 8
    address = address_of(lw, i.operands[0])
    lanes = guard_of(lw, i) or lw.active
    if lw.is_address_only:
        locate(lw, address, _space(lw, i), size * len(sources), writes=True, lanes=lanes)
        return
    values = [lw.b.cast("bitcast", read(lw, operand, kind), element) for operand in sources]

    def body(at: Access) -> None:
        for number, value in enumerate(values):
            store(lw, at, value, number * size, whole=len(values) == 1)

    access(
        lw,
        address,
        _space(lw, i),
        size * len(sources),
        writes=True,
        lanes=lanes,
        body=body,
    )


_INTEGER_OPERATIONS = {"add": "add", "and": "and", "or": "or", "xor": "xor"}
_ATOMIC_OPERATIONS = {
    "add",
    "min",
    "max",
    "and",
    "or",
    "xor",
    "exch",
    "cas",
    TRY_TO_SWAP,
    "inc",
    "dec",
    mbarriers.MARK,
}


def _atom(lw: Lowering, i: Instruction) -> None:
    """`atom`: read-modify-write, lane by lane in ascending order; gives the old value."""
    _atomic(lw, i, i.operands[0], i.operands[1], i.operands[2:])


def _red(lw: Lowering, i: Instruction) -> None:
    """`red`: the same without a result."""
    _atomic(lw, i, None, i.operands[0], i.operands[1:])


def _atomic(
    lw: Lowering,
    i: Instruction,
    target: Operand,
    pointer: Operand,
    operands: tuple[Operand, ...],
) -> None:
    b = lw.b
    kind = type_of(i)
    operation = next((m for m in i.modifiers if m in _ATOMIC_OPERATIONS), None)
    if operation is None or any(isinstance(o, Vector) for o in operands):
        raise lw.unsupported("this form of atomic")
    element = f"i{kind.bits * kind.lanes}"
    size = element_bits(element) // 8
    address = address_of(lw, pointer)
    lanes = guard_of(lw, i) or lw.active
    if lw.is_address_only:
        locate(lw, address, _space(lw, i), size, writes=True, lanes=lanes)
        return
    values = [b.cast("bitcast", read(lw, o, kind), element) for o in operands]
    taken = ""
    if operation == TRY_TO_SWAP:
        taken = b.slot("i32")
        b.line(f"store i32 0, ptr {taken}")
    whole = vector(element)
    b.line(f"store {whole} zeroinitializer, ptr %results, align 64")
    for value, slot in zip(values, ("%operands", "%operands2"), strict=False):
        b.line(f"store {whole} {value.text}, ptr {slot}, align 64")

    def body(at: Access) -> None:
        b.line(f"store {vector('i64')} {at.hosts.text}, ptr %hosts, align 64")
        for_each_lane(
            lw,
            at.mask,
            lambda lane: _one_lane(lw, i, operation, kind, element, lane, len(values), taken),
        )

    access(
        lw,
        address,
        _space(lw, i),
        size,
        writes=True,
        lanes=lanes,
        body=body,
    )
    if target is not None:
        old = b.value(element, f"load {whole}, ptr %results, align 64")
        write(lw, i, target, b.cast("bitcast", old, kind.llvm))


def _one_lane(
    lw: Lowering,
    i: Instruction,
    operation: str,
    kind: PtxType,
    element: str,
    lane: str,
    operands: int,
    taken: str,
) -> None:
    b = lw.b

    def item(array: str, type_: str) -> str:
        return b.scalar(f"getelementptr {type_}, ptr {array}, i32 {lane}")

    host = b.scalar(f"load i64, ptr {item('%hosts', 'i64')}")
    where = b.scalar(f"inttoptr i64 {host} to ptr")
    first = b.scalar(f"load {element}, ptr {item('%operands', element)}")
    second = ""
    if operands > 1:
        second = b.scalar(f"load {element}, ptr {item('%operands2', element)}")
    old = b.scalar(f"load {element}, ptr {where}")
    if taken:
        old = _tried(lw, where, element, old, first, second, _turn(lw, host, element, taken))
    elif lw.is_shared and i.space is not Space.SHARED:
        old = _replace(
            lw,
            where,
            element,
            old,
            lambda old: _combined(lw, i, operation, kind, element, old, first, second),
        )
    else:
        new = _combined(lw, i, operation, kind, element, old, first, second)
        b.line(f"store {element} {new}, ptr {where}")
    b.line(f"store {element} {old}, ptr {item('%results', element)}")


def _turn(lw: Lowering, host: str, element: str, taken: str) -> str:
    """Whether a lane is the first on its bank, as `bank_of_try` says; takes the bank."""
    b = lw.b
    place = b.scalar(f"trunc i64 {host} to i32")
    word = b.scalar(f"lshr i32 {place}, {3 if element == 'i64' else 2}")
    bank = b.scalar(f"and i32 {word}, {BANKS - 1}")
    bit = b.scalar(f"shl i32 1, {bank}")
    before = b.scalar(f"load i32, ptr {taken}")
    meets = b.scalar(f"and i32 {before}, {bit}")
    after = b.scalar(f"or i32 {before}, {bit}")
    b.line(f"store i32 {after}, ptr {taken}")
    return b.scalar(f"icmp eq i32 {meets}, 0")


def _tried(
    lw: Lowering, where: str, element: str, old: str, compared: str, swap: str, turn: str
) -> str:
    """Replace the word if it is as expected and the lane's turn; returns whether."""
    b = lw.b
    same = b.scalar(f"icmp eq {element} {old}, {compared}")
    done = b.scalar(f"and i1 {same}, {turn}")
    new = b.scalar(f"select i1 {done}, {element} {swap}, {element} {old}")
    b.line(f"store {element} {new}, ptr {where}")
    return b.scalar(f"zext i1 {done} to {element}")


def _replace(
    lw: Lowering, where: str, element: str, old: str, combine: Callable[[str], str]
) -> str:
    """Replace a word that other threads may change too; returns what it was, likely `old`."""
    b = lw.b
    seen = b.slot(element)
    b.line(f"store {element} {old}, ptr {seen}")
    again, done = b.fresh("again"), b.fresh("replaced")
    b.line(f"br label %{again}")
    b.label(again)
    expected = b.scalar(f"load {element}, ptr {seen}")
    new = combine(expected)
    pair = b.scalar(f"cmpxchg ptr {where}, {element} {expected}, {element} {new} seq_cst seq_cst")
    found = b.scalar(f"extractvalue {{ {element}, i1 }} {pair}, 0")
    is_done = b.scalar(f"extractvalue {{ {element}, i1 }} {pair}, 1")
    b.line(f"store {element} {found}, ptr {seen}")
    b.line(f"br i1 {is_done}, label %{done}, label %{again}")
    b.label(done)
    return found


def _combined(
    lw: Lowering,
    i: Instruction,
    operation: str,
    kind: PtxType,
    element: str,
    old: str,
    operand: str,
    swap: str,
) -> str:
    """The new value of one word."""
    b = lw.b
    if kind.is_float and operation == "add":
        return _float_add(lw, i, kind, element, old, operand)
    if operation == "exch":
        return operand
    if operation == "cas":
        same = b.scalar(f"icmp eq {element} {old}, {operand}")
        return b.scalar(f"select i1 {same}, {element} {swap}, {element} {old}")
    if operation == "inc":
        reached = b.scalar(f"icmp uge {element} {old}, {operand}")
        more = b.scalar(f"add {element} {old}, 1")
        return b.scalar(f"select i1 {reached}, {element} 0, {element} {more}")
    if operation == "dec":
        zero = b.scalar(f"icmp eq {element} {old}, 0")
        above = b.scalar(f"icmp ugt {element} {old}, {operand}")
        wraps = b.scalar(f"or i1 {zero}, {above}")
        less = b.scalar(f"sub {element} {old}, 1")
        return b.scalar(f"select i1 {wraps}, {element} {operand}, {element} {less}")
    if operation == mbarriers.MARK:
        return _counted(lw, old, operand)
    if kind.is_float:
        raise lw.unsupported(f"atomic {operation} of {kind.name}")
    if operation in ("min", "max"):
        sign = "s" if kind.signed else "u"
        relation = sign + ("lt" if operation == "min" else "gt")
        first = b.scalar(f"icmp {relation} {element} {old}, {operand}")
        return b.scalar(f"select i1 {first}, {element} {old}, {element} {operand}")
    return b.scalar(f"{_INTEGER_OPERATIONS[operation]} {element} {old}, {operand}")


def _counted(lw: Lowering, old: str, operand: str) -> str:
    """The word of a barrier; where a phase is over, with the arrivals of the next."""
    b = lw.b
    new = b.scalar(f"add i64 {old}, {operand}")
    phase = b.scalar(f"and i64 {new}, {mbarriers.ARRIVALS_OF_PHASE}")
    again = b.scalar(f"shl i64 {phase}, {mbarriers.ARRIVAL_BIT - 1}")
    missing = b.scalar(f"and i64 {new}, {mbarriers.MISSING}")
    is_over = b.scalar(f"icmp eq i64 {missing}, 0")
    begun = b.scalar(f"add i64 {new}, {again}")
    return b.scalar(f"select i1 {is_over}, i64 {begun}, i64 {new}")


def _float_add(
    lw: Lowering, i: Instruction, kind: PtxType, element: str, old: str, operand: str
) -> str:
    b = lw.b
    if kind.name not in ("f32", "f64"):
        return _small_float_add(lw, kind, element, old, operand)
    a = b.scalar(f"bitcast {element} {old} to {kind.llvm}")
    c = b.scalar(f"bitcast {element} {operand} to {kind.llvm}")
    total = b.scalar(f"fadd {kind.llvm} {a}, {c}")
    return b.scalar(f"bitcast {kind.llvm} {total} to {element}")


def _small_float_add(lw: Lowering, kind: PtxType, element: str, old: str, operand: str) -> str:
    """f16, bf16 and their pairs, by the vector code in lane 0."""
    b = lw.b
    scalar = ptx_type(f"{kind.kind}{kind.bits}")
    pairs = zip(
        lanes_of(lw, b.splat(old, element), kind),
        lanes_of(lw, b.splat(operand, element), kind),
        strict=True,
    )
    sums = [
        from_float(lw, b.binary("fadd", to_float(lw, x, scalar), to_float(lw, y, scalar)), scalar)
        for x, y in pairs
    ]
    total = sums[0] if kind.lanes == 1 else pack(lw, sums, kind)
    return b.scalar(f"extractelement {vector(element)} {total.text}, i32 0")


OPCODES = {"ld": _ld, "ldu": _ld, "st": _st, "atom": _atom, "red": _red}
