"""A kernel's parameters: where they lie, and which of them are pointers."""

from __future__ import annotations

from collections.abc import Iterable

from kernelcast.ir import Address, Instruction, Parameter, Register, Space, Symbol
from kernelcast.isas.coordinates import is_by_coordinates
from kernelcast.isas.ptx.declarations import Declaration, align_up

_POINTER_BYTES = 8


def place_parameters(
    formals: tuple[Declaration, ...], instructions: Iterable[Instruction]
) -> tuple[Parameter, ...]:
    """Offsets of a kernel's parameters: each at the next multiple of its alignment.

    A parameter is a pointer if `.ptr` says so, which compilers write only for newer targets, or if
    the kernel loads it and then uses it as an address.
    """
    used_as_address = _used_as_address(instructions)
    parameters = []
    end = 0
    for formal in formals:
        offset = align_up(end, formal.align_bytes)
        end = offset + formal.size_bytes
        is_word = formal.size_bytes == _POINTER_BYTES and not formal.is_array
        parameters.append(
            Parameter(
                name=formal.name,
                type=formal.type,
                size_bytes=formal.size_bytes,
                offset_bytes=offset,
                is_pointer=formal.is_pointer or (is_word and formal.name in used_as_address),
            )
        )
    return tuple(parameters)


def _used_as_address(instructions: Iterable[Instruction]) -> set[str]:
    """Parameters that reach a conversion of address spaces, or an access, through moves alone."""
    origin: dict[Register, str] = {}
    found: set[str] = set()
    for instruction in instructions:
        if is_by_coordinates(instruction.opcode):
            continue  # what they are given is no address
        for operand in instruction.operands:
            if isinstance(operand, Address) and isinstance(operand.base, Register):
                found.add(origin.get(operand.base, ""))
        if len(instruction.operands) != 2:
            continue
        destination, source = instruction.operands
        if not isinstance(destination, Register):
            continue
        parameter = ""
        if instruction.space is Space.PARAM and isinstance(source, Address):
            parameter = str(source.base) if isinstance(source.base, Symbol) else ""
        elif isinstance(source, Register) and instruction.opcode == "mov":
            parameter = origin.get(source, "")
        elif isinstance(source, Register) and instruction.opcode == "cvta":
            found.add(origin.get(source, ""))
        origin[destination] = parameter
    return found
