"""What a cubin says of its kernels: resources, parameters, variables and constants, not the code.

A cubin is an ELF file. Its `.nv.info` sections hold attributes: a format byte, an attribute byte,
then two bytes of value, or, in format 4, a 16-bit length and as many bytes.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from kernelcast.errors import InputError
from kernelcast.frontends.cubin_data import CubinData
from kernelcast.frontends.elf import FUNCTION, ElfFile, section_names
from kernelcast.ir import Dim3, Kernel, Parameter, Resources, Space, Variable
from kernelcast.isas.sass.launch_state import CodeBanks

_SIZED_FORMAT = 4
_REGISTERS = 0x2F  # the attribute numbers, as nvdisasm and cuobjdump show them
_MIN_STACK_BYTES = 0x12
_FRAME_BYTES = 0x11
_PARAMETER = 0x17
_PARAMETER_OF_MANY = 0x45
"""A parameter of a kernel with more than 4 KiB of them."""
_PARAMETER_BLOCK = 0x0A
_MAX_THREADS = 0x05
_REQUIRED_THREADS = 0x10
_BARRIERS = 0x4C
_CLUSTER = 0x3D
_OF_MODULE = (_REGISTERS, _MIN_STACK_BYTES, _FRAME_BYTES)
"""What the module says of its functions, by their symbols."""

_PARAMETERS_OF = rb"\.nv\.constant0\."
"""Begins the name of a kernel's section of parameters, which no other function has."""

_SHARED_ALIGN_BYTES = 16
_STACK_ALIGN_BYTES = 16
_STACK_BYTES = 1024
"""Room for calls whose depth the compiler does not know: cudaLimitStackSize by default."""
_UNKNOWN_STACK = 0xFFFF_FFFF
"""What the compiler says of code that calls itself."""
_RECURSIVE = (
    f"a function calls itself; a thread has {_STACK_BYTES} B of stack for it, as "
    "cudaLimitStackSize is by default"
)

_NEW_LAYOUT_ABI = 8
_RESERVED_SHARED_FROM = 90
_RESERVED_SHARED_BYTES = 1024


@dataclass(frozen=True)
class Cubin:
    """The kernels of a cubin by mangled name, without their instructions."""

    architecture: str
    kernels: Mapping[str, Kernel]
    name: str = ""
    _data: CubinData = field(kw_only=True, repr=False, compare=False)
    _elf: ElfFile = field(kw_only=True, repr=False, compare=False)

    def constant_banks(self, kernel: str) -> CodeBanks:
        """The constant banks that a kernel reads besides its parameters.

        InputError where the file is damaged, as of `read_cubin`.
        """
        with _sound(self.name):
            banks = self._data.constant_banks(kernel)
            attributes = dict(_attributes(self._elf.content(f".nv.info.{kernel}")))
            if _PARAMETER_BLOCK not in attributes:
                return banks
            (start,) = struct.unpack_from("<H", attributes[_PARAMETER_BLOCK], 4)
            return replace(banks, parameters_at=start)

    @property
    def code_bytes(self) -> int:
        """The size of all code, that of functions that are no kernels among it."""
        code = (s for s in self._elf.sections.values() if s.name.startswith(".text."))
        return sum(section.size for section in code)

    def functions_of(self, kernel: str) -> tuple[int, ...]:
        """The numbers of the symbols of a kernel and of all functions that it may call.

        Those are what its code, and that of what it calls, names, and what its constants point to.
        """
        with _sound(self.name):
            numbers = {
                symbol.section: number
                for number, symbol in enumerate(self._elf.symbols)
                if symbol.type == FUNCTION
            }
            constants = self.constant_banks(kernel).functions
            wanted, found = [kernel, *(function for *_, function in constants)], dict[str, int]()
            while wanted:
                function = wanted.pop()
                section = self._elf.sections.get(f".text.{function}")
                if section is None or function in found or section.index not in numbers:
                    continue
                found[function] = numbers[section.index]
                wanted += [
                    self._elf.symbol_name(symbol)
                    for _, symbol, _ in self._elf.relocations(section.name)
                    if symbol.type == FUNCTION
                ]
            return tuple(sorted(found.values()))


def read_cubin(
    data: bytes, *, name: str, maker: str = "", only: Collection[str] | None = None
) -> Cubin:
    """Read the resources and parameters of every kernel, or of those whose names are in `only`.

    `maker` says who compiled it, for `Resources.source`. InputError where the file is damaged.
    """
    with _sound(name):
        return _read(ElfFile(data), name, maker, only)


@contextmanager
def _sound(name: str) -> Iterator[None]:
    """InputError in place of what damage of a file called `name` raises."""
    try:
        yield
    except (struct.error, ValueError, LookupError, OverflowError, MemoryError) as error:
        raise InputError(
            "the cubin is damaged or cut short", where=name, hint="compile it again"
        ) from error


def kernel_symbols(data: bytes, *, name: str, holding: str = "") -> tuple[str, ...]:
    """The mangled names of a cubin's kernels that hold a text; nothing else is read.

    InputError where the file is damaged, as of `read_cubin`.
    """
    with _sound(name):
        table = section_names(data)
        part = re.escape(holding.encode("utf-8", "surrogateescape"))
        found = re.findall(_PARAMETERS_OF + rb"([^\0]*" + part + rb"[^\0]*)\0", table)
        return tuple(name.decode("utf-8", "replace") for name in dict.fromkeys(found))


def _read(elf: ElfFile, name: str, maker: str, only: Collection[str] | None) -> Cubin:
    architecture = _architecture(elf)
    data = CubinData(elf)
    module: dict[int, dict[str, int]] = {}
    if ".nv.info" in elf.sections:
        for attribute, value in _attributes(elf.content(".nv.info")):
            if attribute in _OF_MODULE and len(value) == 8:
                index, number = struct.unpack("<II", value)
                module.setdefault(attribute, {})[elf.symbol_name(index)] = number
    # Functions that kernels share have sections of code too, but no parameters from the driver.
    kernels = {
        kernel: _kernel(kernel, architecture, elf, module, data.variables, name, maker)
        for kernel in (s.removeprefix(".text.") for s in elf.sections if s.startswith(".text."))
        if (only is None or kernel in only)
        and kernel in module.get(_REGISTERS, {})
        and f".nv.constant0.{kernel}" in elf.sections
    }
    return Cubin(f"sm_{architecture}", kernels, name, _data=data, _elf=elf)


def _architecture(elf: ElfFile) -> int:
    """Compute capability * 10 out of the header's flags, whose layout changed with ABI 8."""
    return elf.flags >> 8 & 0xFF if elf.abi >= _NEW_LAYOUT_ABI else elf.flags & 0xFF


def _kernel(
    kernel: str,
    architecture: int,
    elf: ElfFile,
    module: Mapping[int, Mapping[str, int]],
    variables: tuple[Variable, ...],
    name: str,
    maker: str,
) -> Kernel:
    attributes = list(_attributes(elf.content(f".nv.info.{kernel}")))
    by_kind = dict(attributes)
    threads = by_kind.get(_REQUIRED_THREADS) or by_kind.get(_MAX_THREADS)
    # The first KiB is the system's on sm_90 and later; the section counts it.
    reserved = _RESERVED_SHARED_BYTES if architecture >= _RESERVED_SHARED_FROM else 0
    # The least stack counts called functions too; where it is missing, the frame is the stack.
    stack = module.get(_MIN_STACK_BYTES, module.get(_FRAME_BYTES, {})).get(kernel, 0)
    is_recursive = stack == _UNKNOWN_STACK
    resources = Resources(
        registers=module[_REGISTERS][kernel],
        static_shared_bytes=max(0, elf.size(f".nv.shared.{kernel}") - reserved),
        local_bytes=module.get(_FRAME_BYTES, {}).get(kernel, 0) if is_recursive else stack,
        constant_bytes=elf.size(".nv.constant3") + elf.size(f".nv.constant2.{kernel}"),
        named_barriers=_barriers(by_kind, elf.sections[f".text.{kernel}"].flags),
        max_threads_per_block=_product(threads) if threads else None,
        source=f"cubin{f' by {maker}' if maker else ''} for sm_{architecture}",
    )
    return Kernel(
        name=kernel,
        isa="sass",
        target=f"sm_{architecture}",
        parameters=_parameters(kernel, attributes),
        instructions=(),
        blocks=(),
        variables=(
            *_own_memory(elf.size(f".nv.shared.{kernel}"), resources.local_bytes),
            *variables,
        ),
        resources=resources,
        source=name,
        warnings=(_RECURSIVE,) if is_recursive else (),
        cluster=_extents(by_kind[_CLUSTER]) if _CLUSTER in by_kind else (1, 1, 1),
    )


def _own_memory(shared_bytes: int, local_bytes: int) -> Iterator[Variable]:
    """Shared memory of the block, the dynamic part behind it, and the thread's stack."""
    if shared_bytes:
        yield Variable("shared", Space.SHARED, shared_bytes, _SHARED_ALIGN_BYTES)
    yield Variable("dynamic shared", Space.SHARED, 0, _SHARED_ALIGN_BYTES)
    yield Variable("stack", Space.LOCAL, _aligned(local_bytes + _STACK_BYTES), _STACK_ALIGN_BYTES)


def _aligned(size_bytes: int) -> int:
    return -(-size_bytes // _STACK_ALIGN_BYTES) * _STACK_ALIGN_BYTES


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        layout, attribute, value = struct.unpack_from("<BBH", data, at)
        at += 4
        if layout == _SIZED_FORMAT:
            if at + value > len(data):
                raise ValueError("attribute past the end of its section")
            yield attribute, data[at : at + value]
            at += value
        else:
            yield attribute, struct.pack("<H", value)


def _parameters(kernel: str, attributes: list[tuple[int, bytes]]) -> tuple[Parameter, ...]:
    """Parameters in order; an aggregate of bytes where the size is no scalar's."""
    found = []
    for attribute, value in attributes:
        if attribute == _PARAMETER:
            ordinal, offset, packed = struct.unpack_from("<HHI", value, 4)
            found.append((ordinal, offset, packed >> 18))
        elif attribute == _PARAMETER_OF_MANY:
            found.append(struct.unpack_from("<HHH", value, 4))
    return tuple(
        Parameter(
            name=f"{kernel}_param_{ordinal}",
            label=f"param_{ordinal}",
            type=f"b{size * 8}" if size in (1, 2, 4, 8) else "b8",
            size_bytes=size,
            offset_bytes=offset,
        )
        for ordinal, offset, size in sorted(found)
    )


def _barriers(by_kind: Mapping[int, bytes], text_flags: int) -> int:
    """Barriers used: an attribute in new cubins, bits of the section's flags in old ones."""
    if _BARRIERS in by_kind:
        return by_kind[_BARRIERS][0]
    return text_flags >> 20 & 0x7F


def _product(dimensions: bytes) -> int:
    return math.prod(_extents(dimensions))


def _extents(dimensions: bytes) -> Dim3:
    x, y, z = struct.unpack_from("<III", dimensions)
    return x, y, z
