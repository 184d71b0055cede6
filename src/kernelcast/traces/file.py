"""The package's own trace files: written as the words come, read chunk by chunk.

A file is the seven letters `KCTRACE` and a byte with the version, then sections: a tag of four
letters, the length of what follows as eight bytes, little-endian, and a zlib stream (RFC 1950) of
that length. HEAD comes first (see `header`), then any number of WORD (see `chunks`), last DONE, the
number of words as JSON. A file without DONE was cut short.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from kernelcast.errors import InputError
from kernelcast.execution.trace import Words
from kernelcast.files import whole_file
from kernelcast.traces.chunks import decode_chunk, encode_chunk, record_starts
from kernelcast.traces.header import pack_head, unpack_head
from kernelcast.traces.recognise import MAGIC, is_own_format
from kernelcast.traces.stored import StoredTrace, TraceHead
from kernelcast.version import VERSION

_VERSION = 3
_READ = (2, _VERSION)
"""Versions that are read: 2 has no records of what lanes compare."""
CHUNK_WORDS = 1 << 20
"""Words of a chunk: 8 MB, enough for a loop to repeat often, few enough to hold several times."""

_LEVEL = 6
"""Of zlib: on the columns of the examples as small as .xz is at the same speed; .xz at its best
takes a sixth less, and nine times as long."""

_MAX_SECTION_BYTES = 1 << 28
"""Most bytes that a section may unpack to."""

_TAG_BYTES, _LENGTH_BYTES = 4, 8
_HEAD, _WORD, _DONE = b"HEAD", b"WORD", b"DONE"


class _Done(msgspec.Struct):
    """What the end of a file says."""

    words: int


class TraceWriter:
    """Follows a run and writes its trace in chunks."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._held: list[Words] = []
        self._held_words = 0
        self.words = 0

    def consume(self, words: Words) -> None:
        """The next words, which end with a record; ValueError where they are none."""
        self._held.append(words.copy())
        self._held_words += len(words)
        if self._held_words >= CHUNK_WORDS:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        words = np.concatenate(self._held) if self._held else np.empty(0, np.uint64)
        self._held, self._held_words = [], 0
        for chunk in _chunks(words):
            _write_section(self._file, _WORD, encode_chunk(chunk))
            self.words += len(chunk)


@contextmanager
def write_trace(path: Path, head: TraceHead, maker: str) -> Iterator[TraceWriter]:
    """A consumer of the words of a trace; the file is there when the context ends without an error.

    Raises InputError where the file cannot be written.
    """
    with whole_file(path) as file:
        file.write(MAGIC + bytes([_VERSION]))
        _write_section(file, _HEAD, pack_head(head, maker, VERSION))
        writer = TraceWriter(file)
        yield writer
        writer.flush()
        _write_section(file, _DONE, msgspec.json.encode(_Done(writer.words)))


def read_trace(path: Path) -> StoredTrace:
    """The trace in a file; InputError where it holds none or one that is damaged or too new."""
    with _damages(path), path.open("rb") as file:
        _check_version(file, path)
        tag, data = read_section(file)
        if tag != _HEAD:
            raise ValueError("no head")
        head, maker = unpack_head(data)
    return StoredTrace(head, maker, lambda: _words(path))


def _words(path: Path) -> Iterator[Words]:
    total = 0
    with _damages(path), path.open("rb") as file:
        _check_version(file, path)
        read_section(file)
        while True:
            tag, data = read_section(file)
            if tag == _DONE:
                break
            if tag != _WORD:
                raise ValueError("an unknown section")
            words = decode_chunk(data)
            total += len(words)
            yield words
        if msgspec.json.decode(data, type=_Done).words != total or file.read(1):
            raise ValueError("its end does not fit")


def _write_section(file: BinaryIO, tag: bytes, data: bytes) -> None:
    """Write one section, compressed."""
    packed = zlib.compress(data, _LEVEL)
    file.write(tag + len(packed).to_bytes(_LENGTH_BYTES, "little") + packed)


def read_section(file: BinaryIO) -> tuple[bytes, bytes]:
    """Tag and content of the next section; EOFError at the end of the file."""
    start = file.read(_TAG_BYTES + _LENGTH_BYTES)
    length = int.from_bytes(start[_TAG_BYTES:], "little")
    if len(start) < _TAG_BYTES + _LENGTH_BYTES or length > _MAX_SECTION_BYTES:
        raise EOFError
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(file.read(length), _MAX_SECTION_BYTES)
    if not unpacker.eof:
        raise EOFError
    if unpacker.unused_data:
        raise ValueError("a section is longer than its content")
    return start[:_TAG_BYTES], data


def _chunks(words: Words) -> Iterator[Words]:
    """`words` in parts of about `CHUNK_WORDS`, cut between records."""
    if len(words) <= 2 * CHUNK_WORDS:
        if len(words):
            yield words
        return
    starts = record_starts(words)
    wanted = np.arange(CHUNK_WORDS, len(words), CHUNK_WORDS)
    yield from np.split(words, starts[np.searchsorted(starts, wanted, "right") - 1])


def _check_version(file: BinaryIO, path: Path) -> None:
    start = file.read(len(MAGIC) + 1)
    if not is_own_format(start):
        raise InputError("not a trace of kernelcast", where=str(path))
    if start[len(MAGIC) :] not in [bytes([version]) for version in _READ]:
        raise InputError(
            f"a trace of format {start[len(MAGIC) :].hex() or 'unknown'}",
            where=str(path),
            hint=f"this version reads formats {_READ[0]} to {_READ[-1]}; make the trace anew",
        )


@contextmanager
def _damages(path: Path) -> Iterator[None]:
    """What is wrong with a file, as an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", where=str(path), hint="check the path"
        ) from None
    except EOFError:
        raise InputError("the trace is cut short", where=str(path), hint="make it anew") from None
    except (zlib.error, ValueError, msgspec.MsgspecError) as error:
        raise InputError(
            f"the trace is damaged: {error}", where=str(path), hint="make it anew"
        ) from None
