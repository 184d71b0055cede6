"""The pack: one file that measures a GPU by itself, with compiled microbenchmarks and the harness.

It is a zip file that Python runs, as the standard library's zipapp makes them.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernelcast.files import write_into
from kernelcast.measuring import harness
from kernelcast.measuring.harness import compiling, measure
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvrtc import Compilation, CompileOptions, compile_cuda

_PACK = "pack.pyz"
HARNESS = Path(str(harness.__file__)).parent
SOURCES = HARNESS / measure.FOLDER
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
_OPTIONS = CompileOptions(line_info=False)
_MAIN = b"import sys\n\nfrom harness.main import main\n\nsys.exit(main())\n"


def source_files() -> tuple[Path, ...]:
    """The microbenchmarks' sources, in alphabetical order."""
    return tuple(sorted(SOURCES.glob("*.cu")))


def compile_benchmark(file: Path, target: str, cache: Cache | None = None) -> Compilation:
    """One file of microbenchmarks for one architecture."""
    return compile_cuda(
        file.read_text(encoding="utf-8"),
        name=file.name,
        architecture=compiling.COMPLETE.get(target, target),
        options=_OPTIONS,
        cache=cache,
    )


def make_pack(
    directory: Path,
    targets: Sequence[str] = TARGETS,
    cache: Cache | None = None,
    *,
    more: Mapping[str, bytes] | None = None,
) -> Path:
    """Write the pack, with the code for all targets; where it is.

    `more` holds further files by their path in the pack. Needs no GPU. InputError where the folder
    cannot be written.
    """
    contents = {"__main__.py": _MAIN}
    for file in sorted(HARNESS.rglob("*.py")):
        contents[f"harness/{file.relative_to(HARNESS).as_posix()}"] = file.read_bytes()
    for file in source_files():
        contents[f"{measure.FOLDER}/{file.name}"] = file.read_bytes()
        for target in targets:
            cubin = compile_benchmark(file, target, cache).cubin
            contents[f"{measure.FOLDER}/{target}/{file.stem}.cubin"] = cubin
    (path,) = write_into(directory, {_PACK: zipped({**contents, **(more or {})})})
    return path


def zipped(contents: Mapping[str, bytes]) -> bytes:
    """A zip file; the same for the same contents."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in contents.items():
            # The date that a ZipInfo has without one is 1980.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return data.getvalue()
