"""Instructions and their operands, the same types for every ISA."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernelcast.ir.op_class import OpClass, Space


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register; `type` as declared (`b32`, `f64`, `pred`, ...)."""

    name: str
    type: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal: an integer, or the bits of a float (`type` `f32`, `f64`, else empty)."""

    value: int
    type: str = ""

    def __str__(self) -> str:
        return str(self.value) if not self.type else f"{self.type}:{self.value:#x}"


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """A read-only register such as `%tid.x`, stored without the percent sign."""

    name: str

    def __str__(self) -> str:
        return f"%{self.name}"


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable or parameter, plus `offset` bytes."""

    name: str
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.name}+{self.offset}" if self.offset else self.name


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`; the base is a register, a symbol, or nothing (an absolute address)."""

    base: Register | Symbol | None
    offset: int = 0

    def __str__(self) -> str:
        return f"[{self.base}+{self.offset}]"


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, c, d}`, or the pair `d|p`: registers or immediates; None is the sink `_`."""

    elements: tuple[Register | Immediate | None, ...]

    def __str__(self) -> str:
        return "{" + ", ".join("_" if e is None else str(e) for e in self.elements) + "}"


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p`: the complement of a predicate register as a source."""

    register: Register

    def __str__(self) -> str:
        return f"!{self.register}"


@dataclass(frozen=True, slots=True)
class BlockRef:
    """The target of a branch: the index of a basic block of the same kernel."""

    index: int

    def __str__(self) -> str:
        return f"B{self.index}"


@dataclass(frozen=True, slots=True)
class Text:
    """An operand as the ISA's own text has it, for reading only."""

    text: str

    def __str__(self) -> str:
        return self.text


Operand = (
    Register
    | Immediate
    | SpecialRegister
    | Symbol
    | Address
    | Vector
    | Negated
    | BlockRef
    | Text
    | None
)
"""None stands for the sink `_`."""


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or `@!p`."""

    register: Register
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the user's source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


_HALF_BITS = 16


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """A product of matrices, m x k by k x n, that `warps` warps execute together.

    `element_bits` is the width of an element as the rate of the tensor cores depends on it: 8, 16,
    32 for TF32, 64.
    """

    m: int
    n: int
    k: int
    element_bits: int
    warps: int = 1

    @property
    def half_multiply_adds(self) -> float:
        """Multiply-adds of half precision that are as many bits, for each warp."""
        return self.m * self.n * self.k / self.warps * self.element_bits / _HALF_BITS


class CacheHint(StrEnum):
    """What code asks of the caches for an access to memory, beyond what they do by themselves."""

    EVERY_LEVEL = "every level"
    """To be cached at every level, also where an SM does not cache global memory by default."""
    BEYOND_L1 = "beyond L1"
    """To be cached by the L2 cache alone."""
    NO_L1_ALLOCATION = "no L1 allocation"
    """To be found in the L1 cache, and not put there."""
    LEAVES_FIRST = "leaves first"
    """To be replaced before anything else: it is likely used once."""


class MbarrierUse(StrEnum):
    """What an instruction does to a barrier in shared memory (`mbarrier` of PTX).

    `ARRIVES`: it arrives, or announces bytes; `COMPLETES`: it arrives, or brings bytes, when the
    copies that its warp has begun are done; `WAITS`: it asks whether a phase is over.
    """

    BEGINS = "begins"
    ARRIVES = "arrives"
    COMPLETES = "completes"
    WAITS = "waits"


class CompareAndSwap(StrEnum):
    """What an instruction tells of the words that it replaces if they are as expected."""

    FETCHES = "fetches"
    """What was there before."""

    TRIES = "tries"
    """Whether it has replaced its word. Of lanes on one bank of shared memory only one can."""


@dataclass(frozen=True, slots=True)
class LaneMatch:
    """A comparison of what the lanes of a warp hold, of `words` words of 32 bits.

    `finds_each` is whether it finds the lanes of each value (`match.any`), and so is the longer the
    more different ones there are; else whether all lanes hold the same (`match.all`).
    """

    words: int
    finds_each: bool


@dataclass(frozen=True, slots=True)
class Traits:
    """What an instruction is beyond its class, said by its ISA, so that others need no opcodes.

    Attributes
    ----------
    exits:
        The lanes that execute it end.
    stops:
        It ends the kernel with an error.
    sleeps:
        It suspends its warp for a time.
    reconverges:
        Lanes that have diverged wait at it for each other.
    is_indirect:
        It is a branch that goes where a register says.
    calls:
        It goes to a function, which comes back to what stands behind it in the code.
    returns:
        It goes back behind the call of the function.
    member_mask:
        The lanes of a warp that execute it together; None where each may on its own.
    is_volatile:
        What it loads may change while the kernel runs; None where the code does not tell.
    is_read_only:
        It loads from memory that nobody writes while the kernel runs.
    cache_hint:
        What it asks of the caches.
    reads_carry, writes_carry:
        It reads, or writes, the condition code, which no operand names.
    converts_wide:
        It converts from or to a type of 64 bits.
    product:
        The product of matrices it computes.
    computes:
        The class of arithmetic that it does with what it loads, where it is a load that computes.
    multiplies:
        It is a single-precision product, and nothing is added to it.
    widens:
        It is an integer product of which more than the lower 32 bits are wanted.
    adds_floats:
        It adds floating-point numbers to memory, as an atomic.
    counts_lanes:
        It adds one to words of shared memory, once for all lanes that go to the same where nobody
        reads what was there before.
    swap:
        What it tells of the words that it replaces, where it is a compare-and-swap.
    mbarrier:
        What it does to a barrier that lies in shared memory.
    indexes_constants:
        It loads constants whose place a register tells.
    is_copy:
        It loads what goes to no register of the machine but on to shared memory, while its warp
        goes on.
    match:
        The comparison of lanes that it is.
    """

    exits: bool = False
    stops: bool = False
    sleeps: bool = False
    reconverges: bool = False
    is_indirect: bool = False
    calls: bool = False
    returns: bool = False
    member_mask: Register | Immediate | None = None
    is_volatile: bool | None = False
    is_read_only: bool = False
    cache_hint: CacheHint | None = None
    reads_carry: bool = False
    writes_carry: bool = False
    converts_wide: bool = False
    product: MatrixProduct | None = None
    computes: OpClass | None = None
    multiplies: bool = False
    widens: bool = False
    adds_floats: bool = False
    counts_lanes: bool = False
    swap: CompareAndSwap | None = None
    mbarrier: MbarrierUse | None = None
    indexes_constants: bool = False
    is_copy: bool = False
    match: LaneMatch | None = None


_PLAIN = Traits()


@dataclass(frozen=True, slots=True)
class IssueControl:
    """What code that schedules itself tells the issue logic of an instruction.

    Attributes
    ----------
    result_counter, sources_counter:
        Dependence counters of the warp that it raises: one is released when its result is written,
        the other when its sources have been read. None where it raises none.
    sources_cycles:
        From its issue until its sources have been read, if nothing delays it.
    waits:
        Counters with how many of their releases may still be missing when it issues.
    yields:
        It gives way: another warp of its scheduler comes next, if one can.
    bank_reads, bank_reads_after_others:
        Registers that it reads from each bank at once, behind the instruction before it or behind
        one of another warp. Empty where it reads none, or waits until the banks are free.
    """

    result_counter: int | None = None
    sources_counter: int | None = None
    sources_cycles: float = 0.0
    waits: tuple[tuple[int, int], ...] = ()
    yields: bool = False
    bank_reads: tuple[int, ...] = ()
    bank_reads_after_others: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Instruction:
    """One static instruction of a kernel.

    `index` is its place in `Kernel.instructions` and its name in every trace and profile. `reads`
    and `writes` list the registers (guard included in `reads`) in operand order, so that an
    analysis needs no knowledge of the ISA. `access_bytes` is what one lane moves, vector elements
    included; 0 for instructions without an address. `address_reads` are the registers, among
    `reads`, that make up the address. `constant` is where in the block of parameters a constant
    lies that it names, in bytes; None where it names none. `code_offset` is where it stands in the
    machine code, in bytes; None where the ISA has no such place. `issue_cycles` are those after
    which the code itself lets the warp issue again at the earliest, and `control` what else it says
    of when to issue; None where the chip finds out itself. `traits` follow from the rest.
    """

    index: int
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    op_class: OpClass
    guard: Guard | None = None
    reads: tuple[Register, ...] = ()
    writes: tuple[Register, ...] = ()
    space: Space | None = None
    access_bytes: int = 0
    location: Location | None = None
    line: int = 0  # in the ISA's own text
    address_reads: tuple[Register, ...] = ()
    constant: int | None = None
    code_offset: int | None = None
    issue_cycles: int = 0
    control: IssueControl | None = None
    traits: Traits = _PLAIN

    @property
    def is_traced(self) -> bool:
        """Whether a trace has the addresses of its lanes: it accesses memory other than the
        parameters, or constants beside them whose place a register tells."""
        is_named = self.space is Space.PARAM and not self.traits.indexes_constants
        return self.op_class.is_memory and not is_named

    @property
    def name(self) -> str:
        """Opcode with all modifiers, as written: `ld.global.v4.f32`."""
        return ".".join((self.opcode, *self.modifiers))

    def __str__(self) -> str:
        at = f"@{'!' if self.guard.negated else ''}{self.guard.register} " if self.guard else ""
        return f"{at}{self.name} " + ", ".join("_" if o is None else str(o) for o in self.operands)
