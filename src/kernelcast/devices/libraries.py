"""The libraries that programs load in place of the vendor's, made of the C sources in `shim/`.

An installed package brings them along. A checkout makes them when they are first needed, and keeps
them where compiled code is kept.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from kernelcast.errors import ToolError
from kernelcast.toolchain.cache import content_key, default_directory

SOURCES = Path(__file__).parent / "shim"
_RUNTIMES = (12, 13)
"""Major versions of the runtime that programs may have been built for."""

_BUILT = "lib"
_INSTALL = "install a C compiler (apt install gcc), or: pip install ziglang"
_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
_ZIG_TARGET = ("-target", "x86_64-linux-gnu.2.17")
"""The oldest C library that the libraries run with: that of manylinux2014."""


def _names() -> tuple[str, ...]:
    """The files that programs look for."""
    return ("libcuda.so.1", *(f"libcudart.so.{version}" for version in _RUNTIMES))


def find_libraries() -> Path | None:
    """The folder of the libraries; None where they have yet to be made."""
    for folder in (SOURCES / _BUILT, _kept()):
        if all((folder / name).is_file() for name in _names()):
            return folder
    return None


def libraries() -> Path:
    """The folder of the libraries, made where they are missing. ToolError without a compiler."""
    found = find_libraries()
    if found is not None:
        return found
    kept = _kept()
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix="new-") as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        _build(made)
        with contextlib.suppress(OSError):  # another process was faster: its libraries are equal
            made.rename(kept)
    return kept


def compiler() -> tuple[str, ...]:
    """The C compiler to make them with; ToolError where there is none."""
    if found := shutil.which("cc") or shutil.which("gcc"):
        return (found,)
    if find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc", *_ZIG_TARGET)
    raise ToolError("the libraries of the virtual device have to be compiled", hint=_INSTALL)


def _build(folder: Path, command: tuple[str, ...] | None = None) -> None:
    """Make the libraries in a folder. ToolError where the compiler fails."""
    command = command or compiler()
    driver = folder / _names()[0]
    _compile(command, "device.c", driver, str(SOURCES / "driver.c"), "-pthread", "-ldl")
    for version in _RUNTIMES:
        name = f"libcudart.so.{version}"
        with tempfile.TemporaryDirectory(prefix="kernelcast-") as scratch:
            # Programs ask for symbols of the version that the library is named after.
            script = Path(scratch) / "versions"
            script.write_text(f"{name} {{ global: cuda*; __cuda*; local: *; }};\n")
            _compile(
                command,
                "runtime.c",
                folder / name,
                f"-DRUNTIME={version}",
                f"-Wl,--version-script,{script}",
                str(driver),
                "-Wl,-rpath,$ORIGIN",
            )


def _compile(command: tuple[str, ...], source: str, made: Path, *further: str) -> None:
    call = [*command, *_FLAGS, str(SOURCES / source), "-o", str(made)]
    call += [f"-Wl,-soname,{made.name}", *further]
    try:
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ToolError(f"cannot run {command[0]}: {error.strerror}", hint=_INSTALL) from error
    if done.returncode:
        first = next(iter(done.stderr.splitlines()), f"status {done.returncode}")
        raise ToolError(f"cannot compile {source}: {first}", hint=_INSTALL)


def _kept() -> Path:
    files = sorted(SOURCES.glob("*.[ch]"))
    key = content_key(*(part for f in files for part in (f.name, f.read_bytes())))
    return default_directory() / "device" / key[:32]
