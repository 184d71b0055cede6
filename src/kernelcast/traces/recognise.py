"""What kind of trace a file is, by its first bytes: loads none of what reads them."""

from __future__ import annotations

import re
from pathlib import Path

MAGIC = b"KCTRACE"
"""The first bytes of the package's own format."""
WRITTEN_MAGIC = b"written trace"
"""How a trace that was written by hand begins, after comments."""
XZ_MAGIC = b"\xfd7zXZ\0"
LIST_NAME = "kernelslist.g"
"""Accel-Sim's list of the traces in a folder."""

_START_BYTES = 4096


def is_trace(path: Path) -> bool:
    """Whether a file is a trace, ours, one written by hand or Accel-Sim's, or a folder holds
    Accel-Sim's list of them; False where it cannot be read."""
    start = start_of(file_of(path))
    return is_own_format(start) or is_written(start) or is_accel_sim(start)


def is_own_format(start: bytes) -> bool:
    """Whether the first bytes of a file are those of a trace of the package's own format."""
    return start.startswith(MAGIC)


def is_written(start: bytes) -> bool:
    """Whether the first bytes of a file are those of a written trace."""
    return re.match(rb"(?>\s|#[^\n]*\n)*+" + WRITTEN_MAGIC, start) is not None


def is_accel_sim(start: bytes) -> bool:
    """Whether the first bytes of a file are those of a trace of Accel-Sim or a list of them.

    Of a packed file the text inside is looked at.
    """
    if start.startswith(XZ_MAGIC):
        import lzma

        try:
            start = lzma.LZMADecompressor().decompress(start, len(start))
        except lzma.LZMAError:
            return False
    first = start.lstrip().partition(b"\n")[0]
    return bool(re.match(rb"-kernel name =|Memcpy[HD]to[HD],|kernel-\S*\.trace", first))


def file_of(path: Path) -> Path:
    """The list in a folder; else the path itself."""
    return path / LIST_NAME if path.is_dir() else path


def start_of(path: Path) -> bytes:
    """As many of the first bytes as the format needs; none where the file cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_START_BYTES)
    except OSError:
        return b""
