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


def global_variables(elf: ELFFile) -> tuple[Variable, ...]:
    """The `__device__` variables of the module."""
    found = []
    for section_name in _GLOBAL_SECTIONS:
        section = elf.get_section_by_name(section_name)
        if section is None:
            continue
        index = elf.get_section_index(section_name)
        is_filled = section["sh_type"] != "SHT_NOBITS"
        for symbol in _objects(elf, index):
            start, size = symbol["st_value"], symbol["st_size"]
            initial = section.data()[start : start + size] if is_filled else b""
            found.append(Variable(symbol.name, Space.GLOBAL, size, _ALIGN_BYTES, initial))
    return tuple(found)


def constant_banks(elf: ELFFile, kernel: str) -> CodeBanks:
    """What a kernel reads from the banks behind its parameters."""
    names = {bank: f".nv.constant{bank}" for bank in _BANKS_OF_MODULE}
    names[_BANK_OF_KERNEL] = f".nv.constant{_BANK_OF_KERNEL}.{kernel}"
    data = {}
    addresses, functions = [], []
    known = {v.name for v in global_variables(elf)}
    for bank, name in names.items():
        section = elf.get_section_by_name(name)
        if section is None:
            continue
        data[bank] = section.data()
        for offset, symbol, addend in _relocations(elf, name):
            if symbol.name in known:
                addresses.append((bank, offset, symbol.name, addend))
            elif symbol["st_info"]["type"] == "STT_FUNC":
                functions.append((bank, offset, symbol.name))
    return CodeBanks(data, tuple(addresses), tuple(functions))


def _relocations(elf: ELFFile, section_name: str) -> Iterator[tuple[int, Any, int]]:
    """Offset, symbol and addend of the addresses that stand in a section."""
    symbols = list(_symbols(elf))
    for prefix in (".rel", ".rela"):
        section: Any = elf.get_section_by_name(prefix + section_name)
        if section is None:
            continue
        for relocation in section.iter_relocations():
            addend = relocation["r_addend"] if relocation.is_RELA() else 0
            yield relocation["r_offset"], symbols[relocation["r_info_sym"]], addend


def _symbols(elf: ELFFile) -> Iterator[Any]:
    table: Any = elf.get_section_by_name(".symtab")
    yield from table.iter_symbols()


def _objects(elf: ELFFile, section_index: int | None) -> Iterator[Any]:
    for symbol in _symbols(elf):
        is_object = symbol["st_info"]["type"] in _OBJECTS
        if is_object and symbol["st_shndx"] == section_index and symbol["st_size"]:
            yield symbol
