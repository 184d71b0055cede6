"""What a file is, by its content: the suffix says nothing."""

from __future__ import annotations

import re
from enum import StrEnum

from kernelcast.errors import InputError

ELF_MAGIC = b"\x7fELF"
_ARCHIVE_MAGIC = b"!<arch>\n"
FATBIN_MAGIC = b"\x50\xed\x55\xba"
EM_CUDA = 190
_E_MACHINE = slice(18, 20)

_PTX = re.compile(r"(?>\s|//[^\n]*\n|/\*.*?\*/)*+\.version\b", re.DOTALL)
_PTX_ANYWHERE = re.compile(r"^\s*\.(?:version|target|address_size)\s", re.MULTILINE)
_LISTING = re.compile(r"^\s*/\*[0-9a-f]{4,8}\*/\s+(?:@!?U?P\w+\s+)?[A-Z][A-Z0-9_.]+", re.MULTILINE)
_WORKLOAD = re.compile(r"^\s*\[\[\s*launch\s*\]\]", re.MULTILINE)
_OF_CUDA = re.compile(r"__global__|__device__|<<<|\bcuda[A-Z_]|\.cuh\b")
_LOOPS = re.compile(r"^\s*#\s*pragma\s+kernelcast\b", re.MULTILINE)
_CUDA = re.compile(r"\b__(?:global|device)__\b|^\s*#\s*include\b", re.MULTILINE)


class FileKind(StrEnum):
    """The kinds of input a file can be."""

    CUDA = "cuda"
    PTX = "ptx"
    CUBIN = "cubin"
    SASS = "sass"
    WORKLOAD = "workload"
    C = "c"


def recognise(data: bytes, *, name: str) -> FileKind:
    """What `data` is; InputError, naming what it is instead, where it is nothing we read."""
    if data.startswith(ELF_MAGIC):
        return _recognise_elf(data, name)
    if data.startswith(FATBIN_MAGIC):
        raise InputError("a fat binary, whose code is not executed", where=name, hint=_LOOK_INSIDE)
    if not data.strip():
        raise InputError("the file is empty", where=name, hint=EXPECTED)
    if data.startswith(_ARCHIVE_MAGIC):
        raise InputError("an archive of object files", where=name, hint=f"unpack it: ar x {name}")
    if b"\0" in data:
        raise InputError("a binary file of unknown format", where=name, hint=EXPECTED)
    text = data.decode("utf-8", "replace")
    if _is_c(text, name):
        return FileKind.C
    if _PTX.match(text):
        return FileKind.PTX
    if _WORKLOAD.search(text) and not _CUDA.search(text):
        return FileKind.WORKLOAD
    if _CUDA.search(text):
        return FileKind.CUDA
    if _LISTING.search(text):
        return FileKind.SASS
    if _PTX_ANYWHERE.search(text):
        return FileKind.PTX  # the reader of PTX says what is wrong with its head
    raise InputError("no kernel found in this text", where=name, hint=EXPECTED)


def _is_c(text: str, name: str) -> bool:
    """Whether a text is C with loops rather than CUDA C++: it names nothing of the GPU, and a
    pragma says so or, since nothing else could, its file's name."""
    if _OF_CUDA.search(text) or _PTX.match(text):
        return False
    return _LOOPS.search(text) is not None or name.endswith(".c")


_LOOK_INSIDE = "see its kernels with kernelcast kernels FILE, one with kernelcast disasm FILE"
EXPECTED = "give CUDA C++ (with a __global__ function), PTX, a cubin, C loops (.c) or a workload"


def _recognise_elf(data: bytes, name: str) -> FileKind:
    if int.from_bytes(data[_E_MACHINE], "little") == EM_CUDA:
        return FileKind.CUBIN
    if b".nv_fatbin" in data:
        raise InputError(
            "a host program with GPU code inside, which is not executed",
            where=name,
            hint=_LOOK_INSIDE,
        )
    raise InputError("an ELF file for another machine, not a cubin", where=name, hint=EXPECTED)
