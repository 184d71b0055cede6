"""C types as far as kernels need them: arithmetic types, and arrays and pointers of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelcast.frontends.c.nodes import Node, kind
from kernelcast.frontends.c.refusals import RefusedError

_ELEMENTS: Mapping[str, str] = {
    "float": "f32",
    "double": "f64",
    "_Bool": "u8",
    "char": "s8",
    "signed char": "s8",
    "unsigned char": "u8",
    "short": "s16",
    "unsigned short": "u16",
    "int": "s32",
    "unsigned": "u32",
    "long": "s64",
    "unsigned long": "u64",
    "long long": "s64",
    "unsigned long long": "u64",
}
"""Element types of arrays, as launches name them, of the arithmetic types of LP64 systems."""

_WORDS = ("unsigned", "signed", "char", "short", "int", "long", "float", "double", "_Bool", "void")
_FLOATING = frozenset({"float", "double"})
"""Types that are not integers."""


@dataclass(frozen=True, slots=True)
class CType:
    """A scalar, or an array or pointer of scalars.

    `dims` are the lengths of an array as expressions, outermost first, None where C leaves one
    open: a pointer is an array of one open dimension.
    """

    scalar: str
    dims: tuple[Node | None, ...] = ()
    is_const: bool = False
    is_restrict: bool = False
    is_pointer: bool = False

    @property
    def is_array(self) -> bool:
        """Whether it has elements."""
        return bool(self.dims)

    @property
    def is_integer(self) -> bool:
        """Whether its scalars are integers."""
        return self.scalar not in _FLOATING

    @property
    def is_unsigned(self) -> bool:
        """Whether its scalars wrap below zero."""
        return self.scalar.startswith("unsigned")

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest value of an integer."""
        bits = int(self.element[1:])
        return (0, (1 << bits) - 1) if self.is_unsigned else (-1 << bits - 1, (1 << bits - 1) - 1)

    @property
    def element(self) -> str:
        """The element type, as arrays of launches name it."""
        return _ELEMENTS[self.scalar]


def type_of(node: Node, typedefs: Mapping[str, Node]) -> CType:
    """The type of a declaration; RefusedError for structures, unions, and pointers to pointers."""
    declared = node.type if kind(node) in ("Decl", "Typename", "Typedef") else node
    dims: list[Node | None] = []
    is_restrict = is_pointer = False
    while kind(declared) in ("ArrayDecl", "PtrDecl"):
        if kind(declared) == "PtrDecl":
            if dims:
                raise RefusedError(node, f"{node.name} is a pointer to pointers", "use an array")
            dims.append(None)
            is_pointer = True
            is_restrict |= "restrict" in (declared.quals or [])
        else:
            dims.append(declared.dim)
            is_restrict |= "restrict" in (declared.dim_quals or [])
        declared = declared.type
    if kind(declared) == "FuncDecl":
        raise RefusedError(node, f"{node.name} is a function or a pointer to one")
    quals = declared.quals or []
    inner = declared.type
    if kind(inner) != "IdentifierType":
        name = getattr(node, "name", "") or "the type"
        raise RefusedError(
            node, f"{name} is a structure, union or enumeration", "use arrays of numbers"
        )
    names = list(inner.names)
    if len(names) == 1 and names[0] in typedefs:
        base = type_of(typedefs[names[0]], typedefs)
        return replace(
            base,
            dims=(*dims, *base.dims),
            is_const=base.is_const or "const" in quals,
            is_restrict=is_restrict or base.is_restrict,
            is_pointer=is_pointer or base.is_pointer,
        )
    return CType(_scalar(node, names), tuple(dims), "const" in quals, is_restrict, is_pointer)


def _scalar(node: Node, names: list[str]) -> str:
    if any(name not in _WORDS for name in names):
        raise RefusedError(node, f"the type {' '.join(names)} is not known")
    if names in (["float"], ["double"], ["_Bool"], ["void"]):
        return names[0]
    if "double" in names or "float" in names or "void" in names:
        raise RefusedError(node, f"the type {' '.join(names)} has no counterpart on a GPU")
    sign = "unsigned " if "unsigned" in names else "signed " if "signed" in names else ""
    if "char" in names:
        return f"{sign}char"
    sign = sign if sign == "unsigned " else ""
    if "short" in names:
        return f"{sign}short"
    longs = names.count("long")
    if longs:
        return sign + " ".join(["long"] * longs)
    return "unsigned" if sign else "int"
