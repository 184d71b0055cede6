"""Links the code of a kernel: functions it calls, and addresses in instructions and constants.

A compiler puts a function that several kernels share into a section of its own; it goes behind the
kernel's code, as does a stand-in for a function of the system. An instruction that holds an address
names it, as in `MOV R20, 32@lo((k + .L_1))`: places in the code become numbers, and addresses of
variables, which only a launch knows, words of a constant bank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kernelcast.isas.sass.control import control_code
from kernelcast.isas.sass.flow import CALLS
from kernelcast.isas.sass.instruction import INSTRUCTION_BYTES, SassFunction, SassInstruction
from kernelcast.isas.sass.launch_state import CodeBanks
from kernelcast.isas.sass.meaning.system import SYSTEM_CALL, SYSTEM_FUNCTIONS
from kernelcast.isas.sass.operands import (
    ConstantOperand,
    IndirectOperand,
    IntegerOperand,
    LabelOperand,
    RegisterFile,
    RegisterOperand,
    SassOperand,
    SassRegister,
    SymbolOperand,
)
from kernelcast.isas.sass.reader import SassModule

ADDRESS_BANK = 0x100
"""No bank of the machine: holds the addresses of variables that instructions name."""

_SYMBOL = re.compile(r"32@(lo|hi)\(\(?([^\s()@]+)(?: \+ ([^\s()@]+))?(?:@srel)?\)?\)")
_ADDRESS_BYTES = 8
_WORD_BYTES = 4


def _stand_in(name: str, *code: tuple[str, str, tuple[SassOperand, ...]]) -> SassFunction:
    """A function of the system in its own section: opcode, modifiers and operands."""
    instructions = tuple(
        SassInstruction(
            index=at,
            address=INSTRUCTION_BYTES * at,
            guard=None,
            opcode=opcode,
            modifiers=tuple(modifiers.split()),
            operands=operands,
            encoding=0,
            control=control_code(0),
        )
        for at, (opcode, modifiers, operands) in enumerate(code)
    )
    return SassFunction(name, "", False, instructions, {}, {name: 0})


_BACK = IndirectOperand(RegisterOperand(SassRegister(RegisterFile.GENERAL, 20)), IntegerOperand(0))

_SYSTEM: Mapping[str, SassFunction] = {
    name: _stand_in(name, (SYSTEM_CALL, name, ()), ("RET", "ABS NODEC", (_BACK,)))
    for name in SYSTEM_FUNCTIONS
}
"""Functions of the system, by the calling convention: the return address is in R20 and R21,
arguments in R4 and behind it, the result in R4 and R5."""


_INSTEAD = "__cuda_syscall_"
"""How functions of the system begin whose addresses are loaded beside the instructions that do the
same: which of the two runs is decided where the code runs, and here the instructions are."""


@dataclass(frozen=True)
class LinkedCode:
    """A kernel's code with all that it calls, and its constant banks."""

    function: SassFunction
    banks: CodeBanks


def linked(
    name: str, module: SassModule, banks: CodeBanks, variables: Collection[str]
) -> LinkedCode:
    """Link a function of a module; NotFoundError where there is none of that name.

    What neither the module nor `variables` nor `_SYSTEM` has stays as it is, and has no meaning:
    functions of other files and of the system that a kernel cannot go without.
    """
    needed = [symbol for *_, symbol in banks.functions]
    function = _with_callees(module.function(name), module, needed)
    known = {*_SYSTEM, *(name for each in module.functions.values() for name in each.functions)}
    missing = {
        (b, at): name
        for b, at, name in banks.functions
        if name not in known and not name.startswith(_INSTEAD)
    }
    banks = _with_functions(banks, function)
    addresses: dict[str, int] = {}

    # A symbol is an address in this code, or that of a variable, which a bank of its own will hold.
    def resolved(operand: SassOperand) -> SassOperand:
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

    instructions = tuple(
        _without_missing(_mapped(i, resolved), function.instructions[:at], missing, function)
        for at, i in enumerate(function.instructions)
    )
    if not addresses:
        return LinkedCode(replace(function, instructions=instructions), banks)
    # The addresses are known at the launch: the bank is zeros and a list of what goes where.
    data = {**banks.data, ADDRESS_BANK: bytes(_ADDRESS_BYTES * len(addresses))}
    words = tuple((ADDRESS_BANK, at, symbol, 0) for symbol, at in addresses.items())
    return LinkedCode(
        replace(function, instructions=instructions),
        replace(banks, data=data, addresses=(*banks.addresses, *words)),
    )


def _without_missing(
    instruction: SassInstruction,
    before: Sequence[SassInstruction],
    missing: Mapping[tuple[int, int], str],
    function: SassFunction,
) -> SassInstruction:
    """An instruction that calls a missing function, or loads its address, names it, so that it has
    no meaning; others stay as they are."""
    if not instruction.operands:
        return instruction
    operand, name = instruction.operands[-1], None
    if instruction.opcode in CALLS and isinstance(operand, LabelOperand):
        is_there = operand.name in function.functions or operand.name in function.labels
        name = None if is_there else operand.name
    elif missing and instruction.opcode == "LDC" and isinstance(operand, ConstantOperand):
        offset = operand.offset or 0
        if operand.register is not None:
            offset += _last_number(operand.register, before)
        name = missing.get((operand.bank, offset)) if isinstance(operand.bank, int) else None
    if name is None:
        return instruction
    called = SymbolOperand(f"the call of {name}, which the file does not hold,")
    return replace(instruction, operands=(*instruction.operands[:-1], called))


def _last_number(register: SassRegister, before: Sequence[SassInstruction]) -> int:
    """The number that a register was last given, 0 where it was something else."""
    for instruction in reversed(before):
        target, *sources = instruction.operands or (None,)
        if isinstance(target, RegisterOperand) and target.register == register:
            number = sources[-1] if sources else None
            return number.value if isinstance(number, IntegerOperand) else 0
    return 0


def _with_functions(banks: CodeBanks, function: SassFunction) -> CodeBanks:
    """The banks with the addresses of the functions that are there."""
    data = dict(banks.data)
    for bank, offset, name in banks.functions:
        if name in function.functions:
            address = function.functions[name].to_bytes(_ADDRESS_BYTES, "little")
            end = offset + _ADDRESS_BYTES
            data[bank] = data[bank][:offset] + address + data[bank][end:]
    return replace(banks, data=data)


def _with_callees(
    function: SassFunction, module: SassModule, needed: Collection[str]
) -> SassFunction:
    """The function and, behind it, the sections of what it names or needs, and those name, in turn.

    A constant bank belongs to all kernels of the module, so what is needed by way of it counts
    only for kernels that call a function by an address.
    """
    section_of = {**_SYSTEM, **{n: s for s in module.functions.values() for n in s.functions}}
    sections = [function]
    by_address = needed if any(map(_calls_by_address, function.instructions)) else ()
    for section in sections:
        for name in (*_names(section), *by_address):
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


def _calls_by_address(instruction: SassInstruction) -> bool:
    return instruction.opcode in CALLS and not any(
        isinstance(operand, LabelOperand) for operand in instruction.operands
    )


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


def _mapped(
    instruction: SassInstruction, change: Callable[[SassOperand], SassOperand]
) -> SassInstruction:
    operands = tuple(map(change, instruction.operands))
    if operands == instruction.operands:
        return instruction
    return replace(instruction, operands=operands)
