"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kernelcast.errors import InputError


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes its place, and that of an older one, when all went well.

    InputError where it cannot be written.
    """
    with _refusals(path):
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
