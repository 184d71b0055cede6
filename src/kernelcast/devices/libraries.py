"""The libraries that programs load in place of the vendor's.

An installed package brings them along. A checkout makes them when they are first needed, and keeps
them where compiled code is kept.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

from kernelcast.devices.shim.build import LIBRARIES, SOURCES, ZIG, CompilerError, build_libraries
from kernelcast.errors import ToolError
from kernelcast.toolchain.cache import content_key, default_directory

_BROUGHT_ALONG = SOURCES / "lib"
_INSTALL = "install a C compiler (apt install gcc), or: pip install ziglang"


def find_libraries() -> Path | None:
    """The folder of the libraries; None where they have yet to be made."""
    for folder in (_BROUGHT_ALONG, _kept()):
        if all((folder / name).is_file() for name in LIBRARIES):
            return folder
    return None


def libraries() -> Path:
    """The folder of the libraries, made where they are missing. ToolError without a compiler."""
    found = find_libraries()
    if found is not None:
        return found
    command, kept = compiler(), _kept()
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix="new-") as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        try:
            build_libraries(made, command)
        except CompilerError as error:
            raise ToolError(str(error), hint=_INSTALL) from error
        with contextlib.suppress(OSError):  # another process was faster: its libraries are equal
            made.rename(kept)
    return kept


def compiler() -> tuple[str, ...]:
    """The C compiler to make them with; ToolError where there is none."""
    if found := shutil.which("cc") or shutil.which("gcc"):
        return (found,)
    if find_spec("ziglang") is not None:
        return ZIG
    raise ToolError("the libraries of the virtual device have to be compiled", hint=_INSTALL)


def _kept() -> Path:
    files = sorted([*SOURCES.glob("*.[ch]"), SOURCES / "build.py"])
    key = content_key(*(part for f in files for part in (f.name, f.read_bytes())))
    return default_directory() / "device" / key[:32]
