"""CUDA C++ to PTX and cubin with NVRTC, NVIDIA's run-time compiler, from its PyPI wheels.

It needs neither a GPU nor a driver nor a host compiler. Wheels of several CUDA versions may be
installed side by side; the newest that knows the target compiles.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from kernelcast.errors import CompileError, InputError, ToolError
from kernelcast.toolchain.cache import Cache, content_key
from kernelcast.toolchain.diagnostics import compile_error
from kernelcast.toolchain.header_shims import DRIVER_HEADER, HEADER_SHIMS
from kernelcast.toolchain.includes import include_fingerprint
from kernelcast.toolchain.wheels import find_in_wheels

LIBRARIES = ("cu*/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*")
INSTALL = "install it with: pip install nvidia-cuda-nvrtc"
_ARCHITECTURE = re.compile(r"sm_(\d+)[a-z]?")


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What a user may tell the compiler.

    `defines` are `NAME` or `NAME=VALUE`; `std` is `c++17`, for example; `extra` holds the
    compiler's own options, such as `--use_fast_math`. `nvrtc` is the version to compile with, such
    as `12.3`, where several are installed. With `nvcc`, nvcc compiles instead, with the host code:
    the one that is found, which has to be of that version where one is named, such as `12.4`.
    """

    defines: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    std: str | None = None
    extra: tuple[str, ...] = ()
    line_info: bool = True
    nvrtc: str | None = None
    nvcc: str | None = None


NO_OPTIONS = CompileOptions()


_VOLTA = 70
"""What NVRTC of CUDA 12 compiles for, and whose machine code is read and executed."""


@dataclass(frozen=True)
class Compilation:
    """What one compilation gave, and whose it was, such as `NVRTC 13.0`. `lowered_names` maps name
    expressions to mangled names."""

    ptx: str
    cubin: bytes = field(repr=False)
    lowered_names: Mapping[str, str]
    log: str
    architecture: str
    compiler: str


@dataclass(frozen=True, slots=True)
class CompileTarget:
    """The architecture to compile for; `note` says why, where it is not the chip's own."""

    architecture: str
    note: str = ""


def supported_architectures(version: str | None = None) -> tuple[int, ...]:
    """Compute capabilities (major * 10 + minor) of all installed NVRTC libraries, or of those of
    one version, ascending."""
    return tuple(sorted({a for library in _libraries(version) for a in library.architectures}))


def choose_architecture(
    compute_capability: tuple[int, int], version: str | None = None
) -> CompileTarget:
    """The target nearest to a chip: its own, else the newest older one, else the oldest of all.

    `version` is that of NVRTC, where it is not all the same; ToolError where it is not installed.
    """
    wanted = compute_capability[0] * 10 + compute_capability[1]
    known = supported_architectures(version)
    if wanted in known:
        return CompileTarget(f"sm_{wanted}")
    chosen = max((a for a in known if a < wanted), default=known[0])
    rank = "newest" if chosen == known[-1] else "oldest" if chosen == known[0] else "nearest"
    hint = "; pip install 'kernelcast[volta]' brings one for it" if wanted == _VOLTA else ""
    return CompileTarget(
        f"sm_{chosen}",
        f"compiled for sm_{chosen}, the {rank} target of the installed NVRTC, not for sm_{wanted}"
        f"{hint}",
    )


def compile_cuda(
    source: str,
    *,
    name: str,
    architecture: str,
    options: CompileOptions = NO_OPTIONS,
    name_expressions: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    cache: Cache | None = None,
) -> Compilation:
    """Compile CUDA C++ for one architecture, for example `sm_90`.

    `name` is the file that messages and line numbers speak of; quoted includes are looked for
    beside it. `name_expressions` instantiates templates, such as `tiled<16>`. `headers` are texts
    by the name they are included under. CompileError holds the compiler's first error with its
    line; ToolError where no installed NVRTC knows the target.
    """
    library = _library_for(architecture, options.nvrtc)
    directories = (*options.include_dirs, *_header_directories(library.version[0]))
    shims = {**_needed_shims((Path(name).parent, *directories)), **(headers or {})}
    arguments = _arguments(architecture, options, directories)
    text = source.encode("utf-8", "surrogateescape")
    fingerprint = include_fingerprint(text, name, directories, shims) if cache else None
    if cache is None or fingerprint is None:
        return library.compile(text, name, architecture, arguments, name_expressions, shims)
    key = content_key(
        library.identity,
        str(Path(name).absolute()),  # line information holds it, whatever the name is relative to
        text,
        fingerprint,
        *(f"argument {argument}" for argument in arguments),
        *(f"name {expression}" for expression in name_expressions),
        *(f"header {header} {shim}" for header, shim in shims.items()),
    )
    return kept_compilation(
        cache,
        key,
        lambda: library.compile(text, name, architecture, arguments, name_expressions, shims),
    )


def kept_compilation(cache: Cache, key: str, make: Callable[[], Compilation]) -> Compilation:
    """What the cache holds of a compilation, else what `make` makes, which is kept."""
    if (stored := cache.get("compilation", key)) is not None:
        with suppress(msgspec.ValidationError):  # of a version that kept something else
            return msgspec.msgpack.decode(stored, type=Compilation)
    result = make()
    cache.put("compilation", key, msgspec.msgpack.encode(result))
    return result


def is_of_version(found: tuple[int, int], wanted: str) -> bool:
    """Whether a version of CUDA is the one `wanted`, such as `12.3`, or `12` for any of these."""
    parts = wanted.split(".")
    return list(map(str, found))[: len(parts)] == parts


def cuda_version(architecture: str, version: str | None = None) -> tuple[int, int]:
    """The version of CUDA that compiles for an architecture; ToolError as of `compile_cuda`."""
    return _library_for(architecture, version).version


def header_folders(cuda_major: int) -> tuple[Path, ...]:
    """Where NVIDIA's headers of one CUDA version lie, as far as their wheels are installed."""
    return _header_directories(cuda_major)


def has_cccl(cuda_major: int) -> bool:
    """Whether NVIDIA's core libraries for device code are installed: cub, thrust, libcu++."""
    return any((folder / "cuda/std").is_dir() for folder in _header_directories(cuda_major))


def _arguments(
    architecture: str, options: CompileOptions, directories: Sequence[Path]
) -> tuple[str, ...]:
    return (
        f"--gpu-architecture={architecture}",
        "--ptxas-options=-v",  # the only place that tells spilled bytes
        *(["--generate-line-info"] if options.line_info else []),
        *([f"--std={options.std}"] if options.std else []),
        # Where NVIDIA's headers are installed, its cuda.h declares host code, which NVRTC refuses.
        "--define-macro=__cuda_cuda_h__",
        *(f"--define-macro={definition}" for definition in options.defines),
        *(f"--include-path={directory}" for directory in directories),
        *options.extra,
    )


def _header_directories(cuda_major: int) -> tuple[Path, ...]:
    """NVIDIA's headers of one CUDA version, where their wheels are installed."""
    if cuda_major >= 13:
        return find_in_wheels(f"cu{cuda_major}/include", f"cu{cuda_major}/include/cccl")
    return find_in_wheels("cuda_runtime/include", "cuda_nvcc/include", "cuda_cccl/include")


def _needed_shims(directories: Sequence[Path]) -> dict[str, str]:
    """The stand-ins for headers that no directory holds, and for that of the driver."""
    return {
        header: text
        for header, text in HEADER_SHIMS.items()
        if header == DRIVER_HEADER
        or not any((directory / header).is_file() for directory in directories)
    }


@lru_cache(maxsize=1)
def _installed() -> tuple[Nvrtc, ...]:
    libraries = [Nvrtc(path) for path in find_in_wheels(*LIBRARIES)]
    if not libraries:
        raise ToolError("NVRTC, which compiles CUDA, is not installed", hint=INSTALL)
    return tuple(sorted(libraries, key=lambda library: library.version, reverse=True))


def _libraries(version: str | None) -> tuple[Nvrtc, ...]:
    """The installed libraries of a version, such as `12.3` or `12`; of any where it is None."""
    if version is None:
        return _installed()
    found = [x for x in _installed() if is_of_version(x.version, version)]
    if not found:
        there = ", ".join(".".join(map(str, x.version)) for x in _installed())
        major = version.partition(".")[0]
        package = "nvidia-cuda-nvrtc" + ("" if major == "13" else f"-cu{major}")
        raise ToolError(
            f"NVRTC {version} is not installed, {there} is",
            hint=f"install it with: pip install '{package}=={version}.*'",
        )
    return tuple(found)


def _library_for(architecture: str, version: str | None = None) -> Nvrtc:
    match = _ARCHITECTURE.fullmatch(architecture)
    if match is None:
        raise InputError(f"{architecture!r} is not an architecture", hint="give one like sm_90")
    for library in _libraries(version):
        if int(match[1]) in library.architectures:
            return library
    known = ", ".join(f"sm_{a}" for a in supported_architectures(version))
    raise ToolError(
        f"no installed NVRTC compiles for {architecture}",
        hint=f"installed ones know {known}; older targets come with nvidia-cuda-nvrtc-cu12 "
        "(sm_50 on) and nvidia-cuda-nvrtc-cu11 (sm_35 on)",
    )


class Nvrtc:
    """One NVRTC library, loaded when its functions are first needed.

    Errors: ToolError where the file cannot be loaded.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _library(self) -> ctypes.CDLL:
        try:
            return ctypes.CDLL(str(self.path))
        except OSError as error:
            raise ToolError(
                f"cannot load NVRTC: {error}", where=str(self.path), hint=INSTALL
            ) from error

    @cached_property
    def version(self) -> tuple[int, int]:
        """CUDA version, for example (13, 5)."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    @cached_property
    def architectures(self) -> tuple[int, ...]:
        """Targets, as major * 10 + minor, ascending."""
        count = ctypes.c_int()
        self._library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        values = (ctypes.c_int * count.value)()
        self._library.nvrtcGetSupportedArchs(values)
        return tuple(sorted(values))

    @cached_property
    def identity(self) -> str:
        """Tells one build of the library from another."""
        return f"{self.path.name} {self.version} {self.path.stat().st_size}"

    def compile(
        self,
        source: bytes,
        name: str,
        architecture: str,
        arguments: Sequence[str],
        name_expressions: Sequence[str],
        headers: Mapping[str, str],
    ) -> Compilation:
        """Run the compiler once; CompileError where it refuses the source."""
        program = ctypes.c_void_p()
        self._check(
            self._library.nvrtcCreateProgram(
                ctypes.byref(program),
                ctypes.c_char_p(source),
                ctypes.c_char_p(_encode(name)),
                len(headers),
                _strings(headers.values()),
                _strings(headers.keys()),
            )
        )
        try:
            for expression in name_expressions:
                self._check(self._library.nvrtcAddNameExpression(program, _encode(expression)))
            status = self._library.nvrtcCompileProgram(program, len(arguments), _strings(arguments))
            log = self._text(program, "ProgramLog")
            if status:
                raise compile_error(log or self._message(status), name)
            return Compilation(
                ptx=self._text(program, "PTX"),
                cubin=self._bytes(program, "CUBIN"),
                lowered_names={e: self._lowered_name(program, e) for e in name_expressions},
                log=log,
                architecture=architecture,
                compiler=f"NVRTC {'.'.join(map(str, self.version))}",
            )
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _bytes(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(self._library[f"nvrtcGet{what}Size"](program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self._check(self._library[f"nvrtcGet{what}"](program, buffer))
        return buffer.raw

    def _text(self, program: ctypes.c_void_p, what: str) -> str:
        return self._bytes(program, what).rstrip(b"\0").decode("utf-8", "replace")

    def _lowered_name(self, program: ctypes.c_void_p, expression: str) -> str:
        lowered = ctypes.c_char_p()
        self._check(
            self._library.nvrtcGetLoweredName(program, _encode(expression), ctypes.byref(lowered))
        )
        return (lowered.value or b"").decode()

    def _check(self, status: int) -> None:
        if status:
            raise CompileError(f"NVRTC failed: {self._message(status)}")

    def _message(self, status: int) -> str:
        describe = self._library.nvrtcGetErrorString
        describe.restype = ctypes.c_char_p
        return str(describe(status).decode())


def _encode(text: str) -> bytes:
    if "\0" in text:
        raise InputError(f"{text!r} holds a NUL character")
    return text.encode("utf-8", "surrogateescape")


def _strings(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [_encode(text) for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)
