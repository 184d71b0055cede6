"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import atexit
import gzip
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kernelcast.errors import InputError, ParseError

_GZIP = b"\x1f\x8b"
"""How a compressed file begins."""
_MAX_STREAM_BYTES = 1 << 30
"""More than any input that is handed over by a pipe."""


def input_file(name: str) -> str:
    """The name of a file that can be read again and again.

    That is the name itself, or that of a copy of what a pipe or, for `-`, standard input gives,
    which is there until the program ends. InputError for a device, and for more than 1 GiB.
    """
    if name == "-":
        return _copied(sys.stdin.buffer, "stdin")
    try:
        mode = Path(name).stat().st_mode
    except OSError:
        return name  # who reads it says why it cannot be read
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise InputError("is a device, not a file", where=name, hint="give a file or a pipe")
    if not stat.S_ISFIFO(mode):
        return name
    with _refusals(Path(name)), Path(name).open("rb") as stream:
        return _copied(stream, Path(name).name)


def _copied(stream: BinaryIO, name: str) -> str:
    """The name of a copy of what a stream gives."""
    data = stream.read(_MAX_STREAM_BYTES + 1)
    if len(data) > _MAX_STREAM_BYTES:
        raise InputError("gives more than 1 GiB", where=name, hint="give it as a file")
    folder = Path(tempfile.mkdtemp(prefix="kernelcast-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / name).write_bytes(data)
    return str(folder / name)


def read_unpacked(path: Path) -> bytes:
    """What a file holds, unpacked where gzip has compressed it.

    OSError where it cannot be read, ParseError where the compressed data are damaged.
    """
    data = path.read_bytes()
    if not data.startswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error) as error:
        raise ParseError(f"damaged: {error}", where=str(path), hint="fetch it again") from None


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes its place, and that of an older one, when all went well.

    Devices and pipes are written to as they are, a link leads on. InputError where it cannot be
    written.
    """
    with _refusals(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as stream:
                yield stream
            return
        path = path.resolve()
        temporary = _beside(path)
        try:
            with temporary.open("xb") as file:
                yield file
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_whole(path: Path, data: bytes) -> None:
    """Write a file; InputError where it cannot be written."""
    with whole_file(path) as file:
        file.write(data)


def write_into(folder: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write files by their path within a folder, each one whole; where they are.

    Makes what folders are missing. InputError where one cannot be made or written.
    """
    written = []
    for name, data in contents.items():
        path = folder / name
        with _refusals(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
        written.append(path)
    return tuple(written)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write into that takes its place when all went well.

    InputError where it cannot be written, or where there is one with anything in it already.
    """
    with _refusals(path):
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InputError("is there already", where=str(path), hint="name a new folder")
        temporary = _beside(path)
        try:
            temporary.mkdir()
            yield temporary
            temporary.replace(path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def _beside(path: Path) -> Path:
    """A name in the same folder that no other process takes."""
    return path.with_name(f".{path.name}.{os.getpid()}")


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """What the system refuses, as an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror or error}",
            where=str(path),
            hint="choose another place",
        ) from error
