"""Links the code of a kernel: functions of other sections, and addresses in instructions.

A compiler puts a function that several kernels share into a section of its own; it goes behind the
kernel's code. An instruction that holds an address names it, as in `MOV R20, 32@lo((k + .L_1))`:
places in the code become numbers, and addresses of variables, which only a launch knows, words of
a constant bank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from kernelcast.isas.sass.instruction import INSTRUCTION_BYTES, SassFunction, SassInstruction
from kernelcast.isas.sass.launch_state import CodeBanks
from kernelcast.isas.sass.operands import (
    ConstantOperand,
    IntegerOperand,
    LabelOperand,
    Operand,
    SymbolOperand,
)
from kernelcast.isas.sass.reader import SassModule

ADDRESS_BANK = 0x100
"""No bank of the machine: holds the addresses of variables that instructions name."""

_SYMBOL = re.compile(r"32@(lo|hi)\(\(?([^\s()@]+)(?: \+ ([^\s()@]+))?(?:@srel)?\)?\)")
_ADDRESS_BYTES = 8
_WORD_BYTES = 4


@dataclass(frozen=True)
class LinkedCode:
    """A kernel's code with all that it calls, and its constant banks."""

    function: SassFunction
    banks: CodeBanks


def linked(
    name: str, module: SassModule, banks: CodeBanks, variables: Collection[str]
) -> LinkedCode:
    """Link a function of a module; NotFoundError where there is none of that name.

    What neither the module nor `variables` has stays as it is: functions of the system, which are
    called outside, and symbols, which have no meaning.
    """
    function = _with_callees(module.function(name), module)
    addresses: dict[str, int] = {}

    def resolved(operand: Operand) -> Operand:
        found = isinstance(operand, SymbolOperand) and _SYMBOL.fullmatch(operand.text)
        if not found:
            return operand
        half, symbol, offset = found.groups()
        if symbol in function.functions:
            place = _place(function, symbol, offset)
            return operand if place is None else IntegerOperand(place if half == "lo" else 0)
        if symbol not in variables or offset is not None:
            return operand
        at = addresses.setdefault(symbol, _ADDRESS_BYTES * len(addresses))
        return ConstantOperand(ADDRESS_BANK, None, at + (0 if half == "lo" else _WORD_BYTES))

    instructions = tuple(_mapped(i, resolved) for i in function.instructions)
    if not addresses:
        return LinkedCode(replace(function, instructions=instructions), banks)
    data = {**banks.data, ADDRESS_BANK: bytes(_ADDRESS_BYTES * len(addresses))}
    words = tuple((ADDRESS_BANK, at, symbol, 0) for symbol, at in addresses.items())
    return LinkedCode(
        replace(function, instructions=instructions),
        CodeBanks(data, (*banks.addresses, *words)),
    )


def _with_callees(function: SassFunction, module: SassModule) -> SassFunction:
    """The function and, behind it, the sections of all that it names, and those name, in turn."""
    section_of = {name: s for s in module.functions.values() for name in s.functions}
    sections = [function]
    for section in sections:
        for name in _names(section):
            found = section_of.get(name)
            if found is not None and found not in sections:
                sections.append(found)
    if len(sections) == 1:
        return function
    instructions: list[SassInstruction] = []
    labels: dict[str, int] = {}
    functions: dict[str, int] = {}
    for section in sections:
        base = INSTRUCTION_BYTES * len(instructions)
        labels |= {name: base + at for name, at in section.labels.items()}
        functions |= {name: base + at for name, at in section.functions.items()}
        instructions += [
            replace(i, index=len(instructions) + at, address=base + i.address)
            for at, i in enumerate(section.instructions)
        ]
    return replace(function, instructions=tuple(instructions), labels=labels, functions=functions)


def _names(function: SassFunction) -> Iterator[str]:
    """What its operands name, labels among them."""
    for instruction in function.instructions:
        for operand in instruction.operands:
            if isinstance(operand, LabelOperand):
                yield operand.name
            elif isinstance(operand, SymbolOperand) and (found := _SYMBOL.fullmatch(operand.text)):
                yield found[2]


def _place(function: SassFunction, name: str, offset: str | None) -> int | None:
    """The address of a label in a function, or so many bytes behind the function's start."""
    start = function.functions[name]
    if offset is None:
        return start
    if offset in function.labels:
        return function.labels[offset]
    return start + int(offset, 16) if re.fullmatch(r"0x[0-9a-f]+", offset) else None


def _mapped(instruction: SassInstruction, change: Callable[[Operand], Operand]) -> SassInstruction:
    operands = tuple(map(change, instruction.operands))
    if operands == instruction.operands:
        return instruction
    return replace(instruction, operands=operands)
