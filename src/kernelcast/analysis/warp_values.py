"""What registers hold in the lanes of any warp of a launch, as far as code alone tells.

A value is known up to a multiple of its grain that all lanes share:

    value of lane k = lanes[k] + grain m,    m unknown, the same in the whole warp

So an affine expression of thread indices is exact, whatever block, warp and iteration of a loop it
is of: those enter m alone. Where two paths join, or a loop comes round, values that differ by as
much in every lane keep their lanes, and the grain becomes the greatest common divisor of both
grains and the difference; it can only shrink, so that the search for all registers ends.

Machine code is followed through its meaning, as PTX is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.ir import (
    Address,
    Array,
    Immediate,
    Instruction,
    Kernel,
    Launch,
    OpClass,
    Operand,
    Register,
    Space,
    SpecialRegister,
    Symbol,
    TensorMap,
    Vector,
    arrays_in,
)
from kernelcast.ir.sizes import WARP_LANES

_WORD = 32
_LaneNumbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WarpValue:
    """`lanes[k] + grain m`; `array` is the label of the pointer among the parameters it comes from.

    A grain of 0 stands for a value that is known.
    """

    lanes: _LaneNumbers = field(compare=False)
    grain: int = 0
    array: str = ""

    @property
    def is_uniform(self) -> bool:
        """Whether all lanes hold the same."""
        return bool((self.lanes == self.lanes[0]).all())

    @property
    def constant(self) -> int | None:
        """The number that all lanes hold, None where there is none or it is not known."""
        return int(self.lanes[0]) if not self.grain and self.is_uniform else None


@dataclass(frozen=True, slots=True)
class WarpAccess:
    """An access to memory; `address` is None where code alone does not tell it."""

    instruction: int
    space: Space
    access_bytes: int
    is_load: bool
    address: WarpValue | None


_MaybeValue = WarpValue | None
_Half = tuple[WarpValue, int]
_State = dict[Register, "_MaybeValue | _Half"]


def accesses_of_warp(kernel: Kernel, launch: Launch) -> tuple[WarpAccess, ...]:
    """Every access to global and shared memory in the code, in the lanes of any warp.

    Scalars of the launch are known, arrays begin at multiples of 256 bytes.
    """
    return _PathSearch(kernel, launch).run()


def _uniform(value: int, grain: int = 0) -> WarpValue:
    """The same number in all lanes."""
    return WarpValue(np.full(WARP_LANES, value, np.int64), grain)


_ANYTHING_UNIFORM = _uniform(0, 1)


def thread_indices(launch: Launch) -> Mapping[str, WarpValue]:
    """tid.x, tid.y and tid.z of any warp: its first one, and how far others are from it.

    Empty where warps differ by more than that, as those of a block of 24 by 4.
    """
    x, y, z = launch.block
    lane = np.arange(WARP_LANES, dtype=np.int64)
    columns = (lane % x, lane // x % y, lane // (x * y) % z)
    rows = max(1, WARP_LANES // x)
    planes = max(1, WARP_LANES // (x * y))
    if x * y * z <= WARP_LANES:
        grains = (0, 0, 0)
    elif x % WARP_LANES == 0:
        grains = (WARP_LANES if x > WARP_LANES else 0, int(y > 1), int(z > 1))
    elif WARP_LANES % x == 0 and y % rows == 0:
        grains = (0, rows if y > rows else 0, int(z > 1))
    elif WARP_LANES % (x * y) == 0 and z % planes == 0:
        grains = (0, 0, planes)
    else:
        return {}
    return {
        f"tid.{axis}": WarpValue(column, grain)
        for axis, column, grain in zip("xyz", columns, grains, strict=True)
    }


def array_labels(launch: Launch) -> Mapping[int, str]:
    """What the arrays are called that a launch gives as arguments, by their place."""
    return {
        at: next(arrays_in(label, value))[0]
        for at, (label, value) in enumerate(launch.args.items())
        if isinstance(value, Array | TensorMap)
    }


class _PathSearch:
    def __init__(self, kernel: Kernel, launch: Launch) -> None:
        self._kernel = kernel
        self._special = dict(thread_indices(launch))
        for axis, blocks, threads in zip("xyz", launch.grid, launch.block, strict=True):
            self._special[f"ctaid.{axis}"] = _uniform(0, int(blocks > 1))
            self._special[f"nctaid.{axis}"] = _uniform(blocks)
            self._special[f"ntid.{axis}"] = _uniform(threads)
        self._special["laneid"] = WarpValue(np.arange(WARP_LANES, dtype=np.int64))
        self._offsets = {p.name: p.offset_bytes for p in kernel.parameters}
        self._parameters: dict[int, _MaybeValue] = {}
        values = tuple(launch.args.values())
        labels = array_labels(launch)
        for at, parameter in enumerate(kernel.parameters):
            given = values[at] if at < len(values) else None
            label = parameter.label or parameter.name
            if parameter.is_pointer or not isinstance(given, int | float | None):
                known: _MaybeValue = replace(_uniform(0), array=labels.get(at, label))
            else:
                known = _uniform(given) if isinstance(given, int) else _ANYTHING_UNIFORM
            self._parameters[parameter.offset_bytes] = known
        for word in kernel.constants.launch_words if kernel.constants else ():
            if word.name in self._special:
                self._parameters[word.offset_bytes] = self._special[word.name]
        self._found: dict[int, WarpAccess] = {}

    def run(self) -> tuple[WarpAccess, ...]:
        """Follow all paths until nothing changes, then note the accesses."""
        starts: dict[int, _State] = {0: {}}
        pending = {0}
        while pending:
            block = min(pending)
            pending.remove(block)
            state = self._after(block, starts[block])
            for successor in self._kernel.blocks[block].successors:
                merged = state if successor not in starts else _joined(starts[successor], state)
                if successor not in starts or not _alike(merged, starts[successor]):
                    starts[successor] = merged
                    pending.add(successor)
        for block, state in starts.items():
            self._after(block, state, note=True)
        return tuple(self._found[index] for index in sorted(self._found))

    def _after(self, block: int, before: _State, *, note: bool = False) -> _State:
        state = dict(before)
        at = self._kernel.blocks[block]
        for index in range(at.start, at.end):
            for step in self._kernel.steps(index):
                if note and step.op_class.is_memory:
                    self._note(step, state)
                self._write(step, state)
        return state

    def _note(self, step: Instruction, state: _State) -> None:
        if step.space not in (Space.GLOBAL, Space.SHARED, Space.GENERIC):
            return
        address = self._address(step, state)
        space = step.space
        if space is Space.GENERIC:
            space = Space.GLOBAL
        is_load = step.op_class is OpClass.LOAD
        self._found[step.index] = WarpAccess(step.index, space, step.access_bytes, is_load, address)

    def _address(self, step: Instruction, state: _State) -> _MaybeValue:
        given = next((o for o in step.operands if isinstance(o, Address)), None)
        if given is None:
            return None
        base = _uniform(0) if given.base is None else self._value(given.base, state)
        return None if base is None else replace(base, lanes=base.lanes + given.offset)

    def _write(self, step: Instruction, state: _State) -> None:
        if not step.writes:
            return
        result = self._result(step, state)
        target = step.operands[0] if step.operands else None
        if isinstance(target, Vector):
            for half, element in enumerate(target.elements):
                if isinstance(element, Register):
                    is_pair = result is not None and len(target.elements) == 2
                    state[element] = (result, half) if is_pair and result else None
            return
        for register in step.writes:
            one = result if register == target else None
            if step.guard is not None and register in state:
                one = _join(_plain(state[register]), one)
            state[register] = one

    def _value(self, operand: Operand, state: _State) -> _MaybeValue:
        match operand:
            case Register():
                return _plain(state.get(operand))
            case Immediate(value=value, type=""):
                return _uniform(_wrapped(value) if value >= 1 << 31 else value)
            case SpecialRegister(name=name):
                return self._special.get(name)
            case Symbol(offset=offset):
                return _uniform(offset)
            case Vector(elements=(Register() as low, Register() as high)):
                one, other = state.get(low), state.get(high)
                if isinstance(one, tuple) and isinstance(other, tuple) and one[0] is other[0]:
                    return one[0]
        return None

    def _result(self, step: Instruction, state: _State) -> _MaybeValue:
        if step.op_class.is_memory:
            return self._loaded(step, state)
        values = [self._value(operand, state) for operand in step.operands[1:]]
        rule = _RULES.get(step.opcode)
        if rule is None:
            return _of_uniform(values)
        found = rule(values, step.modifiers)
        if found is None:
            return _of_uniform(values)
        if not found.array and step.modifiers[-1:] and step.modifiers[-1][1:] == str(_WORD):
            wide = "wide" in step.modifiers
            return found if wide else replace(found, lanes=_wrap_lanes(found.lanes))
        return found

    def _loaded(self, step: Instruction, state: _State) -> _MaybeValue:
        if step.space is not Space.PARAM:
            address = self._address(step, state) if step.op_class is OpClass.LOAD else None
            return _ANYTHING_UNIFORM if address is not None and address.is_uniform else None
        given = next((o for o in step.operands if isinstance(o, Address)), None)
        if given is None or isinstance(given.base, Register):
            return None
        base = self._offsets.get(given.base.name, 0) if isinstance(given.base, Symbol) else 0
        return self._parameters.get(base + given.offset, _ANYTHING_UNIFORM)


def _plain(value: _MaybeValue | _Half) -> _MaybeValue:
    """A register's own 32 bits: the lower half of a pair, where that is no pointer."""
    if not isinstance(value, tuple):
        return value
    whole, half = value
    return whole if half == 0 and not whole.array else None


def _joined(one: _State, other: _State) -> _State:
    """What is known where two paths meet: a register that one does not know is not known."""
    found: _State = {}
    for register in one.keys() & other.keys():
        a, b = one[register], other[register]
        if isinstance(a, tuple) and isinstance(b, tuple) and a[1] == b[1]:
            whole = a[0] if a[0] is b[0] else _join(a[0], b[0])
            found[register] = None if whole is None else (whole, a[1])
        else:
            found[register] = _join(_plain(a), _plain(b))
    # Both halves of a pair are one value.
    return _paired(found)


def _paired(state: _State) -> _State:
    """Equal values of halves as one object, by which pairs are told."""
    wholes: list[WarpValue] = []
    for register, value in state.items():
        if isinstance(value, tuple):
            same = next((w for w in wholes if _same(w, value[0])), None)
            if same is None:
                wholes.append(value[0])
            else:
                state[register] = (same, value[1])
    return state


def _same(one: _MaybeValue, other: _MaybeValue) -> bool:
    if one is None or other is None:
        return one is other
    return one == other and bool((one.lanes == other.lanes).all())


def _alike(one: _State, other: _State) -> bool:
    if one.keys() != other.keys():
        return False
    return all(
        a[1] == b[1] and _same(a[0], b[0])
        if isinstance(a, tuple) and isinstance(b, tuple)
        else not isinstance(a, tuple) and not isinstance(b, tuple) and _same(a, b)
        for a, b in ((one[r], other[r]) for r in one)
    )


def _join(one: _MaybeValue, other: _MaybeValue) -> _MaybeValue:
    if one is None or other is None or one.array != other.array:
        return None
    apart = one.lanes - other.lanes
    if not (apart == apart[0]).all():
        return None
    return replace(one, grain=math.gcd(one.grain, other.grain, int(apart[0])))


def _of_uniform(values: list[_MaybeValue]) -> _MaybeValue:
    """What is computed of values that all lanes share is one that they share."""
    known = [value for value in values if value is not None]
    if len(known) == len(values) and values and all(value.is_uniform for value in known):
        return _ANYTHING_UNIFORM
    return None


def _wrapped(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _wrap_lanes(lanes: _LaneNumbers) -> _LaneNumbers:
    wrapped: _LaneNumbers = (lanes + (1 << 31)) % (1 << 32) - (1 << 31)
    return wrapped


_LaneRule = Callable[[list[_MaybeValue], tuple[str, ...]], _MaybeValue]


def _copy(values: list[_MaybeValue], _: tuple[str, ...]) -> _MaybeValue:
    return values[0]


def _converted(values: list[_MaybeValue], modifiers: tuple[str, ...]) -> _MaybeValue:
    is_integer = all(m[0] in "us" for m in modifiers[-2:])
    return values[0] if is_integer else None


def _sum(a: _MaybeValue, b: _MaybeValue, sign: int = 1) -> _MaybeValue:
    if a is None or b is None or (a.array and b.array):
        return None
    grain = math.gcd(a.grain, b.grain)
    return WarpValue(a.lanes + sign * b.lanes, grain, a.array or b.array)


def _product(a: _MaybeValue, b: _MaybeValue) -> _MaybeValue:
    """(x + g m)(y + h n): the unknown part must be the same in all lanes."""
    if a is None or b is None or a.array or b.array:
        return None
    if (a.grain and not b.is_uniform) or (b.grain and not a.is_uniform):
        return None
    x, y = int(a.lanes[0]), int(b.lanes[0])
    return WarpValue(a.lanes * b.lanes, math.gcd(a.grain * y, b.grain * x, a.grain * b.grain))


def _added(values: list[_MaybeValue], _: tuple[str, ...]) -> _MaybeValue:
    return _sum(values[0], values[1])


def _subtracted(values: list[_MaybeValue], _: tuple[str, ...]) -> _MaybeValue:
    return _sum(values[0], values[1], -1)


def _multiplied(values: list[_MaybeValue], modifiers: tuple[str, ...]) -> _MaybeValue:
    return None if "hi" in modifiers else _product(values[0], values[1])


def _multiply_added(values: list[_MaybeValue], modifiers: tuple[str, ...]) -> _MaybeValue:
    return None if "hi" in modifiers else _sum(_product(values[0], values[1]), values[2])


def _shifted_left(values: list[_MaybeValue], _: tuple[str, ...]) -> _MaybeValue:
    by = None if values[1] is None else values[1].constant
    return None if by is None or not 0 <= by < 64 else _product(values[0], _uniform(1 << by))


def _shifted_right(values: list[_MaybeValue], _: tuple[str, ...]) -> _MaybeValue:
    value, by = values[0], None if values[1] is None else values[1].constant
    if value is None or by is None or value.array or not 0 <= by < 64 or value.grain % (1 << by):
        return None
    return WarpValue(value.lanes >> by, value.grain >> by)


def _masked(values: list[_MaybeValue], _: tuple[str, ...]) -> _MaybeValue:
    value, other = values[0], values[1]
    if value is None or other is None or value.array or other.array:
        return None
    if not value.grain and not other.grain:
        return WarpValue(value.lanes & other.lanes)
    if value.constant is not None:
        value, other = other, value
    mask = other.constant
    if mask is None or mask <= 0:
        return None
    # Bits in a row: a remainder, of what has no bit below them.
    low = mask & -mask
    if mask & (mask + low) or value.grain % low or (value.lanes % low).any():
        return None
    return _modulo(value, mask + low)


def _either_bit(values: list[_MaybeValue], _: tuple[str, ...]) -> _MaybeValue:
    """A sum where no bit is set in both: in the lanes, and in what may be added to them."""
    a, b = values[0], values[1]
    if a is None or b is None:
        return None
    low, high = (a, b) if b.grain else (b, a)
    free = high.grain & -high.grain if high.grain else 0
    fits = not low.grain and not (low.lanes & high.lanes).any() and (low.lanes >= 0).all()
    if not fits or (high.grain and (low.lanes >= free).any()):
        return None
    return _sum(a, b)


def _remainder(values: list[_MaybeValue], _: tuple[str, ...]) -> _MaybeValue:
    value, by = values[0], None if values[1] is None else values[1].constant
    if value is None or not by or by < 0 or value.array or (value.lanes < 0).any():
        return None
    return _modulo(value, by)


def _modulo(value: WarpValue, by: int) -> _MaybeValue:
    """(x + g m) mod b: x mod b where b divides g, and as much further in all lanes where g divides
    b and no multiple of g lies between two lanes."""
    if value.grain % by == 0:
        return WarpValue(value.lanes % by)
    rows = value.lanes // value.grain
    if by % value.grain or not (rows == rows[0]).all():
        return None
    return WarpValue(value.lanes % value.grain, value.grain)


def _quotient(values: list[_MaybeValue], _: tuple[str, ...]) -> _MaybeValue:
    value, by = values[0], None if values[1] is None else values[1].constant
    if value is None or not by or by < 0 or value.array or value.grain % by:
        return None
    return WarpValue(value.lanes // by, value.grain // by) if (value.lanes >= 0).all() else None


def _chosen(values: list[_MaybeValue], _: tuple[str, ...]) -> _MaybeValue:
    return _join(values[0], values[1])


_RULES: Mapping[str, _LaneRule] = {
    "mov": _copy,
    "cvta": _copy,
    "cvt": _converted,
    "add": _added,
    "sub": _subtracted,
    "mul": _multiplied,
    "mul24": _multiplied,
    "mad": _multiply_added,
    "shl": _shifted_left,
    "shr": _shifted_right,
    "and": _masked,
    "or": _either_bit,
    "rem": _remainder,
    "div": _quotient,
    "selp": _chosen,
    "min": _chosen,
    "max": _chosen,
}
