"""PTX to cubins with ptxas, NVIDIA's assembler, from its PyPI wheels.

It needs neither a GPU nor a driver, and takes about 20 ms for a small kernel. It is the assembler
inside NVRTC: PTX that NVRTC made becomes the machine code that NVRTC made of it. (The library
nvJitLink assembles too, but only into code that is to be linked, which differs.)
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import cache as once
from pathlib import Path

from kernelcast.errors import CompileError, InputError, ToolError
from kernelcast.toolchain.cache import Cache, content_key
from kernelcast.toolchain.diagnostics import in_plain_words
from kernelcast.toolchain.wheels import find_in_wheels

NEWEST = "cu*/bin/ptxas"
OLDER = "cuda_nvcc/bin/ptxas"  # where the wheels of CUDA 12 and 11 put it
_INSTALL = "install it with: pip install nvidia-cuda-nvcc"
_TIMEOUT_S = 300.0

_FILE = "input.ptx"
"""Constant, as is the directory it is run in: the cubin records the command line."""
_ARCHITECTURE = re.compile(r"sm_\d+[af]?")
_ERROR = re.compile(
    rf"^ptxas (?:{re.escape(_FILE)}, line (?P<line>\d+); )?(?:error|fatal)\s*: (?P<what>.*)$",
    re.MULTILINE,
)
_UNKNOWN_ARCHITECTURE = "is not defined for option 'gpu-name'"
_HINTS = (
    ("Unsupported .version", "install a newer ptxas: pip install --upgrade nvidia-cuda-nvcc"),
    ("SM version specified by .target", "assemble it for its .target or a later architecture"),
    ("cannot be compiled to future architecture", "assemble it for its .target"),
    ("Unresolved extern", "define the function in the same file"),
    ("too much shared data", "make the array smaller or use dynamic shared memory"),
)


def assemble(
    ptx: str,
    architecture: str,
    *,
    name: str,
    cache: Cache | None = None,
    timeout_s: float = _TIMEOUT_S,
    by: Path | None = None,
) -> bytes:
    """The cubin of a PTX text for one architecture, for example `sm_90`, with line information.

    `name` is the file that messages speak of, `by` the ptxas, instead of the newest that knows the
    architecture. Raises CompileError, with the line, where the PTX is refused; ToolError where
    ptxas is missing, fails, takes longer than `timeout_s`, or where no installed one knows the
    architecture.
    """
    if not _ARCHITECTURE.fullmatch(architecture):
        raise InputError(f"{architecture!r} is not an architecture", hint="give one like sm_90")
    text = ptx.encode("utf-8", "surrogateescape")
    for executable in (by,) if by else ptxas_paths():
        key = content_key(_identity(executable), architecture, text)
        if cache is not None and (stored := cache.get("assembly", key)) is not None:
            return stored
        cubin, log = _run(executable, text, architecture, timeout_s)
        if _UNKNOWN_ARCHITECTURE in log:
            continue
        if cubin is None:
            raise _refusal(log, name)
        if cache is not None:
            cache.put("assembly", key, cubin)
        return cubin
    raise ToolError(
        f"no installed ptxas assembles for {architecture}",
        hint="targets from sm_75 on come with nvidia-cuda-nvcc, older ones with "
        "nvidia-cuda-nvcc-cu12 (sm_50 on) and nvidia-cuda-nvcc-cu11 (sm_35 on)",
    )


def ptxas_paths() -> tuple[Path, ...]:
    """The installed ptxas programs, the newest first; ToolError where there is none."""
    found = (*reversed(find_in_wheels(NEWEST)), *find_in_wheels(OLDER))
    if not found:
        raise ToolError("ptxas, which assembles PTX, is not installed", hint=_INSTALL)
    return found


@once
def _identity(executable: Path) -> str:
    """Tells one build of ptxas from another."""
    status = executable.stat()
    return f"{executable.name} {status.st_size} {status.st_mtime_ns}"


def _run(
    executable: Path, text: bytes, architecture: str, timeout_s: float
) -> tuple[bytes | None, str]:
    """The cubin, None where there is none, and what ptxas said."""
    with tempfile.TemporaryDirectory(prefix="kernelcast-") as directory:
        (Path(directory) / _FILE).write_bytes(text)
        output = Path(directory) / "output.cubin"
        command: list[str | Path] = [
            executable,
            f"-arch={architecture}",
            "-lineinfo",
            _FILE,
            "-o",
            output.name,
        ]
        try:
            done = subprocess.run(
                command, cwd=directory, capture_output=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise ToolError(
                f"ptxas took longer than {timeout_s:g} s", hint="choose a smaller kernel"
            ) from None
        except OSError as error:
            raise ToolError(
                f"cannot run ptxas: {error.strerror}", where=str(executable), hint=_INSTALL
            ) from error
        log = (done.stdout + done.stderr).decode("utf-8", "replace")
        if done.returncode == 0 and output.is_file():
            return output.read_bytes(), log
        return None, log or f"ptxas fatal : it ended with status {done.returncode}"


def _refusal(log: str, name: str) -> CompileError:
    """The first error of a log; its `log` keeps the whole."""
    found = _ERROR.search(log)
    what = found["what"].replace(_FILE, name) if found else log.strip().partition("\n")[0]
    where = f"{name}:{found['line']}" if found and found["line"] else name
    hint = next((hint for sign, hint in _HINTS if sign in what), "")
    return CompileError(in_plain_words(what.rstrip(".")), where=where, hint=hint, log=log)
