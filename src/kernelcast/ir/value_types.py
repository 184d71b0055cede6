"""Types of values as they lie in memory: scalars, pointers, arrays and structs."""

from __future__ import annotations

from dataclasses import dataclass

from kernelcast.ir.launch import ELEMENT_BYTES

_POINTER_BYTES = 8


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number: `name` is the type of an array's elements, such as `f32`."""

    name: str

    @property
    def size_bytes(self) -> int:
        """Size in memory."""
        return ELEMENT_BYTES[self.name]

    @property
    def align_bytes(self) -> int:
        """What its address is a multiple of."""
        return self.size_bytes

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class PointerType:
    """A pointer; `to` is None where nobody knows what it leads to."""

    to: ValueType | None = None

    @property
    def size_bytes(self) -> int:
        """Size in memory."""
        return _POINTER_BYTES

    @property
    def align_bytes(self) -> int:
        """What its address is a multiple of."""
        return _POINTER_BYTES

    def __str__(self) -> str:
        return f"{'void' if self.to is None else self.to}*"


@dataclass(frozen=True, slots=True)
class SequenceType:
    """So many values of one type, one behind the other."""

    of: ValueType
    length: int

    @property
    def size_bytes(self) -> int:
        """Size in memory."""
        return self.of.size_bytes * self.length

    @property
    def align_bytes(self) -> int:
        """What its address is a multiple of."""
        return self.of.align_bytes

    def __str__(self) -> str:
        return f"{self.of}[{self.length}]"


@dataclass(frozen=True, slots=True)
class StructField:
    """A field of a struct, and how many bytes behind its start."""

    name: str
    offset_bytes: int
    type: ValueType


@dataclass(frozen=True, slots=True)
class StructType:
    """A struct; of a union, whose fields lie at one place, only some are given."""

    name: str
    fields: tuple[StructField, ...]
    size_bytes: int
    align_bytes: int
    is_union: bool = False

    def __str__(self) -> str:
        return self.name or "struct"


ValueType = ScalarType | PointerType | SequenceType | StructType
