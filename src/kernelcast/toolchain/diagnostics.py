"""The compiler's log turned into one error: the first it reports, with its place and a way out."""

from __future__ import annotations

import re

from kernelcast.errors import CompileError
from kernelcast.toolchain.header_shims import (
    DEVICE_HEADERS,
    HOST_HEADERS,
    LIBRARY_HEADERS,
    header_package,
)
from kernelcast.toolchain.mangling import source_name

_HOST_CODE = (
    "only device code is compiled: put main() and other host code between "
    "#ifndef __CUDACC_RTC__ and #endif"
)
_AT_LINE = re.compile(r"(?P<file>[^\n]+?)\((?P<line>\d+)\): (?:catastrophic )?error: (?P<what>.*)")
_AT_END = re.compile(r"At end of source: (?:catastrophic )?error: (?P<what>.*)")
_BY_TOOL = re.compile(r"(?:nvrtc|ptxas)\b[^\n]*?\s(?:error|fatal)\s*:\s*(?P<what>.*)")
_MISSING_HEADER = re.compile(r'(?:could not|cannot) open source file "([^"]+)"')
_NO_LIBRARIES = (*LIBRARY_HEADERS, "cufft", "npp", "nvjpeg")
"""How headers of NVIDIA's libraries begin whose kernels nobody may execute but they."""
_NOT_LINKED = re.compile(r"undefined reference to [`'](omp_|curand)")
_LINKED_WITH = {"omp_": "-Xcompiler=-fopenmp", "curand": "-lcurand"}
_MISSING_TO_HOST = re.compile(
    r"fatal error: ([^\s:]+): No such file|fatal error: '([^']+)' file not"
)
_QUOTED = re.compile(r"'(_Z\w+)'")
_HEXADECIMAL = re.compile(r"\b0x[0-9a-f]+(?= bytes| max)")
_HOST_ONLY = re.compile(
    r"is considered a host function|"
    r'identifier "cuda(?:Malloc|Free|Mem|Event|Stream|DeviceSynchronize)\w*" is undefined|'
    r"(?:calling|call to) a __host__ function|kernel launch from __device__"
)
_NESTED_LAUNCH = re.compile(r"kernel launch from __device__|device-side kernel launch")
_NAME = re.compile(r"#pragma nv_mangled_name (.*)")
_OTHER_TARGET = "not supported on .target"
_OLDER_NAMES = re.compile(
    r"\bcuda(?:Thread\w+|DeviceProp|MemPrefetchAsync|MemAdvise|MemLocation)\b"
)
"""Those of `older_names.h`."""
_UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')
_OLDER_EXCHANGE = re.compile(
    r'identifier "(__(?:shfl(?:_up|_down|_xor)?|any|all|ballot))" is undefined'
)
"""Those of `older_exchanges.h`."""


def compile_error(log: str, name: str) -> CompileError:
    """The first error of a log; its `log` keeps the whole."""
    what, where = _first_error(log, name)
    if where.startswith("__nv_name_map"):
        asked = _NAME.search(log)
        return CompileError(
            what,
            where=f"{name}: kernel {asked[1].strip() if asked else ''}".rstrip(),
            hint="name the kernel with its template arguments, for example 'tiled<16>'",
            log=log,
        )
    return CompileError(what, where=where, hint=_hint(log), log=log)


def asks_for_one_chip(log: str) -> bool:
    """Whether code was refused that is for one architecture alone, `sm_90a` beside `sm_90`."""
    return _OTHER_TARGET in log


def older_exchange(log: str) -> str | None:
    """The first function that was refused as one of those that chips since Volta lack, by which
    active lanes exchange values: `__shfl_down`."""
    found = _OLDER_EXCHANGE.search(log)
    return found[1] if found else None


def asks_for_older_names(log: str) -> bool:
    """Whether code was refused that calls what CUDA once had: its runtime before CUDA 13, or an
    `older_exchange`."""
    errors = (line for line in log.splitlines() if "error" in line)
    return older_exchange(log) is not None or any(map(_OLDER_NAMES.search, errors))


def has_texture_reference(log: str) -> bool:
    """Whether code was refused for a texture reference, `texture<float>`: CUDA 12 dropped them."""
    return "texture is not a template" in log or 'identifier "texture" is undefined' in log


def error_places(log: str) -> frozenset[tuple[str, int]]:
    """File and line of every error of a log."""
    return frozenset((m["file"].strip(), int(m["line"])) for m in _AT_LINE.finditer(log))


def in_plain_words(message: str) -> str:
    """A message of an assembler with names as the source has them, and bytes as decimal numbers."""
    named = _QUOTED.sub(lambda found: f"'{source_name(found[1])}'", message)
    return _HEXADECIMAL.sub(lambda found: str(int(found[0], 16)), named)


def macros_to_give(log: str) -> str:
    """What to do about identifiers that are undefined, which may be macros; nothing without any."""
    macros = " ".join(f"-D {name}=VALUE" for name in dict.fromkeys(_UNDEFINED.findall(log)))
    return f"give what is a macro with {macros}; else correct the source" if macros else ""


def program_hint(log: str) -> str:
    """What to do where a program with its host code is refused; nothing where nobody knows."""
    if _NESTED_LAUNCH.search(log):
        return "kernels that launch kernels do not run here: leave their launches out"
    if unlinked := _NOT_LINKED.search(log):
        return f"link what it uses: --nvcc {_LINKED_WITH[unlinked[1]]}"
    if not (found := _MISSING_TO_HOST.search(log)):
        return ""
    header = found[1] or found[2]
    if header.startswith(_NO_LIBRARIES):
        return (
            "the virtual GPU has no such library: where it is not called, install its header; "
            "else forecast the kernels alone, kernelcast predict"
        )
    return f"give the directory of {header} with -I"


def _first_error(log: str, name: str) -> tuple[str, str]:
    """Message and place; the whole log's first line where no pattern fits."""
    found = [m for p in (_AT_LINE, _AT_END, _BY_TOOL) if (m := _first_match(p, log))]
    if not found:
        return log.strip().partition("\n")[0] or "the compiler gave no reason", name
    first = min(found, key=lambda match: match.start())
    groups = first.groupdict()
    if "is considered a host function" in groups["what"]:
        groups["what"] = "a function of host code, neither __global__ nor __device__"
    where = f"{groups['file'].strip()}:{groups['line']}" if "line" in groups else name
    return in_plain_words(groups["what"].strip().rstrip(".")), where


def _first_match(pattern: re.Pattern[str], log: str) -> re.Match[str] | None:
    """The first match, or that of the same line that names what is undefined."""
    found = list(pattern.finditer(log))
    line = [m for m in found if m.groupdict().get("line") == found[0].groupdict().get("line")]
    named = [match for match in line if match["what"].endswith("is undefined")]
    return next(iter(named or found), None)


def _hint(log: str) -> str:
    if missing := _MISSING_HEADER.search(log):
        header = missing[1]
        if header in HOST_HEADERS:
            return _HOST_CODE
        if header in DEVICE_HEADERS:
            return (
                "install NVIDIA's headers: "
                "pip install nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl"
            )
        if package := header_package(header):
            return f"install NVIDIA's headers: pip install {package}"
        return "give its directory with -I"
    if _NESTED_LAUNCH.search(log):
        return "a kernel that launches kernels is not compiled: leave its launches out"
    if _HOST_ONLY.search(log):
        return _HOST_CODE
    if 'namespace "std" has no member' in log:
        return "call the device function without std::"
    if "Unresolved extern" in log:
        return "define the function in the same file"
    if "too much shared data" in log:
        return "make the array smaller or use dynamic shared memory"
    return ""
