"""What compilers and disassemblers made, kept by content for all processes, later runs of tests and
other checkouts.

The path of a source is part of what is made of it, so files of tests lie at the same place in every
run.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import kernelcast
from kernelcast.toolchain.cache import Cache, content_key

_ROOT = Path("~/.cache/kernelcast-tests").expanduser()
_PACKAGE = Path(kernelcast.__file__).parent
_MADE_BY = (
    *(file for file in sorted((_PACKAGE / "toolchain").glob("*.py")) if file.stem != "recall"),
    _PACKAGE / "execution/engine/jit.py",
)

DIRECTORY = _ROOT / content_key(*(file.read_bytes() for file in _MADE_BY))[:16]
"""Another one for every text of the code that makes what it holds: nothing in it can be stale."""
CACHE = Cache(DIRECTORY)
_DAY_S = 86400


def delete_unused(root: Path = _ROOT, kept: Path = DIRECTORY) -> None:
    """Delete what other versions of the code have made, but for what another session may be using:
    that is no older than a day."""
    kept.mkdir(parents=True, exist_ok=True)
    os.utime(kept)
    newest = kept.stat().st_mtime
    for other in root.glob("*"):
        if other != kept and newest - other.stat().st_mtime > _DAY_S:
            shutil.rmtree(other, ignore_errors=True)


@contextmanager
def folder_of_session(root: Path | None = None) -> Iterator[Path]:
    """A folder for the files of a test session: the first that no other session is using."""
    root = root or Path(tempfile.gettempdir()) / f"kernelcast-tests-{os.getuid()}"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in count():
        with (root / f"{number}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield root / str(number)
            return
