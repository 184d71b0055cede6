"""What compilers and disassemblers made, kept for all processes and later runs of tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import kernelcast
from kernelcast.toolchain.cache import Cache, content_key

_ROOT = Path(__file__).parents[1] / ".pytest_cache" / "kernelcast"
_PACKAGE = Path(kernelcast.__file__).parent
_MADE_BY = (*sorted((_PACKAGE / "toolchain").glob("*.py")), _PACKAGE / "execution/engine/jit.py")

DIRECTORY = _ROOT / content_key(*(file.read_bytes() for file in _MADE_BY))[:16]
"""Another one for every text of the code that makes what it holds: nothing in it can be stale."""
CACHE = Cache(DIRECTORY)


def delete_others() -> None:
    """Delete what other versions of the code have made."""
    for other in _ROOT.glob("*"):
        if other != DIRECTORY:
            shutil.rmtree(other, ignore_errors=True)
