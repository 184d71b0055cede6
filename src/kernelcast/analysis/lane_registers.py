"""What registers hold in the lanes of a warp: at one place in the code, and where paths meet.

Registers of machine code have 32 bits, and addresses are added in halves, with a carry. The lower
half of an address is enough: it stays in its array, as C demands, and no array has 4 GiB, so that
the upper half says nothing of how far lanes are apart.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from kernelcast.analysis.lane_arithmetic import (
    ANYTHING_UNIFORM,
    MaybeValue,
    WarpValue,
    both_words,
    joined,
    same_value,
)
from kernelcast.analysis.lane_numbers import WORD_BITS, wrapped
from kernelcast.ir import Guard, Register

_Half = tuple[WarpValue, int]
_RegisterValue = MaybeValue | _Half


@dataclass
class LaneRegisters:
    """What is known of registers: in all lanes, and more of some in the lanes of a guard."""

    _all: dict[Register, _RegisterValue] = field(default_factory=dict)
    _some: dict[Register, tuple[Guard, _RegisterValue]] = field(default_factory=dict)

    def copy(self) -> LaneRegisters:
        """The same, to be changed by itself."""
        return LaneRegisters(dict(self._all), dict(self._some))

    def value(self, register: Register, guard: Guard | None = None) -> MaybeValue:
        """What a register holds in the lanes of a guard."""
        return _plain(self._of(register, guard))

    def pair(self, low: Register, high: Register, guard: Guard | None = None) -> MaybeValue:
        """The 64 bits in two registers: of an address by its lower half alone."""
        one, other = self._of(low, guard), self._of(high, guard)
        found = _plain(one)
        if isinstance(other, tuple) and other[0] is (one[0] if isinstance(one, tuple) else one):
            return other[0]
        return found if found is not None and found.array else both_words(found, _plain(other))

    def write(self, register: Register, value: MaybeValue, guard: Guard | None = None) -> None:
        """Note what is written to a register, in the lanes of a guard."""
        self._write(register, value, guard)

    def write_pair(
        self, low: Register | None, high: Register | None, value: MaybeValue, guard: Guard | None
    ) -> None:
        """Note 64 bits that are written to two registers."""
        for half, register in enumerate((low, high)):
            if register is not None:
                self._write(register, None if value is None else (value, half), guard)

    def without(self, registers: Collection[Register]) -> LaneRegisters:
        """What is known if all lanes may hold another value of these registers: what is exact."""
        found = self.copy()
        for register in registers & found._all.keys():
            if not _is_exact(found._all[register]):
                found._all[register] = None
        for register in registers & found._some.keys():
            del found._some[register]
        return found

    def with_of(self, other: LaneRegisters, registers: Collection[Register]) -> LaneRegisters:
        """What is known where these registers are those of another state."""
        found = LaneRegisters({r: v for r, v in self._all.items() if r not in registers})
        found._all.update((r, other._all[r]) for r in registers & other._all.keys())
        return found

    def joined(self, other: LaneRegisters, apart: Collection[Register] = ()) -> LaneRegisters:
        """What is known where two paths meet: a register that one does not know is not known.

        Lanes may come from both of them with values of their own in the registers `apart`.
        """
        found = LaneRegisters()
        for register in self._all.keys() & other._all.keys():
            value = _joined(self._all[register], other._all[register])
            known = register not in apart or _is_exact(value)
            found._all[register] = value if known else None
        for register in (self._some.keys() | other._some.keys()).difference(apart):
            guard, _ = self._some.get(register) or other._some[register]
            value = _joined(self._of(register, guard), other._of(register, guard))
            if value is not None:
                found._some[register] = guard, value
        found._pair_up()
        return found

    def is_like(self, other: LaneRegisters) -> bool:
        """Whether as much is known."""
        if self._all.keys() != other._all.keys() or self._some.keys() != other._some.keys():
            return False
        return all(_alike(value, other._all[r]) for r, value in self._all.items()) and all(
            guard == other._some[r][0] and _alike(value, other._some[r][1])
            for r, (guard, value) in self._some.items()
        )

    def _of(self, register: Register, guard: Guard | None) -> _RegisterValue:
        if guard is not None and (found := self._some.get(register)) and found[0] == guard:
            return found[1]
        return self._all.get(register)

    def _write(self, register: Register, value: _RegisterValue, guard: Guard | None) -> None:
        for other, (of, _) in list(self._some.items()):
            if register in (other, of.register):
                del self._some[other]
        if guard is None:
            self._all[register] = value
            return
        self._some[register] = guard, value
        if register in self._all:
            before = self._all[register]
            holds = self.value(guard.register)
            known = _joined(before, value)
            is_one = holds is not None and holds.is_uniform
            value = known if is_one or _is_exact(known) else None
        self._all[register] = value

    def _pair_up(self) -> None:
        """Equal values of halves as one object, by which pairs are told."""
        wholes: list[WarpValue] = []
        for register, value in self._all.items():
            if isinstance(value, tuple):
                same = next((w for w in wholes if same_value(w, value[0])), None)
                if same is None:
                    wholes.append(value[0])
                else:
                    self._all[register] = (same, value[1])


def _plain(value: _RegisterValue) -> MaybeValue:
    """What a register holds itself: of a pair, the half."""
    if not isinstance(value, tuple):
        return value
    whole, half = value
    if whole.array:
        return whole if half == 0 else None
    if half == 0:
        return replace(whole, lanes=wrapped(whole.lanes))
    if whole.grain:
        return ANYTHING_UNIFORM if whole.is_uniform else None
    return WarpValue(whole.lanes >> WORD_BITS)


def _is_exact(value: _RegisterValue) -> bool:
    """Whether nothing of a value is unknown, so that it is the same on every path."""
    whole = value[0] if isinstance(value, tuple) else value
    return whole is not None and not whole.grain


def _joined(one: _RegisterValue, other: _RegisterValue) -> _RegisterValue:
    if isinstance(one, tuple) and isinstance(other, tuple) and one[1] == other[1]:
        whole = one[0] if one[0] is other[0] else joined(one[0], other[0])
        return None if whole is None else (whole, one[1])
    return joined(_plain(one), _plain(other))


def _alike(one: _RegisterValue, other: _RegisterValue) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one[1] == other[1] and same_value(one[0], other[0])
    return not isinstance(one, tuple) and not isinstance(other, tuple) and same_value(one, other)
