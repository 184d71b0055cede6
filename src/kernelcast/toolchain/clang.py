"""CUDA C++ programs by clang, whose machine code differs from nvcc's.

clang compiles the device code to PTX and the host code with what ptxas made of that inside. It is
the clang of a wheel of Zig or one on the path, and reads the headers of CUDA 12: newer ones it does
not know.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path

from kernelcast.errors import ToolError
from kernelcast.processes import captured
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvcc import (
    ProgramOptions,
    call_compiler,
    find_host_compiler,
    find_nvcc,
    kept_program,
    read_sources,
)
from kernelcast.toolchain.ptxas import OLDER, assemble
from kernelcast.toolchain.wheels import find_in_packages, find_in_wheels

_INSTALL = "install it with: pip install 'kernelcast[clang]'"
_LAID_OUT = {"include": "cuda_runtime/include", "bin": "cuda_nvcc/bin", "nvvm": "cuda_nvcc/nvvm"}
"""What a folder of CUDA holds, and where wheels of CUDA 12 put it."""
_HEADERS = ("cuda_nvcc/include", "cuda_cccl/include", "curand/include")
"""What lies there, too, but in wheels of its own."""
_ALLOWED = ("-Wno-register", "-Wno-c++11-narrowing")
"""What nvcc lets pass and clang takes for an error."""
_SIGNS = ("error", "undefined")
_CUDA_SOURCES = (".cu",)
_C_SOURCES = (".c",)


@dataclass(frozen=True)
class Clang:
    """A clang: how it is called, and its own headers where they lie elsewhere than it expects."""

    command: tuple[str, ...]
    resources: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """What it says of itself."""
        return _version(self.command)


def find_clang() -> Clang:
    """The clang of a wheel of Zig, or one on the path; ToolError where there is none."""
    for zig in find_in_packages("ziglang/zig"):
        return Clang((str(zig), "clang"), ("-resource-dir", str(zig.parent / "lib")))
    if on_path := shutil.which("clang++"):
        return Clang((on_path,))
    raise ToolError("clang, which compiles CUDA programs, is not installed", hint=_INSTALL)


def compile_with_clang(
    source: Path,
    capabilities: Sequence[tuple[int, int]],
    runtime: Path,
    *,
    options: ProgramOptions | None = None,
    cache: Cache | None = None,
) -> bytes:
    """A program with machine code for every compute capability, as `nvcc.compile_program` makes it.

    Raises InputError where a file cannot be read, CompileError where it is refused, ToolError where
    clang, CUDA 12 or a compiler for the host is missing.
    """
    options = options or ProgramOptions()
    texts = read_sources((source, *options.sources))
    ptxas, cuda = cuda_of_clang()
    compiling = _Compiling(
        find_clang(),
        tuple(f"sm_{major}{minor}" for major, minor in capabilities),
        options,
        find_nvcc().with_name("fatbinary"),
        ptxas,
        cuda,
        cache,
    )
    made_by = [compiling.clang.version, *compiling.targets, str(options)]
    return kept_program(
        texts,
        options.include_dirs,
        made_by,
        cache,
        lambda: compiling.program(tuple(texts), runtime),
    )


def cuda_of_clang() -> tuple[Path, Mapping[str, Path]]:
    """The ptxas of CUDA 12, and what clang looks for in a folder of CUDA, by its name there;
    ToolError where something is missing."""
    found: dict[str, Path] = {}
    for name, wanted in (("ptxas", OLDER), *_LAID_OUT.items()):
        paths = find_in_wheels(wanted)
        if not paths:
            raise ToolError(f"clang needs {wanted} of CUDA 12, which is missing", hint=_INSTALL)
        found[name] = paths[0].absolute()
    return found.pop("ptxas"), found


@dataclass(frozen=True)
class _Compiling:
    """How the sources of a program are compiled."""

    clang: Clang
    targets: tuple[str, ...]
    options: ProgramOptions
    fatbinary: Path
    ptxas: Path
    cuda: Mapping[str, Path]
    cache: Cache | None

    def program(self, sources: Sequence[Path], runtime: Path) -> bytes:
        """The sources, linked against the libraries in `runtime`."""
        with tempfile.TemporaryDirectory(prefix="kernelcast-") as scratch:
            folder = Path(scratch)
            cuda = folder / "cuda"
            cuda.mkdir()
            for name, path in self.cuda.items():
                (cuda / name).symlink_to(path)
            objects = [
                self._object(source, cuda, folder / str(at)) for at, source in enumerate(sources)
            ]
            # Linkers look for a library by its name without a version.
            for name, version in (("libcudart", 12), ("libcuda", 1)):
                (folder / f"{name}.so").symlink_to((runtime / f"{name}.so.{version}").absolute())
            made = folder / "made"
            link = [find_host_compiler(), *map(str, objects), "-o", str(made), f"-L{folder}"]
            libraries = ["-lcudart", "-lcuda", "-lm", "-lpthread", f"-Wl,-rpath-link={runtime}"]
            _call([*link, *libraries], sources[0], folder)
            return made.read_bytes()

    def _object(self, source: Path, cuda: Path, stem: Path) -> Path:
        """A source compiled; files beside `stem` are what it is made of."""
        made = stem.with_suffix(".o")
        if source.suffix not in _CUDA_SOURCES and not self.options.all_as_cuda:
            arguments = self._arguments(cuda, is_c=source.suffix in _C_SOURCES)
            self._clang([*arguments, "-c", str(source), "-o", str(made)], source, stem.parent)
            return made
        arguments = ["-x", "cuda", f"--cuda-path={cuda}", *self._arguments(cuda)]
        images = []
        for target in self.targets:
            ptx = stem.with_suffix(f".{target}.ptx")
            device = ["--cuda-device-only", f"--cuda-gpu-arch={target}", "-gline-tables-only"]
            text = [*arguments, *device, "-S", str(source), "-o", str(ptx)]
            self._clang(text, source, stem.parent)
            cubin = assemble(
                ptx.read_text("utf-8", "surrogateescape"),
                target,
                name=source.name,
                cache=self.cache,
                by=self.ptxas,
            )
            image = ptx.with_suffix(".cubin")
            image.write_bytes(cubin)
            images.append(f"--image3=kind=elf,sm={target.removeprefix('sm_')},file={image}")
        fat = stem.with_suffix(".fatbin")
        _call([str(self.fatbinary), "-64", f"--create={fat}", *images], source, stem.parent)
        within = ["--cuda-host-only", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(fat)]
        self._clang([*arguments, *within, "-c", str(source), "-o", str(made)], source, stem.parent)
        return made

    def _arguments(self, cuda: Path, *, is_c: bool = False) -> list[str]:
        options = self.options
        return [
            "--target=x86_64-linux-gnu",
            *self.clang.resources,
            "-O3",
            "-w",
            *_ALLOWED,
            *(f"-I{folder}" for folder in options.include_dirs),
            *(f"-D{define}" for define in options.defines),
            f"-isystem{cuda / 'include'}",
            *(f"-isystem{folder}" for folder in find_in_wheels(*_HEADERS)),
            *([f"-std={options.std}"] if options.std and not is_c else []),
        ]

    def _clang(self, arguments: Iterable[str], source: Path, folder: Path) -> None:
        _call([*self.clang.command, *arguments], source, folder)


def _call(command: Sequence[str], source: Path, folder: Path) -> None:
    """Run a tool on a source; CompileError where it refuses it."""
    call_compiler(command, source, folder, signs=_SIGNS, hint=_INSTALL)


@once
def _version(command: tuple[str, ...]) -> str:
    try:
        return captured([*command, "--version"], check=True).stdout.partition("\n")[0]
    except (OSError, subprocess.CalledProcessError) as error:
        raise ToolError("clang does not run", where=command[0], hint=_INSTALL) from error
