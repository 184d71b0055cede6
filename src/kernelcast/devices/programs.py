"""What a program is: one that can run on the device, or why not."""

from __future__ import annotations

import shutil
import struct
from mmap import ACCESS_READ, mmap
from pathlib import Path

from kernelcast.errors import InputError, NotFoundError
from kernelcast.frontends.elf import ElfFile
from kernelcast.frontends.recognise import ELF_MAGIC

_SOURCE_SUFFIXES = (".cu",)
_CODE_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
_RUNTIME = "libcudart.so"


def find_program(name: str) -> Path:
    """The file of a program, looked for as a shell does. InputError where there is none."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    if Path(name).is_file():
        raise InputError("is no program", where=name, hint=f"make it one: chmod +x {name}")
    if "/" in name:
        raise InputError("no such file", where=name, hint="check the path")
    beside = [path.name for path in Path().iterdir() if path.is_file()]
    raise NotFoundError("program", name, beside)


def is_program(name: str) -> bool:
    """Whether a word names what the system can start, and not a source."""
    return not is_source(name) and shutil.which(name) is not None


def is_source(name: str) -> bool:
    """Whether a file is to be compiled first."""
    return Path(name).suffix in _SOURCE_SUFFIXES


def check_program(program: Path) -> None:
    """InputError where a program carries the vendor's runtime with it, and so cannot use ours."""
    with program.open("rb") as file:
        if file.read(4) != ELF_MAGIC:
            return
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            try:
                elf = ElfFile(data)
                has_code = any(name in elf.sections for name in _CODE_SECTIONS)
                needed = elf.needed
            except (ValueError, LookupError, struct.error) as error:
                raise InputError(
                    f"a damaged program: {error}", where=str(program), hint="build it again"
                ) from None
    if has_code and not any(name.startswith(_RUNTIME) for name in needed):
        raise InputError(
            "the program carries NVIDIA's static runtime, which runs on NVIDIA's driver alone",
            where=str(program),
            hint="link it with nvcc -cudart shared, or give its source: kernelcast run FILE.cu",
        )
