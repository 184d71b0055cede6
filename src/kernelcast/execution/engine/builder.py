"""Writes LLVM IR as text, a warp of 32 lanes at a time.

Text is several times faster to make than an object tree of the same module, and it is what a
reader of LLVM's manual knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.execution.engine.values import Value, element_bits, mangled, vector
from kernelcast.ir.sizes import WARP_LANES

_LANES = range(WARP_LANES)


class FunctionBuilder:
    """Lines of one function, its stack slots, what it declares and calls, and fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.functions: dict[str, str] = {}  # of the same module, by name
        self.slots: list[str] = []
        self._names = 0

    def fresh(self, stem: str = "v") -> str:
        """A name not used before, without its sigil."""
        self._names += 1
        return f"{stem}{self._names}"

    def line(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append("  " + text)

    def label(self, name: str) -> None:
        """Start a basic block."""
        self.lines.append(name + ":")

    def scalar(self, expression: str) -> str:
        """An instruction with a scalar result; returns its operand text."""
        name = "%" + self.fresh("s")
        self.lines.append(f"  {name} = {expression}")
        return name

    def slot(self, kind: str) -> str:
        """A stack slot, made once at the entry of the function."""
        name = "%" + self.fresh("slot")
        self.slots.append(f"  {name} = alloca {kind}, align 64")
        return name

    def named_slot(self, name: str, count: int, kind: str) -> str:
        """A stack slot for an array that all who use this name share."""
        slot = f"  %{name} = alloca [{count} x {kind}], align 64"
        if slot not in self.slots:
            self.slots.append(slot)
        return f"%{name}"

    def value(self, element: str, expression: str) -> Value:
        """An instruction with a lane-vector result."""
        name = "%" + self.fresh()
        self.lines.append(f"  {name} = {expression}")
        return Value(name, element)

    def call(self, function: str, result: str, arguments: Sequence[tuple[str, str]]) -> str:
        """Call an intrinsic or external function; arguments are (type, text)."""
        types = ", ".join(t for t, _ in arguments)
        self.declarations.add(f"declare {result} @{function}({types})")
        passed = ", ".join(f"{t} {text}" for t, text in arguments)
        call = f"call {result} @{function}({passed})"
        if result == "void":
            self.line(call)
            return ""
        return self.scalar(call)

    def lanewise(self, intrinsic: str, element: str, *arguments: Value) -> Value:
        """A lane-wise intrinsic whose arguments and result are warps of `element`."""
        name = f"llvm.{intrinsic}.{mangled(element)}"
        text = self.call(name, vector(element), [(vector(a.type), a.text) for a in arguments])
        return Value(text, element)

    def constant(self, element: str, number: int) -> Value:
        """The same integer, predicate or float (given as bits) in every lane."""
        if element == "i1":
            text = "splat (i1 true)" if number & 1 else "zeroinitializer"
            return Value(text, element, number & 1)
        bits = element_bits(element)
        number &= (1 << bits) - 1
        if element in ("float", "double", "half"):
            integers = f"{vector(f'i{bits}')} splat (i{bits} {number})"
            return Value(f"bitcast ({integers} to {vector(element)})", element)
        return Value(f"splat ({element} {number})", element, number)

    def lane_numbers(self, element: str = "i32") -> Value:
        """0 to 31."""
        return Value("<" + ", ".join(f"{element} {lane}" for lane in _LANES) + ">", element)

    def splat(self, scalar: str, element: str) -> Value:
        """A scalar in every lane."""
        kind = vector(element)
        one = self.scalar(f"insertelement {kind} poison, {element} {scalar}, i32 0")
        zeros = f"{vector('i32')} zeroinitializer"
        return self.value(element, f"shufflevector {kind} {one}, {kind} poison, {zeros}")

    def binary(self, operation: str, a: Value, b: Value) -> Value:
        """`add`, `fmul`, `and`, ..."""
        return self.value(a.type, f"{operation} {vector(a.type)} {a.text}, {b.text}")

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        """Integer or float comparison, by the LLVM predicate (`slt`, `oeq`, ...)."""
        operation = "fcmp" if a.type in ("float", "double", "half") else "icmp"
        return self.value("i1", f"{operation} {predicate} {vector(a.type)} {a.text}, {b.text}")

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """Lane-wise choice."""
        kind = vector(yes.type)
        return self.value(
            yes.type,
            f"select {vector('i1')} {condition.text}, {kind} {yes.text}, {kind} {no.text}",
        )

    def cast(self, operation: str, a: Value, element: str) -> Value:
        """`zext`, `trunc`, `bitcast`, `sitofp`, ..."""
        if a.type == element:
            return a
        if a.constant is not None and operation in ("zext", "trunc"):
            return self.constant(element, a.constant)
        return self.value(element, f"{operation} {vector(a.type)} {a.text} to {vector(element)}")

    def as_bits(self, a: Value) -> Value:
        """The same bits as an integer."""
        return self.cast("bitcast", a, f"i{a.bits}") if not a.type.startswith("i") else a

    def mask_of(self, predicate: Value) -> str:
        """A predicate as a scalar mask of lanes."""
        return self.scalar(f"bitcast {vector('i1')} {predicate.text} to i32")

    def predicate_of(self, mask: str) -> Value:
        """A scalar mask of lanes as a predicate."""
        return self.value("i1", f"bitcast i32 {mask} to {vector('i1')}")

    def invert(self, a: Value) -> Value:
        """Bitwise complement."""
        return self.binary("xor", a, self.constant(a.type, -1))

    def negate(self, a: Value) -> Value:
        """Two's complement."""
        return self.binary("sub", self.constant(a.type, 0), a)

    def shuffle(self, a: Value, lanes: Sequence[int]) -> Value:
        """Lane i takes lane `lanes[i]`."""
        kind = vector(a.type)
        order = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.value(
            a.type,
            f"shufflevector {kind} {a.text}, {kind} poison, {vector('i32')} <{order}>",
        )
