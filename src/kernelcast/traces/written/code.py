"""The listing of a written trace: instructions by basic block, and the addresses of accesses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelcast.errors import InputError, NotFoundError, ParseError
from kernelcast.ir import BasicBlock, Instruction
from kernelcast.isas.sass.early import early_instruction, is_jump
from kernelcast.traces.written.expressions import Expression
from kernelcast.traces.written.program import WrittenAccess

_MOST_INSTRUCTIONS = 1 << 16

_LABEL = re.compile(r"(\w+):")
_ACCESS = re.compile(r"\s+@\s+(.*?)(?:\s+when\s+(.*))?")


@dataclass
class CodeReader:
    """Takes the lines of a listing, one by one.

    A line is a label and a colon, or an instruction. Behind an access to global, local or shared
    memory stand ` @ ` and its address, and, if not all lanes access, ` when ` and a condition.
    """

    instructions: list[Instruction] = field(default_factory=list)
    accesses: dict[int, WrittenAccess] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def take(self, line: str, where: str) -> None:
        """One line; ParseError or NotFoundError where it is none."""
        label = _LABEL.fullmatch(line)
        if label is not None:
            self._begin(label[1], where)
            return
        text, _, _ = line.partition(" @ ")
        access = _ACCESS.fullmatch(line[len(text) :])
        index = len(self.instructions)
        if index == _MOST_INSTRUCTIONS:
            raise ParseError(f"more than {_MOST_INSTRUCTIONS} instructions", where=where)
        self._check_place(where)
        instruction = early_instruction(text, index, where)
        if (instruction.access_bytes > 0) != (access is not None):
            raise ParseError(
                f"{instruction.name} {'has no' if access is None else 'takes no'} address",
                where=where,
                hint="write ` @ ` and an address behind each access to memory, and nowhere else",
            )
        if access is not None:
            condition = Expression.read(access[2], where) if access[2] else None
            self.accesses[index] = WrittenAccess(Expression.read(access[1], where), condition)
        self.instructions.append(instruction)
        self.lines.append(where)

    def blocks(self) -> tuple[BasicBlock, ...]:
        """The basic blocks, one for each label; NotFoundError where a branch leads to no label."""
        starts = [*self.starts.values(), len(self.instructions)]
        numbers = {label: number for number, label in enumerate(self.starts)}
        return tuple(
            BasicBlock(number, starts[number], starts[number + 1], self._successors(end, numbers))
            for number, end in enumerate(starts[1:])
        )

    def _begin(self, label: str, where: str) -> None:
        if label in self.starts:
            raise ParseError(f"a second label {label!r}", where=where)
        if self.starts and list(self.starts.values())[-1] == len(self.instructions):
            raise ParseError(f"no instruction before label {label!r}", where=where)
        self.starts[label] = len(self.instructions)

    def _check_place(self, where: str) -> None:
        """Instructions stand behind a label; behind a branch there has to be a new one."""
        if not self.starts:
            raise ParseError("an instruction without a label before it", where=where)
        begins = list(self.starts.values())[-1] == len(self.instructions)
        if not begins and _leaves(self.instructions[-1]):
            raise ParseError(f"no label behind {self.instructions[-1].name}", where=where)

    def _successors(self, end: int, numbers: Mapping[str, int]) -> tuple[int, ...]:
        last = self.instructions[end - 1]
        is_last = end == len(self.instructions)
        if last.traits.exits and last.guard is None:
            return ()
        following = () if is_last else (list(self.starts.values()).index(end),)
        if not _leaves(last) or last.traits.exits:
            return following
        label = str(last.operands[-1]) if last.operands else ""
        if label not in numbers:
            raise NotFoundError("label", label, numbers, where=self.lines[end - 1])
        is_conditional = len(last.operands) > 1 or last.guard is not None
        return tuple(dict.fromkeys((*(following if is_conditional else ()), numbers[label])))


def _leaves(instruction: Instruction) -> bool:
    """Whether lanes may go elsewhere than to what stands behind it."""
    return is_jump(instruction) or instruction.traits.exits


def check_code(reader: CodeReader, where: str) -> None:
    """InputError where a listing has no instruction, or ends in the middle."""
    if not reader.instructions:
        raise InputError("no instructions", where=where, hint="write a section `code`")
    if list(reader.starts.values())[-1] == len(reader.instructions):
        raise InputError("nothing behind the last label", where=reader.lines[-1])
    last = reader.instructions[-1]
    if last.guard is not None or not _leaves(last):
        raise InputError(
            "the code ends without EXIT", where=reader.lines[-1], hint="write EXIT at its end"
        )
