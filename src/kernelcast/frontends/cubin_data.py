"""The data of a cubin: variables in global memory, and the constant banks of its kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kernelcast.ir import Space, Variable
from kernelcast.isas.sass.launch_state import CodeBanks

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_GLOBAL_SECTIONS = (".nv.global", ".nv.global.init")
_ALIGN_BYTES = 256
_BANKS_OF_MODULE = (3, 4)
_BANK_OF_KERNEL = 2
_OBJECTS = ("STT_OBJECT", "STT_LOPROC")  # the second is how relocatable code marks variables


class CubinData:
    """What a cubin holds besides code; its table of symbols is read once."""

    def __init__(self, elf: ELFFile) -> None:
        self._elf = elf
        table: Any = elf.get_section_by_name(".symtab")
        self._symbols = tuple(table.iter_symbols())
        self.variables = tuple(self._global_variables())
        self._known = frozenset(v.name for v in self.variables)
        self._of_module = [self._bank(n, f".nv.constant{n}") for n in _BANKS_OF_MODULE]
        self.constants = tuple(self._constant_variables())

    @property
    def symbol_names(self) -> tuple[str, ...]:
        """Names in the order of the table."""
        return tuple(symbol.name for symbol in self._symbols)

    def constant_banks(self, kernel: str) -> CodeBanks:
        """What a kernel reads from the banks behind its parameters."""
        own = self._bank(_BANK_OF_KERNEL, f".nv.constant{_BANK_OF_KERNEL}.{kernel}")
        banks = [bank for bank in (*self._of_module, own) if bank is not None]
        return CodeBanks(
            data={n: data for bank in banks for n, data in bank.data.items()},
            addresses=tuple(a for bank in banks for a in bank.addresses),
            functions=tuple(f for bank in banks for f in bank.functions),
            variables=self.constants,
        )

    def _global_variables(self) -> Iterator[Variable]:
        """The `__device__` variables of the module."""
        for name in _GLOBAL_SECTIONS:
            section = self._elf.get_section_by_name(name)
            if section is None:
                continue
            index = self._elf.get_section_index(name)
            content = section.data() if section["sh_type"] != "SHT_NOBITS" else b""
            for symbol in self._symbols:
                is_object = symbol["st_info"]["type"] in _OBJECTS
                if is_object and symbol["st_shndx"] == index and symbol["st_size"]:
                    start, size = symbol["st_value"], symbol["st_size"]
                    initial = content[start : start + size]
                    yield Variable(symbol.name, Space.GLOBAL, size, _ALIGN_BYTES, initial)

    def _constant_variables(self) -> Iterator[tuple[int, int, Variable]]:
        """The `__constant__` variables of the module, each with its bank and its offset there."""
        for number in _BANKS_OF_MODULE:
            index = self._elf.get_section_index(f".nv.constant{number}")
            for symbol in self._symbols if index is not None else ():
                is_object = symbol["st_info"]["type"] in _OBJECTS
                if is_object and symbol["st_shndx"] == index and symbol["st_size"]:
                    size = symbol["st_size"]
                    variable = Variable(symbol.name, Space.CONST, size, _ALIGN_BYTES)
                    yield number, symbol["st_value"], variable

    def _bank(self, number: int, section_name: str) -> CodeBanks | None:
        """One bank; None where there is no such section."""
        section = self._elf.get_section_by_name(section_name)
        if section is None:
            return None
        addresses, functions = [], []
        for offset, symbol, addend in self._relocations(section_name):
            if symbol.name in self._known:
                addresses.append((number, offset, symbol.name, addend))
            elif symbol["st_info"]["type"] == "STT_FUNC":
                functions.append((number, offset, symbol.name))
        return CodeBanks({number: section.data()}, tuple(addresses), tuple(functions))

    def _relocations(self, section_name: str) -> Iterator[tuple[int, Any, int]]:
        """Offset, symbol and addend of the addresses that stand in a section."""
        for prefix in (".rel", ".rela"):
            section: Any = self._elf.get_section_by_name(prefix + section_name)
            if section is None:
                continue
            for relocation in section.iter_relocations():
                addend = relocation["r_addend"] if relocation.is_RELA() else 0
                yield relocation["r_offset"], self._symbols[relocation["r_info_sym"]], addend
