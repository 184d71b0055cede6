"""What a cubin says of its kernels: resources, parameters, variables and constants, not the code.

A cubin is an ELF file. Its `.nv.info` sections hold attributes: a format byte, an attribute byte,
then two bytes of value, or, in format 4, a 16-bit length and as many bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from kernelcast.errors import InputError
from kernelcast.frontends.cubin_data import CubinData
from kernelcast.ir import Kernel, Parameter, Resources, Space, Variable
from kernelcast.isas.sass.launch_state import CodeBanks

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_SIZED_FORMAT = 4
_REGISTERS = 0x2F  # the attribute numbers, as nvdisasm and cuobjdump show them
_MIN_STACK_BYTES = 0x12
_FRAME_BYTES = 0x11
_PARAMETER = 0x17
_MAX_THREADS = 0x05
_REQUIRED_THREADS = 0x10
_BARRIERS = 0x4C
_CLUSTER = 0x3D

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
    """The kernels of a cubin by mangled name, without their instructions.

    `banks` are the constant banks that each of them reads besides its parameters.
    """

    architecture: str
    kernels: Mapping[str, Kernel]
    banks: Mapping[str, CodeBanks]


def read_cubin(data: bytes, *, name: str, maker: str = "") -> Cubin:
    """Read the resources and parameters of every kernel.

    `maker` says who compiled it, for `Resources.source`. InputError where the file is damaged.
    """
    from elftools.common.exceptions import ELFError
    from elftools.construct.core import ConstructError
    from elftools.elf.elffile import ELFFile

    try:
        return _read(ELFFile(BytesIO(data)), name, maker)
    except (
        *(ELFError, ConstructError, struct.error, ValueError, LookupError, TypeError),
        *(AttributeError, AssertionError, OverflowError, MemoryError, UnicodeError, OSError),
    ) as error:
        raise InputError(
            "the cubin is damaged or cut short", where=name, hint="compile it again"
        ) from error


def _read(elf: ELFFile, name: str, maker: str) -> Cubin:
    architecture = _architecture(elf)
    sections: dict[str, Any] = {section.name: section for section in elf.iter_sections()}
    _check_extents(elf)
    data = CubinData(elf)
    symbols = data.symbol_names
    module: dict[int, dict[str, int]] = {}
    if ".nv.info" in sections:
        for attribute, value in _attributes(sections[".nv.info"].data()):
            if len(value) == 8:
                index, number = struct.unpack("<II", value)
                module.setdefault(attribute, {})[symbols[index]] = number
    # Functions that kernels share have sections of code too, but no parameters from the driver.
    kernels = {
        kernel: _kernel(kernel, architecture, sections, module, data.variables, name, maker)
        for kernel in (s.removeprefix(".text.") for s in sections if s.startswith(".text."))
        if kernel in module.get(_REGISTERS, {}) and f".nv.constant0.{kernel}" in sections
    }
    banks = {kernel: data.constant_banks(kernel) for kernel in kernels}
    return Cubin(f"sm_{architecture}", kernels, banks)


def _check_extents(elf: ELFFile) -> None:
    """ValueError where a section or the program headers reach past the end of the file."""
    header = elf.header
    ends = [header["e_phoff"] + header["e_phnum"] * header["e_phentsize"]]
    ends += [
        section["sh_offset"] + section["sh_size"]
        for section in elf.iter_sections()
        if section["sh_type"] != "SHT_NOBITS"
    ]
    if max(ends) > elf.stream_len:
        raise ValueError("the file ends too early")


def _architecture(elf: ELFFile) -> int:
    """Compute capability * 10 out of the header's flags, whose layout changed with ABI 8."""
    flags = int(elf.header["e_flags"])
    is_new = elf.header["e_ident"]["EI_ABIVERSION"] >= _NEW_LAYOUT_ABI
    return flags >> 8 & 0xFF if is_new else flags & 0xFF


def _kernel(
    kernel: str,
    architecture: int,
    sections: Mapping[str, Any],
    module: Mapping[int, Mapping[str, int]],
    variables: tuple[Variable, ...],
    name: str,
    maker: str,
) -> Kernel:
    attributes = list(_attributes(sections[f".nv.info.{kernel}"].data()))
    by_kind = dict(attributes)
    threads = by_kind.get(_REQUIRED_THREADS) or by_kind.get(_MAX_THREADS)
    # The first KiB is the system's on sm_90 and later; the section counts it.
    reserved = _RESERVED_SHARED_BYTES if architecture >= _RESERVED_SHARED_FROM else 0
    # The least stack counts called functions too; where it is missing, the frame is the stack.
    stack = module.get(_MIN_STACK_BYTES, module.get(_FRAME_BYTES, {})).get(kernel, 0)
    is_recursive = stack == _UNKNOWN_STACK
    resources = Resources(
        registers=module[_REGISTERS][kernel],
        static_shared_bytes=max(0, _size(sections, f".nv.shared.{kernel}") - reserved),
        local_bytes=module.get(_FRAME_BYTES, {}).get(kernel, 0) if is_recursive else stack,
        constant_bytes=_size(sections, ".nv.constant3")
        + _size(sections, f".nv.constant2.{kernel}"),
        named_barriers=_barriers(by_kind, sections[f".text.{kernel}"]),
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
            *_own_memory(_size(sections, f".nv.shared.{kernel}"), resources.local_bytes),
            *variables,
        ),
        resources=resources,
        source=name,
        warnings=(_RECURSIVE,) if is_recursive else (),
        cluster_blocks=_product(by_kind[_CLUSTER]) if _CLUSTER in by_kind else 1,
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


def _barriers(by_kind: Mapping[int, bytes], text: Any) -> int:
    """Barriers used: an attribute in new cubins, bits of the section's flags in old ones."""
    if _BARRIERS in by_kind:
        return by_kind[_BARRIERS][0]
    return int(text["sh_flags"]) >> 20 & 0x7F


def _product(dimensions: bytes) -> int:
    x, y, z = struct.unpack_from("<III", dimensions)
    return int(x * y * z)


def _size(sections: Mapping[str, Any], name: str) -> int:
    return int(sections[name]["sh_size"]) if name in sections else 0
