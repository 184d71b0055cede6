"""Writes down what one SASS instruction does, step by step, in PTX instructions.

A meaning is a function that takes a `SassLift`, reads operands off it, and adds steps to it. SASS
registers are PTX registers of the same name: `R0` and `UR0` of type b32, `P0` and `UP0` of type
pred. A uniform register has a value per lane like any other, the same in all lanes that the
compiler made read it. Values of several registers are packed and unpacked by `mov.b64`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from kernelcast.ir import Address, Guard, Immediate, Operand, Register, Vector
from kernelcast.isas.masks import ALL_LANES
from kernelcast.isas.ptx.opcodes import TYPE_BYTES
from kernelcast.isas.ptx.steps import Steps
from kernelcast.isas.ptx.traits import INDEXED
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.instruction import SassFunction, SassInstruction

_SIGN_BIT = {"b16": 0x8000, "b32": 0x8000_0000, "b64": 1 << 63}
_WORD = (1 << 32) - 1
GROUP = Register("WARPSYNC.GROUP", "b32")
"""The lanes that go on together behind `WARPSYNC.EXCLUSIVE`."""

_GROUPS_END = frozenset({"WARPSYNC", "BSYNC", "BRA", "BRX", "CALL", "RET", "EXIT"})
_WITHOUT_EFFECT = {"reuse"}
"""Suffixes of an operand that say nothing about its value."""


class UnknownMeaningError(Exception):
    """This form of the instruction has no meaning here; the text says which part of it."""


@dataclass(frozen=True)
class LiftContext:
    """What the instructions of a kernel share.

    `banks` says where each constant bank begins in the parameter block, `block_at` which basic
    block begins at an address, `returns` to which addresses functions return, and `cluster_blocks`
    how many blocks a cluster has.
    """

    function: SassFunction
    architecture: int
    banks: Mapping[int, int]
    block_at: Mapping[int, int]
    returns: tuple[int, ...]
    cluster_blocks: int = 1


class SassLift(Steps):
    """The steps of one instruction of machine code as they are written.

    Attributes
    ----------
    native:
        The instruction itself.
    operands:
        Its operands that have not been taken yet.
    code:
        What it shares with the other instructions of the kernel.
    """

    def __init__(self, native: SassInstruction, index: int, code: LiftContext) -> None:
        super().__init__(index, None, native.line, native.location)
        self.native = native
        self.code = code
        self.operands = list(native.operands)
        self.guard = self._guard()

    def has(self, *modifiers: str) -> bool:
        """Whether the instruction has one of the modifiers."""
        return any(m in self.native.modifiers for m in modifiers)

    def only(self, *modifiers: str) -> None:
        """Refuse every modifier but these."""
        for modifier in self.native.modifiers:
            if modifier not in modifiers:
                raise self.refuse(f"modifier .{modifier}")

    def refuse(self, what: str = "this form") -> UnknownMeaningError:
        """The error for a form that has no meaning here."""
        return UnknownMeaningError(what)

    # Operands, in the order in which they are printed.

    def take(self) -> sass.SassOperand:
        """The next operand."""
        if not self.operands:
            raise self.refuse("a missing operand")
        return self.operands.pop(0)

    def done(self) -> None:
        """Refuse operands that have not been taken."""
        if self.operands:
            raise self.refuse(f"operand {self.operands[0]}")

    def takes_predicate(self, *, inverted: bool = True) -> bool:
        """Whether the next operand is a predicate; `inverted` allows `!P0` as well."""
        operand = self.operands[0] if self.operands else None
        return _is_predicate(operand) and (inverted or not operand.is_inverted)

    def take_predicates(self) -> list[sass.SassOperand]:
        """The next operands as far as they are predicates to be written: `P0`, `PT`."""
        taken = []
        while self.takes_predicate(inverted=False):
            taken.append(self.take())
        return taken

    def members(self) -> Operand:
        """Which lanes exchange values: all active ones, or behind `WARPSYNC.EXCLUSIVE` those of the
        group."""
        before = reversed(self.code.function.instructions[: self.native.index])
        last = next((i for i in before if i.opcode in _GROUPS_END), None)
        is_group = last is not None and last.opcode == "WARPSYNC" and "EXCLUSIVE" in last.modifiers
        return GROUP if is_group else ALL_LANES

    # Values. Each reads an operand with its sign, bars and complement.

    def b32(self, operand: sass.SassOperand) -> Operand:
        """32 bits, as they are; an operand with a decoration is refused."""
        if isinstance(operand, sass.RegisterOperand | sass.ConstantOperand) and (
            operand.decoration.prefix or operand.decoration.is_absolute
        ):
            raise self.refuse(f"operand {operand}")
        return self._word(operand)

    def u32(self, operand: sass.SassOperand) -> Operand:
        """A 32-bit integer: `-x` is the two's complement, `~x` the one's, `|x|` the magnitude."""
        return self._integer(operand, self._word(operand), "32")

    def u64(self, operand: sass.SassOperand, *, signed: bool = True) -> Operand:
        """A 64-bit integer: a pair of registers, two words of a constant bank, or an immediate,
        extended by its sign or by zeros."""
        if isinstance(operand, sass.IntegerOperand):
            value = operand.value
            return Immediate(value if signed else value & _WORD)
        return self._integer(operand, self._pair(operand), "64")

    def f32(self, operand: sass.SassOperand) -> Operand:
        """A single-precision number."""
        if isinstance(operand, sass.FloatOperand | sass.IntegerOperand):
            return Immediate(self._encoded_word())
        return self._float(operand, self._word(operand), "b32")

    def f64(self, operand: sass.SassOperand) -> Operand:
        """A double-precision number; an immediate is the high word of one."""
        if isinstance(operand, sass.FloatOperand | sass.IntegerOperand):
            return Immediate(self._encoded_word() << 32)
        return self._float(operand, self._pair(operand), "b64")

    def predicate(self, operand: sass.SassOperand) -> Operand:
        """A predicate, complemented where it is written with `!`."""
        if not _is_predicate(operand):
            raise self.refuse(f"operand {operand}")
        register = ir_register(operand.register)
        if register is None:
            return Immediate(0 if operand.is_inverted else 1)
        return self.let("not.pred", register) if operand.is_inverted else register

    # Steps.

    def set(self, target: sass.SassOperand, name: str, *sources: Operand) -> None:
        """Add a step that computes 32 bits, or a predicate, straight into a destination."""
        register = self.destination(target)
        if register is not None:
            self.do(name, register, *sources, guard=self.guard)

    def write(self, target: sass.SassOperand, value: Operand) -> None:
        """Write 32 bits, or a predicate, to a destination."""
        register = self.destination(target)
        if register is not None:
            self.do(f"mov.{register.type}", register, value, guard=self.guard)

    def write64(self, target: sass.SassOperand, value: Operand) -> None:
        """Write 64 bits to a pair of registers."""
        pair = self.words(target, 2)
        if pair is not None:
            self.do("mov.b64", Vector(pair), value, guard=self.guard)

    def destination(self, target: sass.SassOperand) -> Register | None:
        """The register that is written; None for RZ and PT."""
        if not isinstance(target, sass.RegisterOperand) or target.decoration.prefix:
            raise self.refuse(f"destination {target}")
        return ir_register(target.register)

    def words(self, target: sass.SassOperand, count: int) -> tuple[Register, ...] | None:
        """`count` consecutive registers; None for RZ."""
        if not isinstance(target, sass.RegisterOperand):
            raise self.refuse(f"operand {target}")
        return consecutive(target.register, count)

    def pack(self, words: Sequence[Operand]) -> Register:
        """Two 32-bit values as one of 64 bits, the first one lowest."""
        parts = tuple(self._as_register(w) for w in words)
        return self.let("mov.b64", Vector(parts))

    def constant(self, operand: sass.ConstantOperand, type: str) -> Register:
        """What stands in a constant bank, as a `type` of PTX."""
        target = self.temporary(f"b{8 * TYPE_BYTES[type]}")
        self.load_constant(operand, type, target)
        return target

    def load_constant(
        self, operand: sass.ConstantOperand, type: str, target: Register | Vector
    ) -> None:
        """Load a word, or a vector, of a constant bank."""
        address = self.constant_address(operand)
        if address.base is None:
            self.do(f"ld.param.{type}", target, address)
        else:
            # Lanes that take no part may hold any index.
            self.do(f"ld.param.{INDEXED}.{type}", target, address, guard=self.guard)

    def constant_address(self, operand: sass.ConstantOperand) -> Address:
        """Where in the parameter block a constant lies."""
        if not isinstance(operand.bank, int) or operand.bank not in self.code.banks:
            raise self.refuse(f"constant {operand}")
        base = self.code.banks[operand.bank]
        register = operand.register and ir_register(operand.register)
        if not register:
            return Address(None, base + (operand.offset or 0))
        if operand.offset:
            # Offsets of 32 bits wrap around.
            register = self.let("add.u32", register, Immediate(operand.offset))
        return Address(register, base)

    def _guard(self) -> Guard | None:
        written = self.native.guard
        if written is None:
            return None
        register = ir_register(written.register)
        if register is None:
            if not written.is_inverted:
                return None
            return Guard(self.let("mov.pred", Immediate(0)))
        if any(
            isinstance(o, sass.RegisterOperand) and o.register == written.register
            for o in self.native.operands
        ):
            # The instruction may write its own guard, which holds for all its steps.
            register = self.let("mov.pred", register)
        return Guard(register, written.is_inverted)

    def _word(self, operand: sass.SassOperand) -> Operand:
        match operand:
            case sass.RegisterOperand(register):
                return ir_register(register) or Immediate(0)
            case sass.IntegerOperand(value):
                return Immediate(value & _WORD)
            case sass.FloatOperand():
                return Immediate(self._encoded_word())
            case sass.ConstantOperand():
                return self.constant(operand, "b32")
        raise self.refuse(f"operand {operand}")

    def _pair(self, operand: sass.SassOperand) -> Operand:
        if isinstance(operand, sass.ConstantOperand):
            return self.constant(operand, "b64")
        words = self.words(operand, 2)
        return Immediate(0) if words is None else self.pack(words)

    def _integer(self, operand: sass.SassOperand, value: Operand, bits: str) -> Operand:
        if not isinstance(operand, sass.RegisterOperand | sass.ConstantOperand):
            return value
        if set(operand.decoration.suffixes) - _WITHOUT_EFFECT:
            raise self.refuse(f"operand {operand}")
        if operand.decoration.is_absolute:
            value = self.let(f"abs.s{bits}", value)
        match operand.decoration.prefix:
            case "-":
                return self.let(f"neg.s{bits}", value)
            case "~":
                return self.let(f"not.b{bits}", value)
        return value

    def _float(self, operand: sass.SassOperand, value: Operand, type: str) -> Operand:
        """Bars and sign are operations on the sign bit."""
        assert isinstance(operand, sass.RegisterOperand | sass.ConstantOperand)
        sign = _SIGN_BIT[type]
        if operand.decoration.is_absolute:
            value = self.let(f"and.{type}", value, Immediate(sign - 1))
        if operand.decoration.prefix == "-":
            value = self.let(f"xor.{type}", value, Immediate(sign))
        return value

    def _encoded_word(self) -> int:
        """The 32-bit immediate in the encoding: floats are printed in decimal, rounded."""
        return self.native.encoding >> 32 & _WORD

    def _as_register(self, value: Operand) -> Register | Immediate:
        assert isinstance(value, Register | Immediate)
        return value


def _is_predicate(operand: sass.SassOperand | None) -> TypeGuard[sass.RegisterOperand]:
    """Whether an operand is a predicate register, PT and UPT among them."""
    return isinstance(operand, sass.RegisterOperand) and operand.register.file.is_predicate


def ir_register(register: sass.SassRegister) -> Register | None:
    """The register as one of PTX; None for RZ, PT and the like."""
    if register.number is None:
        return None
    return Register(str(register), "pred" if register.file.is_predicate else "b32")


def consecutive(register: sass.SassRegister, count: int) -> tuple[Register, ...] | None:
    """`count` registers from one on; None for RZ."""
    if register.number is None:
        return None
    return tuple(
        Register(f"{register.file}{register.number + word}", "b32") for word in range(count)
    )
