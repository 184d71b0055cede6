"""Instructions that exchange values between the lanes of a warp."""

from __future__ import annotations

from collections.abc import Callable

from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.memory import for_each_lane, log_values, where_some
from kernelcast.execution.engine.ptx.operands import PRED, guard_of, read, type_of, write
from kernelcast.execution.engine.values import FULL_MASK, Value, mangled, ptx_type, vector
from kernelcast.ir import Instruction, Operand, Vector
from kernelcast.ir.sizes import WARP_LANES

_LANES = range(WARP_LANES)


def _mask(lw: Lowering, i: Instruction) -> str:
    """Scalar mask of the lanes that execute the instruction."""
    guard = guard_of(lw, i)
    return lw.mask if guard is None else lw.b.mask_of(guard)


def _pair(operand: Operand) -> tuple[Operand, Operand]:
    """`d|p` as two destinations."""
    if isinstance(operand, Vector):
        first, second = operand.elements
        return first, second
    return operand, None


def _shfl(lw: Lowering, i: Instruction) -> None:
    """`shfl`: a lane reads another lane's value, within the segments that `c` makes.

    A source lane outside the segment, or not executing, gives the lane its own value; the
    predicate tells whether the source lay within the segment.
    """
    mode = next(m for m in i.modifiers if m in ("up", "down", "bfly", "idx"))
    b32 = ptx_type("b32")
    value = read(lw, i.operands[1], b32)
    offset, clamp = (read(lw, o, b32) for o in i.operands[2:4])
    target, predicate = _pair(i.operands[0])
    if offset.constant is not None and clamp.constant is not None:
        sources = [_source(mode, lane, offset.constant, clamp.constant) for lane in _LANES]
        order = [s if ok else lane for lane, (s, ok) in enumerate(sources)]
        inside = _constant_mask(lw, sum(ok << lane for lane, (_, ok) in enumerate(sources)))
        moved = lw.b.shuffle(value, order)
        gives = lw.b.shuffle(lw.b.predicate_of(_mask(lw, i)), order)
    else:
        source, inside = _dynamic_source(lw, mode, offset, clamp)
        moved = _permute(lw, value, source)
        gives = _has_bit(lw, _mask(lw, i), source)
    write(lw, i, target, lw.b.select(gives, moved, value))
    if predicate is not None:
        write(lw, i, predicate, inside)


def _constant_mask(lw: Lowering, mask: int) -> Value:
    return lw.b.predicate_of(str(mask))


def _source(mode: str, lane: int, offset: int, clamp: int) -> tuple[int, bool]:
    """PTX's pseudo-code for the source lane and whether it lies in range."""
    offset, bound, segment = offset & 31, clamp & 31, clamp >> 8 & 31
    first = lane & segment
    last = first | (bound & ~segment & 31)
    if mode == "up":
        source = lane - offset
        inside = source >= last
    elif mode == "down":
        source = lane + offset
        inside = source <= last
    elif mode == "bfly":
        source = lane ^ offset
        inside = source <= last
    else:
        source = first | (offset & ~segment & 31)
        inside = source <= last
    return (source if inside else lane), inside


def _dynamic_source(lw: Lowering, mode: str, offset: Value, clamp: Value) -> tuple[Value, Value]:
    b = lw.b
    low = b.constant("i32", 31)
    lane = b.lane_numbers()
    offset = b.binary("and", offset, low)
    bound = b.binary("and", clamp, low)
    segment = b.binary("and", b.binary("lshr", clamp, b.constant("i32", 8)), low)
    outside = b.invert(segment)
    first = b.binary("and", lane, segment)
    last = b.binary("or", first, b.binary("and", bound, outside))
    if mode == "up":
        source = b.binary("sub", lane, offset)
        inside = b.compare("sge", source, last)
    else:
        if mode == "down":
            source = b.binary("add", lane, offset)
        elif mode == "bfly":
            source = b.binary("xor", lane, offset)
        else:
            source = b.binary("or", first, b.binary("and", offset, outside))
        inside = b.compare("sle", source, last)
    return b.select(inside, source, lane), inside


def _has_bit(lw: Lowering, mask: str, lane: Value) -> Value:
    """Whether the lane of that number is in a scalar mask."""
    bits = lw.b.binary("lshr", lw.b.splat(mask, "i32"), lane)
    return lw.b.cast("trunc", bits, "i1")


def _permute(lw: Lowering, value: Value, source: Value) -> Value:
    """Lane i takes lane `source[i]`, through memory."""
    b = lw.b
    kind = vector(value.type)
    b.line(f"store {kind} {value.text}, ptr %operands, align 64")
    pointers = b.scalar(
        f"getelementptr {value.type}, ptr %operands, {vector(source.type)} {source.text}"
    )
    name = f"llvm.masked.gather.v{WARP_LANES}{value.type}.v{WARP_LANES}p0"
    text = b.call(
        name,
        kind,
        [
            (vector("ptr"), pointers),
            ("i32", str(value.bits // 8)),
            (vector("i1"), "splat (i1 true)"),
            (kind, "zeroinitializer"),
        ],
    )
    return Value(text, value.type)


def _by_group(
    lw: Lowering, i: Instruction, operand: Operand, results: Callable[[str], list[str]]
) -> list[Value]:
    """What `results` makes, as i32, of the executing lanes that a membership mask names: lanes with
    the same mask are a group of their own."""
    b, mask = lw.b, _mask(lw, i)
    members = read(lw, operand, ptx_type("b32")) if "sync" in i.modifiers else None
    if members is None or members.constant is not None:
        if members is not None and members.constant != FULL_MASK:
            mask = b.scalar(f"and i32 {mask}, {members.constant}")
        return [b.splat(result, "i32") for result in results(mask)]
    return _group_after_group(lw, mask, members, results)


def _group_after_group(
    lw: Lowering, mask: str, members: Value, results: Callable[[str], list[str]]
) -> list[Value]:
    b, kind = lw.b, vector("i32")
    rest, found = b.slot("i32"), [b.slot(kind), b.slot(kind)]
    for slot in found:
        b.line(f"store {kind} zeroinitializer, ptr {slot}")
    b.line(f"store i32 {mask}, ptr {rest}")
    head, group, done = b.fresh("groups"), b.fresh("group"), b.fresh("groups_done")
    b.line(f"br label %{head}")
    b.label(head)
    left = b.scalar(f"load i32, ptr {rest}")
    none = b.scalar(f"icmp eq i32 {left}, 0")
    b.line(f"br i1 {none}, label %{done}, label %{group}")
    b.label(group)
    lane = b.call("llvm.cttz.i32", "i32", [("i32", left), ("i1", "true")])
    named = b.scalar(f"extractelement {kind} {members.text}, i32 {lane}")
    alike = b.mask_of(b.compare("eq", members, b.splat(named, "i32")))
    alike = b.scalar(f"and i32 {alike}, {left}")
    made = results(b.scalar(f"and i32 {alike}, {named}"))
    for slot, result in zip(found, made, strict=False):
        old = b.value("i32", f"load {kind}, ptr {slot}, align 64")
        new = b.select(b.predicate_of(alike), b.splat(result, "i32"), old)
        b.line(f"store {kind} {new.text}, ptr {slot}, align 64")
    b.line(f"store i32 {b.scalar(f'xor i32 {left}, {alike}')}, ptr {rest}")
    b.line(f"br label %{head}")
    b.label(done)
    return [b.value("i32", f"load {kind}, ptr {slot}, align 64") for slot in found[: len(made)]]


def _holds(lw: Lowering, word: Value) -> Value:
    """A word as a predicate."""
    return lw.b.compare("ne", word, lw.b.constant("i32", 0))


def _vote(lw: Lowering, i: Instruction) -> None:
    """`vote.all`, `.any`, `.uni` and `.ballot`."""
    b = lw.b
    votes = b.mask_of(read(lw, i.operands[1], PRED))

    def results(members: str) -> list[str]:
        holds = b.scalar(f"and i32 {votes}, {members}")
        if "ballot" in i.modifiers:
            return [holds]
        some = b.scalar(f"icmp ne i32 {holds}, 0")
        verdict = all_ = b.scalar(f"icmp eq i32 {holds}, {members}")
        if "any" in i.modifiers:
            verdict = some
        elif "uni" in i.modifiers:
            verdict = b.scalar(f"or i1 {b.scalar(f'xor i1 {some}, true')}, {all_}")
        return [b.scalar(f"zext i1 {verdict} to i32")]

    (found,) = _by_group(lw, i, i.operands[-1], results)
    write(lw, i, i.operands[0], found if "ballot" in i.modifiers else _holds(lw, found))


def _activemask(lw: Lowering, i: Instruction) -> None:
    """`activemask`: the executing lanes."""
    write(lw, i, i.operands[0], lw.b.splat(_mask(lw, i), "i32"))


def _match(lw: Lowering, i: Instruction) -> None:
    """`match.any`: the lanes of equal value; `match.all`: the mask where all are equal, else 0."""
    b = lw.b
    value = read(lw, i.operands[1], type_of(i))
    target, predicate = _pair(i.operands[0])
    if "any" in i.modifiers:
        same = _match_any(lw, i, value)
        _log_first_lanes(lw, i, same)
        write(lw, i, target, same)
        return

    def results(members: str) -> list[str]:
        lane = b.call("llvm.cttz.i32", "i32", [("i32", members), ("i1", "false")])
        lane = b.scalar(f"and i32 {lane}, 31")
        first = b.scalar(f"extractelement {vector(value.type)} {value.text}, i32 {lane}")
        same = b.mask_of(b.compare("eq", value, b.splat(first, value.type)))
        same = b.scalar(f"and i32 {same}, {members}")
        equal = b.scalar(f"icmp eq i32 {same}, {members}")
        mask = b.scalar(f"select i1 {equal}, i32 {members}, i32 0")
        return [mask, b.scalar(f"zext i1 {equal} to i32")]

    mask, equal = _by_group(lw, i, i.operands[2], results)
    write(lw, i, target, mask)
    if predicate is not None:
        write(lw, i, predicate, _holds(lw, equal))


def _match_any(lw: Lowering, i: Instruction, value: Value) -> Value:
    b, mask = lw.b, _mask(lw, i)
    b.line(f"store {vector('i32')} zeroinitializer, ptr %results, align 64")

    def body(lane: str) -> None:
        mine = b.scalar(f"extractelement {vector(value.type)} {value.text}, i32 {lane}")
        same = b.mask_of(b.compare("eq", value, b.splat(mine, value.type)))
        pointer = b.scalar(f"getelementptr i32, ptr %results, i32 {lane}")
        b.line(f"store i32 {b.scalar(f'and i32 {same}, {mask}')}, ptr {pointer}")

    for_each_lane(lw, mask, body)
    found = b.value("i32", f"load {vector('i32')}, ptr %results, align 64")
    return b.binary("and", found, read(lw, i.operands[2], ptx_type("b32")))


def _log_first_lanes(lw: Lowering, i: Instruction, same: Value) -> None:
    """Record as many values as lanes have no lower one among those that hold the same."""
    b, guard = lw.b, guard_of(lw, i)
    with where_some(lw, lw.active if guard is None else guard) as mask:
        one = b.constant("i32", 1)
        lower = b.binary("sub", b.binary("shl", one, b.lane_numbers()), one)
        is_first = b.compare("eq", b.binary("and", same, lower), b.constant("i32", 0))
        first = b.scalar(f"and i32 {b.mask_of(is_first)}, {mask}")
        values = b.call("llvm.ctpop.i32", "i32", [("i32", first)])
        log_values(lw, b.scalar(f"zext i32 {values} to i64"), mask)


_REDUCTIONS = {
    "add": ("add", 0),
    "and": ("and", -1),
    "or": ("or", 0),
    "xor": ("xor", 0),
}


def _redux(lw: Lowering, i: Instruction) -> None:
    """`redux`: integer reduction over the member lanes."""
    b = lw.b
    kind = type_of(i)
    if kind.is_float:
        raise lw.unsupported("redux of floats")
    value = read(lw, i.operands[1], kind)
    operation = next(m for m in i.modifiers if m in (*_REDUCTIONS, "min", "max"))
    if operation in _REDUCTIONS:
        name, identity = _REDUCTIONS[operation]
    else:
        name = ("s" if kind.signed else "u") + operation
        extremes = {
            "smin": 0x7FFF_FFFF,
            "smax": 0x8000_0000,
            "umin": FULL_MASK,
            "umax": 0,
        }
        identity = extremes[name]

    def results(members: str) -> list[str]:
        chosen = b.select(b.predicate_of(members), value, b.constant("i32", identity))
        function = f"llvm.vector.reduce.{name}.{mangled('i32')}"
        return [b.call(function, "i32", [(vector("i32"), chosen.text)])]

    (total,) = _by_group(lw, i, i.operands[2], results)
    write(lw, i, i.operands[0], total)


def _elect(lw: Lowering, i: Instruction) -> None:
    """`elect.sync`: the lowest member lane leads."""
    b = lw.b

    def results(members: str) -> list[str]:
        return [b.call("llvm.cttz.i32", "i32", [("i32", members), ("i1", "false")])]

    (leader,) = _by_group(lw, i, i.operands[1], results)
    target, predicate = _pair(i.operands[0])
    write(lw, i, target, leader)
    if predicate is not None:
        write(lw, i, predicate, b.compare("eq", b.lane_numbers(), leader))


OPCODES = {
    "shfl": _shfl,
    "vote": _vote,
    "activemask": _activemask,
    "match": _match,
    "redux": _redux,
    "elect": _elect,
}
