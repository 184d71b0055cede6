"""Values as the bytes that a kernel finds: scalars, structs with their fields, lists, pointers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from kernelcast.errors import LaunchError, NotFoundError
from kernelcast.execution.scalars import check_value, is_by_value, pack_scalar
from kernelcast.ir import (
    ELEMENT_BYTES,
    Argument,
    ArgumentList,
    Array,
    Parameter,
    PointerType,
    ScalarType,
    SequenceType,
    StructField,
    StructType,
    Structure,
    TensorMap,
    Texture,
    ValueType,
    field_label,
)

_POINTER_BYTES = 8
_BY_HAND = re.compile(r"(\w*)@(\d+)(?::(\w+))?")
_HAND_EXAMPLE = "say where each field lies and what it is, for example {n@8:s32=1024, p@0=f32[n]}"
_UNREAD = "is a struct that the source does not show, or one with bit fields or virtual functions"


class Placing(Protocol):
    """Where what pointers lead to goes."""

    def array(self, label: str, array: Array) -> int:
        """The address of an array."""
        ...

    def data(self, label: str, data: bytes) -> int:
        """The address of bytes that are put into memory."""
        ...

    def texture(self, label: str, texture: Texture) -> int:
        """What a kernel is given of a texture, whose array is placed."""
        ...

    def inline(self, array: Array) -> bytes:
        """What an array holds that stands in place of a value."""
        ...


class Nowhere:
    """Nothing is placed: for values that are only to be checked."""

    def array(self, label: str, array: Array) -> int:
        """No address."""
        return 0

    def data(self, label: str, data: bytes) -> int:
        """No address."""
        return 0

    def texture(self, label: str, texture: Texture) -> int:
        """No place."""
        return 0

    def inline(self, array: Array) -> bytes:
        """As many zeros."""
        return bytes(array.size_bytes)


def packed(
    parameter: Parameter, value: Argument, label: str, placing: Placing, *, where: str, name: str
) -> bytes:
    """The bytes of a value in a parameter, field or variable.

    `label` is what the arrays of the value are called, `name` how errors name it. Raises
    LaunchError and NotFoundError where the value does not fit.
    """
    if isinstance(value, Structure | ArgumentList):
        return _Packing(placing, where).aggregate(parameter, value, label, name)
    check_value(parameter, value, name, where)
    if isinstance(value, TensorMap):
        return value.layout(placing.array(value.of or label, value.array)).pack()
    if isinstance(value, Texture):
        return placing.texture(value.array.of or label, value).to_bytes(_POINTER_BYTES, "little")
    if not isinstance(value, Array):
        return pack_scalar(parameter, value)
    if is_by_value(parameter):
        return placing.inline(value)
    return placing.array(value.of or label, value).to_bytes(_POINTER_BYTES, "little")


class _Packing:
    """Structs and lists, and what is in them."""

    def __init__(self, placing: Placing, where: str) -> None:
        self._placing = placing
        self._where = where

    def aggregate(
        self, parameter: Parameter, value: Structure | ArgumentList, label: str, name: str
    ) -> bytes:
        """The bytes of a struct or a list, or its address where the parameter is a pointer."""
        type_ = parameter.value_type
        if parameter.is_pointer:
            data = self._pointed(value, type_, label, name)
            return self._placing.data(label, data).to_bytes(_POINTER_BYTES, "little")
        if isinstance(value, Structure):
            return self._struct(value, type_, parameter.size_bytes, label, name)
        if not isinstance(type_, SequenceType):
            raise self._error(
                f"{name} is {type_ or parameter.type}, but a list is given",
                hint="give a list for a pointer, or for a field that is an array",
            )
        return self._sequence(value, type_.of, type_.length, label, name)

    def _pointed(
        self, value: Structure | ArgumentList, to: ValueType | None, label: str, name: str
    ) -> bytes:
        """What lies behind a pointer: one struct, or values one behind the other."""
        if isinstance(value, Structure):
            return self._struct(value, to, None, label, name)
        if to is None and all(isinstance(item, Array) for item in value.items):
            to = PointerType()
        if to is None:
            raise self._error(
                f"{name} points to a type that the source does not say",
                hint="give a list of arrays, or an array",
            )
        return self._sequence(value, to, len(value.items), label, name)

    def _sequence(
        self, value: ArgumentList, of: ValueType, length: int, label: str, name: str
    ) -> bytes:
        if len(value.items) != length:
            raise self._error(
                f"{name} has {length} elements, not {len(value.items)}", hint=f"give {length}"
            )
        return b"".join(
            self._value(item, of, f"{label}[{at}]", f"{name}[{at}]")
            for at, item in enumerate(value.items)
        )

    def _value(self, value: Argument, type_: ValueType, label: str, name: str) -> bytes:
        """One field or element."""
        parameter = _as_parameter(type_, name)
        return packed(parameter, value, label, self._placing, where=self._where, name=name)

    def _struct(
        self,
        value: Structure,
        type_: ValueType | None,
        size_bytes: int | None,
        label: str,
        name: str,
    ) -> bytes:
        if any("@" in field for field, _ in value.fields):
            type_ = self._by_hand(value, size_bytes, name)
            value = Structure(
                tuple((at, v) for at, (_, v) in zip(_names(type_), value.fields, strict=True))
            )
        if not isinstance(type_, StructType):
            known = f"is {type_}, no struct" if type_ else _UNREAD
            raise self._error(f"{name} {known}", hint="" if type_ else _HAND_EXAMPLE)
        given = dict(value.fields)
        if unknown := [field for field in given if field not in set(_names(type_))]:
            where = f"{self._where}: {name}"
            raise NotFoundError(f"field of {type_}", unknown[0], list(_names(type_)), where=where)
        return self._fields(given, type_, label, name)

    def _fields(
        self, given: dict[str, Argument], type_: StructType, label: str, name: str
    ) -> bytes:
        data = bytearray(type_.size_bytes)
        filled = 0
        for field in type_.fields:
            inner = field.type
            if not field.name and isinstance(inner, StructType):  # of a base, or without a name
                own = {n: v for n, v in given.items() if n in set(_names(inner))}
                if type_.is_union and not own:
                    continue
                part = self._fields(own, inner, label, name)
            elif field.name in given:
                at = field_label(label, field.name)
                part = self._value(given[field.name], inner, at, f"{name}.{field.name}")
            elif type_.is_union:
                continue
            else:
                raise self._missing(field, type_, name)
            filled += 1
            data[field.offset_bytes : field.offset_bytes + len(part)] = part
        if type_.is_union and not filled:
            raise self._missing(type_.fields[0], type_, name)
        return bytes(data)

    def _missing(self, field: StructField, type_: StructType, name: str) -> LaunchError:
        fields = ", ".join(_names(type_))
        return self._error(
            f"{name} lacks its field {field.name}",
            hint=f"add {field.name}=...; the fields of {type_} are {fields}",
        )

    def _by_hand(self, value: Structure, size_bytes: int | None, name: str) -> StructType:
        """The struct that says itself where its fields lie."""
        fields = []
        for at, (text, given) in enumerate(value.fields):
            found = _BY_HAND.fullmatch(text)
            is_pointer = isinstance(given, Array | ArgumentList | Structure)
            if found is None or (found[3] is None) is not is_pointer:
                raise self._error(f"{text!r} of {name} does not say its place", hint=_HAND_EXAMPLE)
            if found[3] is not None and found[3] not in ELEMENT_BYTES:
                raise NotFoundError("type", found[3], ELEMENT_BYTES, where=self._where)
            type_ = PointerType() if is_pointer else ScalarType(found[3])
            fields.append(StructField(found[1] or f"@{at}", int(found[2]), type_))
        end = max(field.offset_bytes + field.type.size_bytes for field in fields)
        if size_bytes is not None and end > size_bytes:
            raise self._error(
                f"the fields of {name} end at byte {end}, but it has {size_bytes}",
                hint="check the offsets",
            )
        return StructType("", tuple(fields), size_bytes or end, 1)

    def _error(self, what: str, hint: str = "") -> LaunchError:
        return LaunchError(what, where=self._where, hint=hint)


def _names(type_: StructType) -> Iterator[str]:
    """The names of its fields, and of those of what has no name itself."""
    for field in type_.fields:
        if not field.name and isinstance(field.type, StructType):
            yield from _names(field.type)
        else:
            yield field.name


def _as_parameter(type_: ValueType, name: str) -> Parameter:
    """A parameter of such a type."""
    made = Parameter(name, "b8", type_.size_bytes, 0, name, value_type=type_)
    if isinstance(type_, ScalarType):
        return replace(made, type=type_.name)
    if isinstance(type_, PointerType):
        pointee = type_.to.name if isinstance(type_.to, ScalarType) else ""
        return replace(made, type="u64", is_pointer=True, pointee=pointee, value_type=type_.to)
    return made
