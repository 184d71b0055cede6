"""How structs that a source declares lie in memory.

Fields stand in order, each at the next multiple of its alignment, those of base classes first, and
the size is a multiple of the largest alignment (Itanium C++ ABI, section 2.4, for types without
virtual functions). Whoever uses a layout compares its size and alignment with the compiler's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from kernelcast.frontends.source.brackets import split_words, template_end
from kernelcast.frontends.source.calls import constants
from kernelcast.frontends.source.declarators import Declarator, alignment_of, read_declarators
from kernelcast.frontends.source.element_types import ELEMENT_TYPES
from kernelcast.frontends.source.folding import NameScope, fold
from kernelcast.frontends.source.parameters import spelled, template_parameters
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.top_level import DeclarationKind, SourceDeclaration, walk
from kernelcast.frontends.source.words import Lexeme, Lexemes, as_words
from kernelcast.ir import (
    PointerType,
    ScalarType,
    SequenceType,
    StructField,
    StructType,
    ValueType,
)

_MAX_DEPTH = 16
_ACCESS = frozenset({"public", "private", "protected", "virtual"})
_VECTOR = re.compile(r"(u?char|u?short|u?int|u?long|u?longlong|float|double)([1-4])(?:_16a|_32a)?")
_VECTOR_ELEMENTS: Mapping[str, str] = {
    "char": "s8",
    "short": "s16",
    "int": "s32",
    "long": "s64",
    "longlong": "s64",
    "float": "f32",
    "double": "f64",
}
_MAX_VECTOR_ALIGN_BYTES = 16
_PAIRS = {
    "half2": "f16",
    "__half2": "f16",
    "__nv_bfloat162": "bf16",
    "nv_bfloat162": "bf16",
}
_HANDLES = frozenset(
    {"cudaTextureObject_t", "cudaSurfaceObject_t", "CUtexObject", "CUsurfObject", "CUdeviceptr"}
)
_FUNCTIONS = (DeclarationKind.FUNCTION, DeclarationKind.INSTANCE, DeclarationKind.OTHER)


class _UnknownLayoutError(Exception):
    """A type whose size the source does not say, or in a way that is not read."""


@dataclass(frozen=True)
class SourceTypes:
    """The types of a source: what each name in it stands for."""

    words: Sequence[Lexeme] = field(repr=False)
    declarations: Sequence[SourceDeclaration] = field(repr=False)

    def type_of(
        self, text: str, pointers: int = 0, given: Mapping[str, str] | None = None
    ) -> ValueType | None:
        """The type spelled so, with so many stars; None where the source does not say all of it.

        `given` are the arguments of the template around it, by the names of its parameters.
        """
        try:
            return _Reading(self, given or {}).type_of(text, pointers)
        except (_UnknownLayoutError, RecursionError):
            return None

    def size_of(self, text: str) -> int | None:
        """Bytes of the type spelled so; None where the source does not say all of it."""
        found = self.type_of(text)
        return None if found is None else found.size_bytes

    def variables(self) -> Iterator[tuple[str, ValueType | None]]:
        """The variables of the device, with their scope, and their types."""
        for each in walk(self.declarations):
            if each.kind is DeclarationKind.VARIABLE and each.is_device:
                for found in read_declarators(self.words[each.begin : each.end]):
                    name = f"{each.scope}::{found.name}" if each.scope else found.name
                    try:
                        yield name, _Reading(self, {}).declared(found)
                    except (_UnknownLayoutError, RecursionError):
                        yield name, None

    @cached_property
    def named(self) -> Mapping[str, tuple[SourceDeclaration, ...]]:
        """Types and aliases by their last name, those with a body first."""
        found: dict[str, list[SourceDeclaration]] = {}
        kinds = (DeclarationKind.TYPE, DeclarationKind.ALIAS)
        for each in walk(self.declarations):
            if each.kind in kinds:
                for name in each.names:
                    found.setdefault(name, []).append(each)
        return {
            name: tuple(sorted(group, key=lambda d: d.body is None))
            for name, group in found.items()
        }

    @cached_property
    def constants(self) -> Mapping[str, Lexemes]:
        """Words of the values of constants."""
        return constants(self.words, list(walk(self.declarations)))


@dataclass(frozen=True)
class _Reading:
    """Types being read inside of a template whose arguments are `given`, within other types."""

    types: SourceTypes
    given: Mapping[str, str]
    around: tuple[str, ...] = ()

    def declared(self, declarator: Declarator) -> ValueType:
        if declarator.is_bits:
            raise _UnknownLayoutError
        return self._of_bounds(
            self.type_of(declarator.type, declarator.pointers), declarator.bounds
        )

    def type_of(self, text: str, pointers: int = 0) -> ValueType:
        text = text.strip()
        while text.endswith(("*", "&")):
            text, pointers = text[:-1].rstrip(), pointers + 1
        if not pointers:
            return self._bare(text)
        to: ValueType | None
        try:
            to = self._bare(text)
        except _UnknownLayoutError:
            to = None
        for _ in range(pointers):
            to = PointerType(to)
        return to if to is not None else PointerType()

    def _bare(self, text: str) -> ValueType:
        text = re.sub(r"\b(const|volatile|struct|class|union|enum|typename)\b", " ", text)
        text = " ".join(text.split()).removeprefix("::")
        if text in self.given and self.given[text] != text:
            return _Reading(self.types, {}, self.around).type_of(self.given[text])
        name, _, arguments = text.partition("<")
        name = name.strip().rpartition("::")[2]
        if name in self.types.named and len(self.around) < _MAX_DEPTH:
            return self._of_source(name, arguments)
        return _built_in(text.removeprefix("std::"))

    def _of_source(self, name: str, arguments: str) -> ValueType:
        found = self.types.named[name][0]
        given = self._template(found, arguments)
        key = f"{name}<{given if found.template else ''}"
        if key in self.around:
            raise _UnknownLayoutError
        inside = replace(self, given=given, around=(*self.around, key))
        if "enum" in found.marks:
            return inside.enumeration(found)
        if found.body is not None:
            return inside.structure(found, name)
        if found.kind is DeclarationKind.ALIAS:
            return inside.alias(found)
        raise _UnknownLayoutError

    def _template(self, found: SourceDeclaration, arguments: str) -> dict[str, str]:
        """The arguments of a template by the names of its parameters."""
        if found.template is None:
            return dict(self.given)
        names = template_parameters(self.types.words, found)
        inner = arguments.rpartition(">")[0] if arguments else ""
        given = [spelled(part) for part in split_words(as_words(inner))]
        values = dict(zip(names, (self.given.get(g, g) for g in given), strict=False))
        defaults = split_words(self.types.words[slice(*found.template)])
        for parameter, part in zip(names, defaults, strict=True):
            at = next((at for at, word in enumerate(part) if word.text == "="), None)
            if parameter not in values and at is not None:
                values[parameter] = spelled(part[at + 1 :])
        return values

    def enumeration(self, found: SourceDeclaration) -> ValueType:
        """An `int`, or the type behind the colon."""
        words = self.types.words[found.begin : found.body[0] - 1 if found.body else found.end]
        for at, word in enumerate(words):
            if word.text == ":":
                return self.type_of(spelled(words[at + 1 :]))
        return ScalarType("s32")

    def alias(self, found: SourceDeclaration) -> ValueType:
        """`using A = B;` or `typedef B A;`."""
        words = self.types.words[found.begin : found.end]
        for at, word in enumerate(words):
            if word.text == "=" and "using" in found.marks:
                return self.type_of(spelled([w for w in words[at + 1 :] if w.text != ";"]))
        declared = read_declarators(words)
        if len(declared) != 1:
            raise _UnknownLayoutError
        return self.declared(declared[0])

    def structure(self, found: SourceDeclaration, name: str) -> StructType:
        """A struct, class or union with a body."""
        words, body = self.types.words, found.body
        assert body is not None
        head = words[found.begin : body[0] - 1]
        texts = [word.text for word in head]
        is_union = "union" in texts
        fields = list(self._bases(head))
        for member in found.members:
            fields += self._fields(member)
        align = max((kind.align_bytes for _, kind, _ in fields), default=1)
        asked = alignment_of(head)
        placed, end = [], 0
        for label, kind, least in fields:
            alignment = max(kind.align_bytes, least)
            align = max(align, alignment)
            start = 0 if is_union else _aligned(end, alignment)
            placed.append(StructField(label, start, kind))
            end = max(end, start + kind.size_bytes)
        if asked is not None:
            align = max(align, self._number(asked))
        size = _aligned(max(end, 1), align)
        return StructType(name, tuple(placed), size, align, is_union)

    def _bases(self, head: Sequence[Lexeme]) -> Iterator[tuple[str, ValueType, int]]:
        """Classes that a class is derived from, as fields without a name."""
        at = 0
        while at < len(head) and head[at].text != ":":
            closing = template_end(head, at) if head[at].text == "<" else -1
            at = max(at, closing) + 1
        for part in split_words(head[at + 1 :]):
            if any(word.text == "virtual" for word in part):
                raise _UnknownLayoutError
            base = self.type_of(spelled([w for w in part if w.text not in _ACCESS]))
            if not isinstance(base, StructType):
                raise _UnknownLayoutError
            if base.fields:
                yield "", base, 1

    def _fields(self, member: SourceDeclaration) -> Iterator[tuple[str, ValueType, int]]:
        """Name, type and least alignment of what a member adds to its struct."""
        words = self.types.words
        if member.kind in _FUNCTIONS:
            if "virtual" in member.marks:
                raise _UnknownLayoutError
            return
        if "static" in member.marks or "friend" in member.marks or "using" in member.marks:
            return
        if member.kind is DeclarationKind.TYPE:
            yield from self._of_inner(member)
        elif member.kind is DeclarationKind.VARIABLE:
            for found in read_declarators(words[member.begin : member.end]):
                least = self._number(found.alignment) if found.alignment else 1
                yield found.name, self.declared(found), least

    def _of_inner(self, member: SourceDeclaration) -> Iterator[tuple[str, ValueType, int]]:
        """Fields of a type that is defined where they are: `struct { int a; } b;`."""
        if member.body is None or "enum" in member.marks:
            return
        behind = [w for w in self.types.words[member.body[1] + 1 : member.end] if w.text != ";"]
        head = self.types.words[member.begin : member.body[0] - 1]
        is_anonymous = not any(
            w.kind is TokenKind.NAME and w.text not in ("struct", "class", "union") for w in head
        )
        if not behind and not is_anonymous:
            return  # only defined
        inner = self.structure(member, "")
        if not behind:
            yield "", inner, 1
        for part in split_words(behind):
            stars = sum(word.text == "*" for word in part)
            (declared,) = read_declarators([*as_words("int"), *part])
            kind: ValueType = PointerType(inner) if stars else inner
            yield declared.name, self._of_bounds(kind, declared.bounds), 1

    def _of_bounds(self, kind: ValueType, bounds: Sequence[Lexemes]) -> ValueType:
        for bound in reversed(bounds):
            kind = SequenceType(kind, self._number(bound))
        return kind

    def _number(self, words: Sequence[Lexeme]) -> int:
        """A constant of the source."""
        folded = fold(tuple(words), self._scope())
        value = folded.value
        if value is None or not math.isfinite(value) or value < 1 or value != int(value):
            raise _UnknownLayoutError
        return int(value)

    def _scope(self) -> NameScope:
        def value_of(name: str) -> tuple[Sequence[Lexeme] | None, NameScope] | None:
            if name in self.given:
                return as_words(self.given[name]), scope
            held = self.types.constants.get(name.rpartition("::")[2])
            return None if held is None else (held, scope)

        scope = NameScope(value_of, lambda _: None, lambda _: None)
        return scope


def _built_in(text: str) -> ValueType:
    """A type that no source declares."""
    if text in ELEMENT_TYPES:
        return ScalarType(ELEMENT_TYPES[text])
    if text in _HANDLES:
        return ScalarType("u64")
    if text == "dim3":
        return _vector("dim3", ScalarType("u32"), 3)
    if text in _PAIRS:
        return _vector(text, ScalarType(_PAIRS[text]), 2)
    found = _VECTOR.fullmatch(text)
    if found is None:
        raise _UnknownLayoutError
    base, count = found[1], int(found[2])
    element = _VECTOR_ELEMENTS[base.removeprefix("u")]
    return _vector(
        text, ScalarType(element.replace("s", "u") if base[0] == "u" else element), count
    )


def _vector(name: str, of: ScalarType, count: int) -> StructType:
    """`float4` and its like (CUDA C++ Programming Guide, built-in vector types)."""
    size = of.size_bytes
    align = size if count in (1, 3) else min(count * size, _MAX_VECTOR_ALIGN_BYTES)
    fields = tuple(StructField("xyzw"[at], at * size, of) for at in range(count))
    return StructType(name, fields, count * size, align)


def _aligned(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment
