"""The data of a cubin: variables in global memory, and the constant banks of its kernels."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcast.frontends.elf import Elf
from kernelcast.ir import Space, Variable
from kernelcast.isas.sass.launch_state import CodeBanks

_GLOBAL_SECTIONS = (".nv.global", ".nv.global.init")
_ALIGN_BYTES = 256
_BANKS_OF_MODULE = (3, 4)
_BANK_OF_KERNEL = 2
_OBJECTS = (1, 13)  # STT_OBJECT; STT_LOPROC is how relocatable code marks variables
_FUNCTION = 2  # STT_FUNC


class CubinData:
    """What a cubin holds besides code."""

    def __init__(self, elf: Elf) -> None:
        self._elf = elf
        self.variables = tuple(self._global_variables())
        self._known = frozenset(v.name for v in self.variables)
        self._of_module = [self._bank(n, f".nv.constant{n}") for n in _BANKS_OF_MODULE]

    def constant_banks(self, kernel: str) -> CodeBanks:
        """What a kernel reads from the banks behind its parameters."""
        own = self._bank(_BANK_OF_KERNEL, f".nv.constant{_BANK_OF_KERNEL}.{kernel}")
        banks = [bank for bank in (*self._of_module, own) if bank is not None]
        return CodeBanks(
            data={n: data for bank in banks for n, data in bank.data.items()},
            addresses=tuple(a for bank in banks for a in bank.addresses),
            functions=tuple(f for bank in banks for f in bank.functions),
        )

    def _global_variables(self) -> Iterator[Variable]:
        """The `__device__` variables of the module."""
        for name in _GLOBAL_SECTIONS:
            section = self._elf.sections.get(name)
            if section is None:
                continue
            for symbol in self._elf.symbols:
                size = symbol.size_bytes
                if symbol.kind in _OBJECTS and symbol.section == section.number and size:
                    initial = section.data[symbol.value : symbol.value + size]
                    yield Variable(symbol.name, Space.GLOBAL, size, _ALIGN_BYTES, initial)

    def _bank(self, number: int, section_name: str) -> CodeBanks | None:
        """One bank; None where there is no such section."""
        section = self._elf.sections.get(section_name)
        if section is None:
            return None
        addresses, functions = [], []
        for offset, symbol, addend in self._elf.relocations(section_name):
            if symbol.name in self._known:
                addresses.append((number, offset, symbol.name, addend))
            elif symbol.kind == _FUNCTION:
                functions.append((number, offset, symbol.name))
        return CodeBanks({number: section.data}, tuple(addresses), tuple(functions))
