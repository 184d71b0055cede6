"""What a program is: one that can run on the device, or why not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from kernelcast.errors import InputError, NotFoundError
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
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    with program.open("rb") as file:
        if file.read(4) != ELF_MAGIC:
            return
        file.seek(0)
        try:
            elf: Any = ELFFile(file)
            has_code = any(elf.get_section_by_name(name) for name in _CODE_SECTIONS)
            needed = _needed(elf)
        except ELFError as error:
            raise InputError(
                "a damaged program", where=str(program), hint="build it again"
            ) from error
    if has_code and not any(name.startswith(_RUNTIME) for name in needed):
        raise InputError(
            "the program carries NVIDIA's static runtime, which runs on NVIDIA's driver alone",
            where=str(program),
            hint="link it with nvcc -cudart shared, or give its source: kernelcast run FILE.cu",
        )


def _needed(elf: Any) -> list[str]:
    """The shared libraries that a program asks for."""
    dynamic = elf.get_section_by_name(".dynamic")
    if dynamic is None:
        return []
    return [tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
