"""Compiles the libraries that programs load; needs nothing but Python's own library.

A build of the package loads this file by its path, before anything is installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCES = Path(__file__).parent

ZIG = (sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.17")
"""Makes code for the oldest C library that the libraries run with: that of manylinux2014."""

_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
_DRIVER = "libcuda.so.1"
_RUNTIMES = {f"libcudart.so.{version}": version for version in (12, 13)}
"""One for every major version that programs may have been built for."""

NEWEST_RUNTIME = list(_RUNTIMES)[-1]

LIBRARIES = (_DRIVER, *_RUNTIMES)
"""The files that programs look for."""


class CompilerError(Exception):
    """The compiler does not run, or refuses the sources."""


def build_libraries(folder: Path, compiler: Sequence[str]) -> None:
    """Make the libraries in a folder. CompilerError where the compiler fails."""
    driver = folder / _DRIVER
    _compile(compiler, ("device.c", "graphs.c", "driver.c"), driver, "-pthread", "-ldl")
    for name, version in _RUNTIMES.items():
        with tempfile.TemporaryDirectory(prefix="kernelcast-") as scratch:
            # Programs ask for symbols of the version that the library is named after.
            script = Path(scratch) / "versions"
            script.write_text(f"{name} {{ global: cuda*; __cuda*; local: *; }};\n", "utf-8")
            further = (f"-DRUNTIME={version}", f"-Wl,--version-script,{script}", str(driver))
            _compile(compiler, ("runtime.c",), folder / name, *further, "-Wl,-rpath,$ORIGIN")


def _compile(compiler: Sequence[str], sources: Sequence[str], made: Path, *further: str) -> None:
    files = [str(SOURCES / name) for name in sources]
    call = [*compiler, *_FLAGS, *files, "-o", str(made), f"-Wl,-soname,{made.name}", *further]
    try:
        done = subprocess.run(
            call, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError as error:
        raise CompilerError(f"cannot run {compiler[0]}: {error.strerror}") from error
    if done.returncode:
        first = next(iter(done.stderr.splitlines()), f"status {done.returncode}")
        raise CompilerError(f"cannot compile {sources[0]}: {first}")
