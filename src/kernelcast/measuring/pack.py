"""The folder that measures a GPU by itself: compiled microbenchmarks and the runner."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernelcast.files import write_into
from kernelcast.measuring.harness import compiling, gpu_driver, gpu_state, measure, runner, worker
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvrtc import Compilation, CompileOptions, compile_cuda

SOURCES = Path(str(measure.__file__)).parent / "microbenchmarks"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
RUNNER = "measure.py"
_RUNNER_FILES = (measure, runner, worker, compiling, gpu_driver, gpu_state)
_OPTIONS = CompileOptions(line_info=False)


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
) -> tuple[Path, ...]:
    """Write the runner, sources, the code for all targets and a manifest; the files written.

    `more` holds further files by their path in the folder. Needs no GPU. InputError where the
    folder cannot be written.
    """
    files = [Path(str(module.__file__)) for module in _RUNNER_FILES]
    contents = {file.name: file.read_bytes() for file in files}
    for file in (*sorted(SOURCES.glob("*.py")), *source_files()):
        contents[f"{SOURCES.name}/{file.name}"] = file.read_bytes()
    for target in targets:
        for file in source_files():
            made = compile_benchmark(file, target, cache)
            contents[f"{target}/{file.stem}.cubin"] = made.cubin
    contents |= more or {}
    manifest = {
        "suite": measure.SUITE,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
    }
    contents["manifest.json"] = json.dumps(manifest, indent=1).encode()
    return write_into(directory, contents)
