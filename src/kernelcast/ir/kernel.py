"""A kernel: its instructions in basic blocks, its parameters, variables and resources."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from kernelcast.ir.instruction import Instruction
from kernelcast.ir.launch import Dim3
from kernelcast.ir.op_class import Space
from kernelcast.ir.value_types import ValueType


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """Instructions `start` to `end` (exclusive), entered only at the top.

    Blocks are stored in scheduling order: where lanes of a warp wait in several blocks, the one of
    lowest index runs first, so every block stands before those that rejoin after it.
    `successors` holds block indices: the fall-through first, where there is one.
    """

    index: int
    start: int
    end: int
    successors: tuple[int, ...]


class _Labelled:
    """What has a name in the code, and mostly one in the source, its `label`."""

    __slots__ = ()
    name: str
    label: str

    @property
    def shown(self) -> str:
        """What a user calls it."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class Parameter(_Labelled):
    """A kernel parameter.

    `type` is the ISA's (`u32`, `f32`, `b8` for an aggregate of `size_bytes`); `label` is the name
    in the source where the front end knows it, else the ISA's own. `value_type` is its type, or of
    a pointer that of what it leads to, where the source shows it.
    """

    name: str
    type: str
    size_bytes: int
    offset_bytes: int
    label: str = ""
    is_pointer: bool = False
    pointee: str = ""  # element type where the source shows it, for example "f32"
    value_type: ValueType | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Variable(_Labelled):
    """A variable of the module or kernel in a state space; shared ones of size 0 are dynamic.

    `value_type` is its type where the source shows it, else a number's where the ISA does, and
    `label` the name in the source, with its scope.
    """

    name: str
    space: Space
    size_bytes: int
    align_bytes: int
    initial: bytes = b""
    value_type: ValueType | None = field(default=None, repr=False, compare=False)
    label: str = ""


@dataclass(frozen=True, slots=True)
class Resources:
    """What one thread and one block hold; None where nobody has said.

    `source` says who: the compiler's own cubin, the user, or an estimate.
    """

    registers: int | None = None
    static_shared_bytes: int = 0
    local_bytes: int = 0
    constant_bytes: int = 0
    spilled_bytes: int = 0
    named_barriers: int = 0
    max_threads_per_block: int | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class LaunchWord:
    """A word of the parameter block that the driver fills when it launches the kernel.

    `name` is a special register (`ntid.x`, `nclusterid.x`, `dynamic_smem_size`) or `shared_window`,
    `local_window`, `param_window` (64 bits each, generic addresses), `stack` (bytes of local
    memory), and the words `workspace_high` and `workspace_low` of where blocks of a cooperative
    launch meet; `addend` is added.
    """

    offset_bytes: int
    name: str
    addend: int = 0


@dataclass(frozen=True, slots=True)
class AddressWord:
    """A word of the parameter block that holds the address of a variable, plus `addend` bytes."""

    offset_bytes: int
    variable: str
    addend: int = 0


@dataclass(frozen=True, slots=True)
class BankVariable:
    """A variable in the constant banks, at its offset in the parameter block."""

    name: str
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class ConstantBanks:
    """What the parameter block of machine code holds besides the parameters.

    It is as long as `size_bytes`: constant bank 0, with the parameters at their offsets, and
    behind it the other banks. `data` pairs offsets with bytes that the code brings along;
    `variables` are those of the module that lie in them.
    """

    size_bytes: int
    data: tuple[tuple[int, bytes], ...] = ()
    launch_words: tuple[LaunchWord, ...] = ()
    addresses: tuple[AddressWord, ...] = ()
    variables: tuple[BankVariable, ...] = ()


@dataclass(frozen=True)
class Kernel(_Labelled):
    """One entry point, device functions inlined: what every later stage works on.

    `target` is the architecture the code was made for (`sm_90`), `label` the name in the source,
    `source` the user's file, and `version` that of the ISA's text.

    Executors know the instructions of PTX, but for those that amount to several others. In a kernel
    with such ones, or of another ISA, `meanings` says of each instruction what it does as PTX
    instructions, its steps, which carry its index. A step of
    opcode `unknown` stands for a result that nobody can compute yet. `constants` is what its
    parameter block holds besides the parameters, `cluster` the blocks of a cluster by axis.
    `module_variables` are all of its module in global and constant memory,
    by name, those that it does not use too.
    """

    name: str
    isa: str
    target: str
    parameters: tuple[Parameter, ...]
    instructions: tuple[Instruction, ...]
    blocks: tuple[BasicBlock, ...]
    variables: tuple[Variable, ...] = ()
    resources: Resources = field(default_factory=Resources)
    label: str = ""
    source: str = ""
    version: str = ""
    warnings: tuple[str, ...] = ()
    meanings: tuple[tuple[Instruction, ...], ...] = field(default=(), repr=False)
    constants: ConstantBanks | None = field(default=None, repr=False)
    cluster: Dim3 = (1, 1, 1)
    module_variables: tuple[Variable, ...] = field(default=(), repr=False)

    def __hash__(self) -> int:
        """Of what tells most kernels apart: they are long, and looked up before every run."""
        return hash((self.name, self.target, len(self.instructions), self.resources))

    def __str__(self) -> str:
        return (
            f"{self.shown} ({self.isa}, {self.target}): "
            f"{len(self.instructions)} instructions in {len(self.blocks)} blocks"
        )

    @property
    def cluster_blocks(self) -> int:
        """Blocks of a cluster, which run at the same time and reach each other's shared memory."""
        return math.prod(self.cluster)

    @property
    def parameter_bytes(self) -> int:
        """Size of the parameter block."""
        if self.constants is not None:
            return self.constants.size_bytes
        return max((p.offset_bytes + p.size_bytes for p in self.parameters), default=0)

    def steps(self, index: int) -> tuple[Instruction, ...]:
        """What instruction `index` does, as PTX instructions: itself, in a kernel of PTX."""
        return self.meanings[index] if self.meanings else (self.instructions[index],)
