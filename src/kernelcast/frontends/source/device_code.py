"""What of a source the device needs: kernels, and all that they name.

Kernels, variables of the device and operators marked for it are needed, and every declaration whose
name a needed one has. Functions are needed only where they are marked for the device or constant
expressions, variables only where they are constant. What is not needed is host code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kernelcast.frontends.source.parameters import read_parameters
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.top_level import DeclarationKind, SourceDeclaration, walk
from kernelcast.frontends.source.words import Lexeme

_CONSTANT = frozenset({"constexpr", "consteval"})
_MARKED = frozenset({"__global__", "__device__"})
_STANDARD_NAMESPACES = frozenset({"std", "cooperative_groups", "nvcuda", "wmma", "cuda", "cub"})


@dataclass(frozen=True)
class DeviceCode:
    """Which declarations the device needs.

    `left_out` are ranges of words without it; `bodies` those of functions whose body alone is left
    out; `names` all names that stand in what is needed; `kept` what is needed.
    """

    kept: tuple[SourceDeclaration, ...]
    left_out: tuple[SourceDeclaration, ...]
    bodies: tuple[SourceDeclaration, ...]
    names: frozenset[str]


def device_code(
    words: Sequence[Lexeme],
    declarations: Sequence[SourceDeclaration],
    named: Iterable[str] = (),
    refused: Collection[int] = (),
) -> DeviceCode:
    """Choose what the device needs.

    `named` are names that it needs besides, such as template arguments of launches; `refused` are
    first words of declarations that a compiler did not take.
    """
    units = list(_units(declarations))
    return _Closure(words, units, _namespaces(declarations), refused).close(named)


def _units(declarations: Sequence[SourceDeclaration]) -> Iterator[SourceDeclaration]:
    """All declarations that are kept or left out as a whole: those outside of classes."""
    for declaration in declarations:
        if declaration.kind is DeclarationKind.NAMESPACE:
            yield from _units(declaration.members)
        else:
            yield declaration


def _namespaces(declarations: Sequence[SourceDeclaration]) -> frozenset[str]:
    return frozenset(
        part
        for each in walk(declarations)
        if each.kind is DeclarationKind.NAMESPACE and each.names
        for part in each.names[0].split("::")
    )


@dataclass
class _Closure:
    words: Sequence[Lexeme]
    units: list[SourceDeclaration]
    namespaces: frozenset[str]
    refused: Collection[int]
    names: set[str] = field(default_factory=set)
    by_name: dict[str, list[int]] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    left_out: list[SourceDeclaration] = field(default_factory=list)
    bodies: list[SourceDeclaration] = field(default_factory=list)

    def close(self, named: Iterable[str]) -> DeviceCode:
        marked = {self._signature(unit) for unit in self.units if _is_marked(unit)}
        for number, unit in enumerate(self.units):
            if unit.begin in self.refused:
                continue
            if _may_be_needed(unit) or self._signature(unit) in marked:
                for name in unit.names:
                    self.by_name.setdefault(name, []).append(number)
        has_kernel = any("__global__" in unit.marks for unit in self.units)
        for number, unit in enumerate(self.units):
            if _is_root(unit, has_kernel) and unit.begin not in self.refused:
                self._keep(number)
        for name in named:
            self._need(name)
        for number, unit in enumerate(self.units):
            if unit.kind is DeclarationKind.USING_NAMESPACE and self._is_known(unit):
                self.kept.add(number)
                self.names.update(unit.names[0].split("::"))
        out = [unit for number, unit in enumerate(self.units) if number not in self.kept]
        return DeviceCode(
            tuple(unit for number, unit in enumerate(self.units) if number in self.kept),
            (*out, *self.left_out),
            tuple(self.bodies),
            frozenset(self.names),
        )

    def _signature(self, unit: SourceDeclaration) -> tuple[str, ...]:
        """Tells functions apart: their name and the types of their parameters."""
        if unit.kind is not DeclarationKind.FUNCTION:
            return ()
        return unit.name, *(p.type for p in read_parameters(self.words, unit))

    def _is_known(self, unit: SourceDeclaration) -> bool:
        last = unit.names[0].rpartition("::")[2]
        return last in self.namespaces or last in _STANDARD_NAMESPACES

    def _keep(self, number: int) -> None:
        pending = [number]
        while pending:
            number = pending.pop()
            if number in self.kept:
                continue
            self.kept.add(number)
            for name in self._new_names(self.units[number]):
                pending += self.by_name.get(name, ())

    def _need(self, name: str) -> None:
        self.names.add(name)
        for number in self.by_name.get(name, ()):
            self._keep(number)

    def _new_names(self, unit: SourceDeclaration) -> set[str]:
        """Names in a unit that were in none before; members that are host code are left out."""
        host = list(_host_members(unit, self.bodies))
        self.left_out += host
        skipped = {at for member in host for at in range(member.begin, member.end)}
        found = {
            word.text
            for at, word in enumerate(self.words[unit.begin : unit.end], unit.begin)
            if word.kind is TokenKind.NAME and at not in skipped
        }
        new = found - self.names
        self.names |= new
        return new


def _is_marked(unit: SourceDeclaration) -> bool:
    """Whether it is a function of the device."""
    return unit.kind is DeclarationKind.FUNCTION and not unit.marks.isdisjoint(_MARKED)


def _may_be_needed(unit: SourceDeclaration) -> bool:
    """Whether a name in device code can mean it."""
    if unit.kind is DeclarationKind.FUNCTION:
        return not unit.marks.isdisjoint(_MARKED | _CONSTANT)
    if unit.kind is DeclarationKind.VARIABLE:
        return unit.is_device or not unit.marks.isdisjoint(_CONSTANT | {"const", "extern"})
    return unit.kind in (DeclarationKind.TYPE, DeclarationKind.ALIAS)


def _is_root(unit: SourceDeclaration, has_kernel: bool) -> bool:
    if unit.kind is DeclarationKind.FUNCTION and not has_kernel:
        return unit.is_device
    if unit.kind is DeclarationKind.FUNCTION:
        is_operator = unit.names[0].startswith("operator") and unit.is_device
        return unit.is_kernel or is_operator
    if unit.kind is DeclarationKind.INSTANCE:
        return "__global__" in unit.marks
    return unit.kind is DeclarationKind.VARIABLE and unit.is_device


def _host_members(
    unit: SourceDeclaration, bodies: list[SourceDeclaration]
) -> Iterator[SourceDeclaration]:
    """Functions in a class that are host code; of virtual ones, which give a class its layout, the
    body alone is noted in `bodies`."""
    for member in unit.members:
        if member.members:
            yield from _host_members(member, bodies)
        elif member.kind is DeclarationKind.FUNCTION and _is_host(member):
            if "virtual" not in member.marks:
                yield member
            elif member.body is not None:
                bodies.append(member)


def _is_host(function: SourceDeclaration) -> bool:
    return function.marks.isdisjoint(_MARKED | _CONSTANT | {"default", "delete"})
