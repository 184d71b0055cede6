"""CUDA C++ programs, host code and all, with nvcc from its PyPI wheels and a host compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache as once
from functools import partial
from pathlib import Path

from kernelcast.errors import CompileError, InputError, ToolError
from kernelcast.processes import captured
from kernelcast.toolchain.cache import Cache, content_key
from kernelcast.toolchain.diagnostics import (
    asks_for_older_names,
    asks_for_one_chip,
    has_texture_reference,
    program_hint,
)
from kernelcast.toolchain.includes import include_fingerprint
from kernelcast.toolchain.nvrtc import Compilation, is_of_version, kept_compilation
from kernelcast.toolchain.wheels import find_in_wheels, wheel_versions

_NEWEST = "cu*/bin/nvcc"
_OLDER = "cuda_nvcc/bin/nvcc"  # where the wheels of CUDA 12 put it
_HEADERS = ("cuda_runtime/include", "cuda_cccl/include", "cuda_nvcc/include")
CHOSEN = "KERNELCAST_NVCC"
"""The variable that names an nvcc."""
_UNSET = f"let {CHOSEN} name one, or unset it"
_INSTALL = "install it with: pip install 'kernelcast[run]'"
_RUN_WITH_TEXTURES = "run the program, which binds its texture references: kernelcast run FILE.cu"
_INSTALL_HOST = "install one, for example: apt install g++"
_HOSTS = ("g++", "c++", "clang++")
_SIGNS = ("error:", "fatal", "undefined reference", "cannot find", ": error")
"""What marks the line of a log that says what is wrong."""
_FIRST_ALONE = 90
"""The first chip with instructions that no later one has, `sm_90a`."""
_OLDER_NAMES = Path(__file__).with_name("older_names.h")
_OLDER_TEXTURES = Path(__file__).with_name("older_textures.h")
_SAMPLES = Path(__file__).with_name("samples")
"""Headers by the names of those that NVIDIA's samples bring, for programs that lack them."""
_WANTED_BY_NVCC = ("cu*/nvvm/bin/cicc", "cuda_nvcc/nvvm/bin/cicc")


@dataclass(frozen=True)
class ProgramOptions:
    """How a program is compiled.

    `sources` are its files beside the first, `all_as_cuda` takes all of them for CUDA C++ whatever
    they are called, and `further` goes to nvcc as it is.
    """

    defines: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    std: str | None = None
    further: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
    all_as_cuda: bool = False


def find_nvcc() -> Path:
    """The nvcc that `$KERNELCAST_NVCC` names, else the one installed, the newest where there are
    several; ToolError where there is none."""
    if chosen := os.environ.get(CHOSEN):
        if found_at := shutil.which(chosen):
            return Path(found_at)
        raise ToolError("there is no nvcc to execute", where=f"{CHOSEN}={chosen}", hint=_UNSET)
    found = (*reversed(find_in_wheels(_NEWEST)), *find_in_wheels(_OLDER))
    if found and find_in_wheels(*_WANTED_BY_NVCC):
        return found[0]
    if on_path := shutil.which("nvcc"):
        return Path(on_path)
    raise ToolError("nvcc, which compiles CUDA programs, is not installed", hint=_INSTALL)


def find_host_compiler() -> str:
    """The C++ compiler for host code; ToolError where there is none."""
    for name in _HOSTS:
        if found := shutil.which(name):
            return found
    raise ToolError("no C++ compiler for the program's host code", hint=_INSTALL_HOST)


@once
def _targets(nvcc: Path) -> tuple[int, ...]:
    """The chips that an nvcc makes machine code for, as 10 times their compute capability."""
    listed = _output([str(nvcc), "--list-gpu-code"])
    numbers = (word.removeprefix("sm_") for word in listed.split() if word.startswith("sm_"))
    return tuple(sorted(int(number) for number in numbers if number.isdigit()))


def _runtime_version(nvcc: Path) -> int:
    """The major version of the runtime that programs of an nvcc ask for."""
    return _version_numbers(nvcc)[0]


def _version_numbers(nvcc: Path) -> tuple[int, int]:
    major, minor = _version(nvcc).split(".")[:2]
    return int(major), int(minor)


@once
def _version(nvcc: Path) -> str:
    for line in _output([str(nvcc), "--version"]).splitlines():
        if "release " in line:
            return line.partition("release ")[2].partition(",")[0]
    raise ToolError("nvcc does not say its version", where=str(nvcc), hint=_INSTALL)


def compile_program(
    source: Path,
    capabilities: Sequence[tuple[int, int]],
    runtime: Path,
    *,
    options: ProgramOptions | None = None,
    cache: Cache | None = None,
) -> bytes:
    """A program with machine code for every compute capability, linked against a runtime library.

    `runtime` is the folder of `libcudart.so.12` and later, and of `libcuda.so.1`. Raises InputError
    where the file cannot be read, CompileError where it is refused, ToolError where a compiler is
    missing.
    """
    options = options or ProgramOptions()
    texts = read_sources((source, *options.sources))
    nvcc, host = find_nvcc(), find_host_compiler()
    arguments = _arguments(nvcc, host, options)
    arguments += ["-Xlinker", f"-rpath-link={runtime}"]
    targets = tuple(dict.fromkeys(_target(nvcc, capability) for capability in capabilities))

    def made() -> bytes:
        try:
            return _linked(nvcc, source, [*arguments, *_for_targets(targets)], runtime)
        except CompileError as error:
            if not asks_for_one_chip(error.log) or max(targets) < _FIRST_ALONE:
                raise
            alone = _for_targets(targets, alone=True)
            return _linked(nvcc, source, [*arguments, *alone], runtime)

    made_by = [str(nvcc), _version(nvcc), *arguments, *map(str, targets)]
    return kept_program(texts, options.include_dirs, made_by, cache, made)


def nvcc_version() -> tuple[int, int]:
    """The version of CUDA that the nvcc found is of; ToolError where there is none."""
    return _version_numbers(find_nvcc())


def nvcc_architecture(compute_capability: tuple[int, int]) -> str:
    """What the nvcc found compiles for, for a chip: its own, or that of an older one of the same
    generation; ToolError where there is none."""
    return f"sm_{_target(find_nvcc(), compute_capability)}"


def compile_kernels(
    source: Path,
    text: str,
    architecture: str,
    *,
    options: ProgramOptions,
    version: str = "",
    cache: Cache | None = None,
) -> Compilation:
    """The kernels of a source with its host code, for an architecture such as `sm_90`.

    `text` is what the file holds; nvcc has to be of a `version`, where one is named. Raises
    CompileError where nvcc refuses the source, ToolError where a compiler is missing.
    """
    nvcc, host = find_nvcc(), find_host_compiler()
    _check_version(nvcc, version)
    arguments = ["-cubin", "-ccbin", host, "-lineinfo", f"-arch={architecture}"]
    arguments += ["-Xptxas", "-v", *_of_options(nvcc, options)]

    def made() -> Compilation:
        with tempfile.TemporaryDirectory(prefix="kernelcast-") as name:
            folder = Path(name)
            kept = ["--keep", "--keep-dir", name]
            cubin, log = _run(nvcc, source, folder, [*arguments, *kept], is_program=False)
            ptx = (folder / source.with_suffix(".ptx").name).read_text("utf-8", "replace")
        return Compilation(ptx, cubin, {}, log, architecture, f"nvcc {_version(nvcc)}")

    texts = {source: text.encode("utf-8", "surrogateescape")}
    made_by = [str(nvcc), _version(nvcc), *arguments]
    key = _key(texts, options.include_dirs, made_by)
    return made() if cache is None or key is None else kept_compilation(cache, key, made)


def _check_version(nvcc: Path, wanted: str) -> None:
    if wanted and not is_of_version(_version_numbers(nvcc), wanted):
        raise ToolError(
            f"nvcc {wanted} is not installed, {_version(nvcc)} is",
            where=str(nvcc),
            hint=f"let {CHOSEN} name one of that version",
        )


def read_sources(paths: Iterable[Path]) -> Mapping[Path, bytes]:
    """What files hold; InputError where one cannot be read."""
    try:
        return {path: path.read_bytes() for path in paths}
    except OSError as error:
        raise InputError(
            f"cannot read the file: {error.strerror}", where=error.filename, hint="check the path"
        ) from error


def kept_program(
    texts: Mapping[Path, bytes],
    include_dirs: Sequence[Path],
    made_by: Sequence[str],
    cache: Cache | None,
    make: Callable[[], bytes],
) -> bytes:
    """What is made of sources, out of the cache where it holds it.

    `made_by` says who makes it, and how.
    """
    key = None if cache is None else _key(texts, include_dirs, made_by)
    if cache is None or key is None:
        return make()
    if (stored := cache.get("program", key)) is None:
        stored = make()
        cache.put("program", key, stored)
    return stored


def _key(
    texts: Mapping[Path, bytes], include_dirs: Sequence[Path], made_by: Sequence[str]
) -> str | None:
    """What the cache calls the product of sources; None where nobody can tell what they include."""
    prints = [include_fingerprint(text, str(path), include_dirs) for path, text in texts.items()]
    if None in prints:
        return None
    parts = (*map(str, wheel_versions()), *made_by, *map(str, texts), *map(str, prints))
    return content_key(*texts.values(), *parts)


def _arguments(nvcc: Path, host: str, options: ProgramOptions) -> list[str]:
    arguments = ["-ccbin", host, "-lineinfo", "-O2", "-cudart", "shared", "--compress-mode=none"]
    if _runtime_version(nvcc) < 13:
        arguments.remove("--compress-mode=none")
    return [*arguments, *_of_options(nvcc, options)]


def _for_targets(targets: Sequence[int], *, alone: bool = False) -> Iterator[str]:
    """Arguments for machine code of some chips, `alone` with instructions that only these have."""
    for target in targets:
        name = f"{target}a" if alone and target >= _FIRST_ALONE else f"{target}"
        yield from ("-gencode", f"arch=compute_{name},code=sm_{name}")


def _of_options(nvcc: Path, options: ProgramOptions) -> list[str]:
    # From CUDA 13 on, nvcc finds its headers; those of CUDA 12 may lie beside them.
    own = find_in_wheels(*_HEADERS) if _runtime_version(nvcc) < 13 else ()
    folders = [*options.include_dirs, *own, _SAMPLES]
    return [
        *(f"-I{folder}" for folder in folders),
        *(f"-D{define}" for define in options.defines),
        *([f"-std={options.std}"] if options.std else []),
        *(("-x", "cu") if options.all_as_cuda else ()),
        *options.further,
        *map(str, options.sources),
    ]


def _target(nvcc: Path, capability: tuple[int, int]) -> int:
    """The machine code for a chip: its own, or that of an older one of the same generation."""
    wanted = 10 * capability[0] + capability[1]
    known = _targets(nvcc)
    fitting = [number for number in known if 10 * capability[0] <= number <= wanted]
    if not fitting:
        raise ToolError(
            f"the installed nvcc compiles for sm_{known[0]} to sm_{known[-1]}, not for sm_{wanted}",
            hint="choose a newer GPU with --gpu, or give a program that is compiled already",
        )
    return fitting[-1]


def _linked(nvcc: Path, source: Path, arguments: Sequence[str], runtime: Path) -> bytes:
    with tempfile.TemporaryDirectory(prefix="kernelcast-") as folder:
        # Linkers look for a library by its name without a version.
        for name, version in (("libcudart", _runtime_version(nvcc)), ("libcuda", 1)):
            (Path(folder) / f"{name}.so").symlink_to((runtime / f"{name}.so.{version}").absolute())
        made, _ = _run(nvcc, source, Path(folder), [f"-L{folder}", *arguments])
        return made


def _run(
    nvcc: Path, source: Path, folder: Path, arguments: Sequence[str], *, is_program: bool = True
) -> tuple[bytes, str]:
    """What nvcc makes of a source, and what it says; CompileError where it refuses it.

    Texture references are bound by a program: where it `is_program`, they come back.
    """
    made = folder / "made"
    command = [str(nvcc), str(source), "-o", str(made), *arguments]
    call = partial(call_compiler, source=source, folder=folder, signs=_SIGNS, hint=_INSTALL)
    try:
        log = call(command, made=made)
    except CompileError as error:
        if has_texture_reference(error.log) and not is_program:
            raise error.with_hint(_RUN_WITH_TEXTURES) from None
        if not (headers := tuple(_older_headers(error.log))):
            raise
        log = call([*command, *headers], made=made)
    return made.read_bytes(), log


def _older_headers(log: str) -> Iterator[str]:
    """Arguments that bring back what CUDA had when a source was written that is refused now."""
    if asks_for_older_names(log):
        yield from ("-include", str(_OLDER_NAMES))
    if has_texture_reference(log):
        yield from ("-include", str(_OLDER_TEXTURES))


def call_compiler(
    command: Sequence[str],
    source: Path,
    folder: Path,
    *,
    signs: Sequence[str],
    hint: str,
    made: Path | None = None,
) -> str:
    """Let a compiler, or a linker, work on a source; what it says.

    Its own files lie in `folder`. Raises CompileError where it refuses the source, or leaves
    nothing at `made`, with the first line of what it said that holds one of the `signs`; ToolError,
    with the hint, where it does not run.
    """
    name = Path(command[0]).name
    try:
        done = captured(command, env={**os.environ, "TMPDIR": str(folder)})
    except OSError as error:
        raise ToolError(
            f"cannot run {name}: {error.strerror}", where=command[0], hint=hint
        ) from error
    log = done.stdout + done.stderr
    if done.returncode == 0 and (made is None or made.is_file()):
        return log
    lines = [line.strip() for line in log.splitlines() if any(sign in line for sign in signs)]
    what = lines[0] if lines else f"{name} ended with status {done.returncode}"
    where = "" if str(source) in what else str(source)
    raise CompileError(what, where=where, hint=program_hint(log), log=log)


def _output(command: list[str]) -> str:
    try:
        return captured(command, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ToolError("nvcc does not run", where=command[0], hint=_INSTALL) from error
