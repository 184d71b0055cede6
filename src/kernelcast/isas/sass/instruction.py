"""A SASS function: instructions with their places, control codes and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelcast.ir import Location
from kernelcast.isas.sass.control import ControlCode
from kernelcast.isas.sass.operands import RegisterOperand, SassOperand

INSTRUCTION_BYTES = 16
"""Of machine code since Volta."""


@dataclass(frozen=True, slots=True)
class SassInstruction:
    """One instruction.

    `index` is its place in the function and `address` its offset in the section, in bytes.
    `location` is the place in the user's source and `ptx_line` the line of the PTX it was made
    from, None where the cubin has no such information. `notes` holds nvdisasm's remarks, such as
    `SpillRefill`; `line` is the line of the listing.
    """

    index: int
    address: int
    guard: RegisterOperand | None
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[SassOperand, ...]
    encoding: int
    control: ControlCode
    location: Location | None = None
    ptx_line: int | None = None
    notes: tuple[str, ...] = ()
    line: int = 0

    @property
    def name(self) -> str:
        """Opcode with all modifiers, as written: `LDG.E.64.CONSTANT`."""
        return ".".join((self.opcode, *self.modifiers))

    def __str__(self) -> str:
        words = [f"@{self.guard}"] if self.guard else []
        words.append(self.name)
        if self.operands:
            words.append(", ".join(map(str, self.operands)))
        words += [f'(*"{note}"*)' for note in self.notes]
        return " ".join(words)


@dataclass(frozen=True)
class SassFunction:
    """The code of one section: a kernel with the functions it calls, or a device function.

    `labels` maps labels, and `functions` the functions that begin in the section, to addresses.
    """

    name: str
    target: str
    is_kernel: bool
    instructions: tuple[SassInstruction, ...]
    labels: Mapping[str, int]
    functions: Mapping[str, int]

    def __str__(self) -> str:
        return f"{self.name} (sass, {self.target}): {len(self.instructions)} instructions"
