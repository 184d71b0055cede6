"""Lane values of the engine, and how PTX types map to LLVM's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kernelcast.errors import UnsupportedError
from kernelcast.ir.sizes import WARP_LANES

FULL_MASK = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Value:
    """One value per lane: the text of an LLVM operand and its element type.

    `constant` is the value of every lane where it is known while lowering.
    """

    text: str
    type: str
    constant: int | None = None

    @property
    def bits(self) -> int:
        """Width of an element."""
        return element_bits(self.type)


def vector(element: str) -> str:
    """LLVM's type of a warp of `element`."""
    return f"<{WARP_LANES} x {element}>"


def mangled(element: str) -> str:
    """How intrinsics spell a warp of `element`."""
    short = {"float": "f32", "double": "f64", "half": "f16"}.get(element, element)
    return f"v{WARP_LANES}{short}"


@cache
def element_bits(element: str) -> int:
    """Width in bits of an LLVM element type."""
    named = {"float": 32, "double": 64, "half": 16}
    return named[element] if element in named else int(element[1:])


@dataclass(frozen=True, slots=True)
class PtxType:
    """A PTX scalar type: `kind` is s, u, b, f, bf or pred; packed types have `lanes` 2."""

    name: str
    kind: str
    bits: int
    lanes: int = 1

    @property
    def signed(self) -> bool:
        """Whether it is a signed integer."""
        return self.kind == "s"

    @property
    def is_float(self) -> bool:
        """Whether arithmetic on it is floating point."""
        return self.kind in ("f", "bf")

    @property
    def llvm(self) -> str:
        """The element type that carries it: halves and packed pairs travel as integers."""
        if self.kind == "pred":
            return "i1"
        if self.kind == "f" and self.lanes == 1 and self.bits >= 32:
            return {32: "float", 64: "double"}[self.bits]
        return f"i{self.bits * self.lanes}"


@cache
def ptx_type(name: str) -> PtxType:
    """Parse the name of a type: `u32`, `f16x2`, `pred`."""
    if name == "pred":
        return PtxType(name, "pred", 1)
    scalar, _, lanes = name.partition("x")
    kind = scalar.rstrip("0123456789")
    digits = scalar[len(kind) :]
    if kind not in ("s", "u", "b", "f", "bf") or not digits or lanes not in ("", "2"):
        raise UnsupportedError(f"type .{name} is not supported")
    if int(digits) > 64:
        raise UnsupportedError(f"type .{name} is not supported")
    return PtxType(name, kind, int(digits), int(lanes or 1))


def is_type(name: str) -> bool:
    """Whether a modifier names a type."""
    try:
        ptx_type(name)
    except UnsupportedError:
        return False
    return True
