"""The data of a cubin: variables in global memory, and the constant banks of its kernels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from kernelcast.frontends.elf import (
    FUNCTION,
    OBJECT,
    VARIABLE_OF_RELOCATABLE_CODE,
    ElfFile,
    ElfSymbol,
)
from kernelcast.ir import Space, Variable
from kernelcast.isas.sass.launch_state import CodeBanks

_GLOBAL_SECTIONS = (".nv.global", ".nv.global.init")
_ALIGN_BYTES = 256
_BANKS_OF_MODULE = (3, 4)
_BANK_OF_KERNEL = 2
_OBJECTS = (OBJECT, VARIABLE_OF_RELOCATABLE_CODE)


class CubinData:
    """What a cubin holds besides code; its table of symbols is read once."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        self.variables = tuple(self._global_variables())

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(v.name for v in self.variables)

    @cached_property
    def _of_module(self) -> list[CodeBanks | None]:
        return [self._bank(n, f".nv.constant{n}") for n in _BANKS_OF_MODULE]

    @cached_property
    def _constants(self) -> tuple[tuple[int, int, Variable], ...]:
        return tuple(self._constant_variables())

    def constant_banks(self, kernel: str) -> CodeBanks:
        """What a kernel reads from the banks behind its parameters."""
        own = self._bank(_BANK_OF_KERNEL, f".nv.constant{_BANK_OF_KERNEL}.{kernel}")
        banks = [bank for bank in (*self._of_module, own) if bank is not None]
        return CodeBanks(
            data={n: data for bank in banks for n, data in bank.data.items()},
            addresses=tuple(a for bank in banks for a in bank.addresses),
            functions=tuple(f for bank in banks for f in bank.functions),
            variables=self._constants,
        )

    def _global_variables(self) -> Iterator[Variable]:
        """The `__device__` variables of the module."""
        for name in _GLOBAL_SECTIONS:
            content = self._elf.content(name) if name in self._elf.sections else b""
            for symbol in self._objects(name):
                start, size = symbol.value, symbol.size
                initial = content[start : start + size]
                label = self._elf.symbol_name(symbol)
                yield Variable(label, Space.GLOBAL, size, _ALIGN_BYTES, initial)

    def _constant_variables(self) -> Iterator[tuple[int, int, Variable]]:
        """The `__constant__` variables of the module, each with its bank and its offset there."""
        for number in _BANKS_OF_MODULE:
            for symbol in self._objects(f".nv.constant{number}"):
                label = self._elf.symbol_name(symbol)
                variable = Variable(label, Space.CONST, symbol.size, _ALIGN_BYTES)
                yield number, symbol.value, variable

    def _objects(self, name: str) -> Iterator[ElfSymbol]:
        """The variables that a section defines."""
        section = self._elf.sections.get(name)
        if section is None:
            return
        for symbol in self._elf.symbols:
            if symbol.section == section.index and symbol.type in _OBJECTS and symbol.size:
                yield symbol

    def _bank(self, number: int, section_name: str) -> CodeBanks | None:
        """One bank; None where there is no such section."""
        if section_name not in self._elf.sections:
            return None
        addresses, functions = [], []
        for offset, symbol, addend in self._elf.relocations(section_name):
            name = self._elf.symbol_name(symbol)
            if name in self._known:
                addresses.append((number, offset, name, addend))
            elif symbol.type == FUNCTION:
                functions.append((number, offset, name))
        content = self._elf.content(section_name)
        return CodeBanks({number: content}, tuple(addresses), tuple(functions))
