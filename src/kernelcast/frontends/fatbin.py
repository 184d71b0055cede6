"""Fat binaries, alone or inside host programs and libraries: cubins and PTX for several chips.

A fat binary is a header (magic, version, header size, size of what follows) with members behind it.
A member's header holds kind (1 PTX, 2 ELF, 8 the intermediate code that a linker compiles), its own
size, the payload's size, the compressed size, the architecture, flags (bit 13: LZ4, bit 15:
Zstandard) and the size once decompressed. In a host program the fat binaries lie in the section
`.nv_fatbin`, in an object file with relocatable device code in `__nv_relfatbin`.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any

from kernelcast.errors import InputError, ToolError
from kernelcast.frontends.lz4 import CompressedDataError, decompress_block
from kernelcast.frontends.recognise import ELF_MAGIC, EM_CUDA, EXPECTED, FATBIN_MAGIC

Buffer = bytes | mmap.mmap

_SECTIONS = (b".nv_fatbin", b"__nv_relfatbin")
"""Sections of host files that hold fat binaries; the first one that is there counts."""
_ZSTD_MODULES = ("compression.zstd", "backports.zstd", "zstandard")
_ZSTD_INSTALL = "install a decompressor with: pip install 'kernelcast[zstd]'"
_MAX_MEMBER_BYTES = 1 << 31

_HEADER = struct.Struct("<4sHHQ")
_MEMBER = struct.Struct("<HHIQIIHHIIIQQQ")
_ALIGN_BYTES = 8
_LZ4, _ZSTD = 1 << 13, 1 << 15
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class MemberKind(Enum):
    """What a member is, by its number; the last is for link-time optimization."""

    PTX = 1
    CUBIN = 2
    LTO = 8


_KINDS = frozenset(kind.value for kind in MemberKind)


class Compression(Enum):
    """How a member is stored."""

    NONE = "none"
    LZ4 = "LZ4"
    ZSTD = "Zstandard"


@dataclass(frozen=True, slots=True)
class Member:
    """One cubin or text: where it lies in the file, and its size once decompressed."""

    kind: MemberKind
    architecture: str
    compression: Compression
    offset: int
    stored_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class FatBinary:
    """The members of all fat binaries of a file."""

    name: str
    members: tuple[Member, ...]
    buffer: Buffer

    @property
    def architectures(self) -> tuple[str, ...]:
        """The chips there is machine code for, oldest first."""
        return self._architectures(MemberKind.CUBIN)

    def _architectures(self, kind: MemberKind) -> tuple[str, ...]:
        return tuple(sorted({m.architecture for m in self.members if m.kind is kind}, key=_number))

    def cubins(
        self, architecture: str | None = None, progress: Callable[[float], None] | None = None
    ) -> Iterator[tuple[Member, bytes]]:
        """Cubins one after the other, of one architecture or of all.

        `progress` is told the share that was given. InputError where one is damaged, ToolError
        where its decompressor is not installed.
        """
        wanted = [
            m
            for m in self.members
            if m.kind is MemberKind.CUBIN and architecture in (None, m.architecture)
        ]
        if not wanted:
            return
        # The next one is decompressed while the caller reads this one.
        with ThreadPoolExecutor(1) as pool:
            ahead = pool.submit(self.data, wanted[0])
            for count, (member, following) in enumerate(zip_longest(wanted, wanted[1:])):
                if progress:
                    progress(count / len(wanted))
                data = ahead.result()
                if following is not None:
                    ahead = pool.submit(self.data, following)
                yield member, data

    def data(self, member: Member) -> bytes:
        """A member, decompressed."""
        stored = bytes(self.buffer[member.offset : member.offset + member.stored_bytes])
        self._forget(member)
        if member.compression is Compression.NONE:
            return stored
        try:
            if member.compression is Compression.LZ4:
                return decompress_block(stored, member.size_bytes)
            return _zstd(stored, member.size_bytes)
        except (CompressedDataError, MemoryError) as error:
            raise _damaged(self.name, str(error)) from error

    def texts_for(self, compute_capability: tuple[int, int]) -> Iterator[bytes]:
        """The PTX that can be assembled for a chip, the newest first."""
        most = 10 * compute_capability[0] + compute_capability[1]
        for member in self.texts:
            if _number(member.architecture) <= most:
                yield self.text(member)

    @property
    def texts(self) -> tuple[Member, ...]:
        """The members that are PTX, the newest first."""
        found = [m for m in self.members if m.kind is MemberKind.PTX]
        return tuple(sorted(found, key=lambda m: -_number(m.architecture)))

    def text(self, member: Member) -> bytes:
        """The PTX of a member, without the zeros at its end."""
        return self.data(member).rstrip(b"\0")

    def _forget(self, member: Member) -> None:
        """Let go of the memory in which the system keeps a part of a mapped file."""
        if isinstance(self.buffer, mmap.mmap) and hasattr(self.buffer, "madvise"):
            start = member.offset - member.offset % mmap.PAGESIZE
            end = member.offset + member.stored_bytes
            self.buffer.madvise(mmap.MADV_DONTNEED, start, end - start)

    def architecture_for(self, compute_capability: tuple[int, int]) -> str:
        """The newest code a chip runs: its own, or an older one's of the same generation.

        InputError, saying what there is, where it runs none.
        """
        major, minor = compute_capability
        wanted = 10 * major + minor
        fitting = [a for a in self.architectures if 10 * major <= _number(a) <= wanted]
        if fitting:
            return fitting[-1]
        known = f"code for {', '.join(self.architectures)}"
        if not self.architectures:
            known = f"PTX only, for {', '.join(self._architectures(MemberKind.PTX))}"
        raise InputError(
            f"no machine code for sm_{wanted}; there is {known}",
            where=self.name,
            hint="choose a GPU of one of them with --gpu",
        )


def is_container(path: str | Path) -> bool:
    """Whether a file may hold fat binaries: one itself, or a host's ELF file."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(20)
    except OSError:
        return False
    if head.startswith(FATBIN_MAGIC):
        return True
    return head.startswith(ELF_MAGIC) and int.from_bytes(head[18:20], "little") != EM_CUDA


@contextmanager
def open_fat_binary(path: str | Path) -> Iterator[FatBinary]:
    """A file's fat binaries; the file is mapped, and read where it is looked at.

    InputError where it cannot be read, is damaged or holds none.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(Path(path).open("rb"))
            buffer = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot read the file: {reason}", where=str(path)) from error
        yield read_fat_binary(buffer, name=str(path))


def read_fat_binary(buffer: Buffer, *, name: str) -> FatBinary:
    """The fat binaries in a buffer: the buffer is one, or an ELF file with some in its sections."""
    is_elf = buffer[: len(ELF_MAGIC)] == ELF_MAGIC
    regions = _elf_regions(buffer, name) if is_elf else [(0, len(buffer))]
    members = tuple(m for start, end in regions for m in _members(buffer, start, end, name))
    if not members:
        what = "an ELF file for another machine" if is_elf else "a fat binary"
        raise InputError(f"{what} without GPU code", where=name, hint=EXPECTED)
    if all(member.kind is MemberKind.LTO for member in members):
        raise _for_the_linker(members[0].architecture, name)
    return FatBinary(name, members, buffer)


def _for_the_linker(architecture: str, name: str) -> InputError:
    virtual = architecture.replace("sm_", "compute_")
    return InputError(
        "its GPU code is for link-time optimization: the linker makes kernels of it",
        where=name,
        hint=f"link it first, nvcc -dlto -arch={architecture} OBJECTS, or compile it with "
        f"-gencode arch={virtual},code={architecture}",
    )


def _members(buffer: Buffer, start: int, end: int, name: str) -> Iterator[Member]:
    at = start
    while (at := buffer.find(FATBIN_MAGIC, at, end)) >= 0:
        if (at - start) % _ALIGN_BYTES:
            at += 1
            continue
        if at + _HEADER.size > end:
            raise _damaged(name, "it ends in a header")
        _, _, header_bytes, size = _HEADER.unpack_from(buffer, at)
        member, stop = at + header_bytes, at + header_bytes + size
        if header_bytes < _HEADER.size or stop > end:
            raise _damaged(name, "it ends too early")
        while member < stop:
            if member + _MEMBER.size > stop:
                raise _damaged(name, "it ends in a member's header")
            found, member = _member(buffer, member, stop, name)
            if found is not None:
                yield found
        at = stop


def _member(buffer: Buffer, at: int, stop: int, name: str) -> tuple[Member | None, int]:
    """The member at a place, None for one of another kind, and the place behind it."""
    (kind, _, header_bytes, payload_bytes, compressed_bytes, *_, number, _, _, flags, _, size) = (
        _MEMBER.unpack_from(buffer, at)
    )
    start = at + header_bytes
    behind = start + payload_bytes
    if header_bytes < _MEMBER.size or behind > stop or compressed_bytes > payload_bytes:
        raise _damaged(name, "a member reaches past the end")
    if kind not in _KINDS:
        return None, behind
    compression = Compression.NONE
    if flags & _LZ4:
        compression = Compression.LZ4
    elif flags & _ZSTD:
        compression = Compression.ZSTD
    if size > _MAX_MEMBER_BYTES:
        raise _damaged(name, f"a member of {size} bytes")
    is_plain = compression is Compression.NONE
    member = Member(
        kind=MemberKind(kind),
        architecture=f"sm_{number}",
        compression=compression,
        offset=start,
        stored_bytes=payload_bytes if is_plain else compressed_bytes,
        size_bytes=payload_bytes if is_plain else size,
    )
    return member, behind


def _elf_regions(buffer: Buffer, name: str) -> list[tuple[int, int]]:
    """Start and end of the sections with fat binaries, of a 64-bit little-endian ELF file."""
    if buffer[4:6] != b"\x02\x01":
        raise InputError("not a 64-bit little-endian ELF file", where=name)
    try:
        (table,) = struct.unpack_from("<Q", buffer, 40)
        entry_bytes, count, names = struct.unpack_from("<HHH", buffer, 58)
        if count == 0:
            return []
        headers = [
            struct.unpack_from("<IIQQQQ", buffer, table + entry_bytes * i) for i in range(count)
        ]
        names_at = headers[names][4]
    except (struct.error, IndexError, OverflowError) as error:
        raise InputError("the ELF file is damaged or cut short", where=name) from error
    by_name: dict[bytes, list[tuple[int, int]]] = {}
    for label, _, _, _, offset, size in headers:
        start = names_at + label
        word = bytes(buffer[start : start + 32]).partition(b"\0")[0]
        by_name.setdefault(word, []).append((offset, offset + size))
    for section in _SECTIONS:
        if section in by_name:
            regions = by_name[section]
            if any(end > len(buffer) for _, end in regions):
                raise InputError("the ELF file is damaged or cut short", where=name)
            return regions
    return []


def _zstd(stored: bytes, size_bytes: int) -> bytes:
    if _zstd_content_bytes(stored) != size_bytes:
        raise CompressedDataError("not of the size announced")
    for name in _ZSTD_MODULES:
        try:
            module: Any = import_module(name)
        except ImportError:
            continue
        try:
            return bytes(module.decompress(stored))
        except module.ZstdError as error:
            raise CompressedDataError(str(error)) from error
    raise ToolError(
        "the fat binary is compressed with Zstandard, which this Python lacks", hint=_ZSTD_INSTALL
    )


def _zstd_content_bytes(stored: bytes) -> int | None:
    """The size a frame announces (RFC 8878, section 3.1.1.1); None where it announces none."""
    if len(stored) < 18 or not stored.startswith(_ZSTD_MAGIC):
        return None
    descriptor = stored[4]
    is_single = descriptor >> 5 & 1
    size_flag, dictionary_flag = descriptor >> 6, descriptor & 3
    start = 5 + (not is_single) + (0, 1, 2, 4)[dictionary_flag]
    width = (is_single, 2, 4, 8)[size_flag]
    if width == 0:
        return None
    value = int.from_bytes(stored[start : start + width], "little")
    return value + 256 if width == 2 else value


def _damaged(name: str, how: str) -> InputError:
    return InputError(f"the fat binary is damaged: {how}", where=name)


def _number(architecture: str) -> int:
    return int(architecture.removeprefix("sm_"))
