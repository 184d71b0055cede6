"""A directory of results, each under the hash of everything it was made from.

A cache can only save time: a damaged entry is a miss and is written anew, and a directory that
cannot be read or written behaves like an empty one.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_MAGIC = b"kernelcast cache 1\n"
"""Head of every entry; its number changes with the format."""
_CHECKSUM_BYTES = hashlib.sha256().digest_size
_MAX_BYTES = 1 << 30
"""Size above which the entries used least recently are deleted."""
_KEPT_SHARE = 0.75
"""Share of `max_bytes` that a pruning leaves, so that it does not happen at every write."""
_size_bytes: dict[Path, int] = {}
"""By directory, what this process has found there and added: looking at every entry takes long."""


def default_directory() -> Path:
    """$KERNELCAST_CACHE, else the platform's place for caches."""
    if chosen := os.environ.get("KERNELCAST_CACHE"):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "kernelcast"


def content_key(*parts: str | bytes) -> str:
    """The hash of a sequence of inputs; no two sequences share one, however they are cut."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@dataclass
class Cache:
    """Entries by kind and key below one directory; `directory` None keeps nothing.

    Any number of processes may use one directory: entries are written beside their place and
    moved there whole.
    """

    directory: Path | None = field(default_factory=default_directory)
    max_bytes: int = _MAX_BYTES

    def get(self, kind: str, key: str | bytes) -> bytes | None:
        """The data stored last under the key; None where there is none or it is damaged."""
        path = self._path(kind, key)
        if path is None:
            return None
        try:
            entry = path.read_bytes()
        except OSError:
            return None
        head = len(_MAGIC) + _CHECKSUM_BYTES
        data = entry[head:]
        if entry[:head] != _MAGIC + _checksum(path, data):
            return None
        with suppress(OSError):
            os.utime(path)  # the pruning keeps what was used last
        return data

    def put(self, kind: str, key: str | bytes, data: bytes) -> None:
        """Store data under the key; where the directory cannot be written, nothing happens."""
        path = self._path(kind, key)
        if path is None:
            return
        entry = _MAGIC + _checksum(path, data) + data
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(path, entry)
            self._prune(len(entry))

    def _path(self, kind: str, key: str | bytes) -> Path | None:
        if self.directory is None:
            return None
        name = content_key(kind, key)
        return Path(self.directory) / kind / name[:2] / name

    def _prune(self, added_bytes: int) -> None:
        assert self.directory is not None
        place = Path(self.directory)
        if place in _size_bytes:
            _size_bytes[place] += added_bytes
        else:
            _size_bytes[place] = sum(size for _, size, _ in self._entries())
        if _size_bytes[place] <= self.max_bytes:
            return
        size = 0
        for _, entry_bytes, path in sorted(self._entries(), reverse=True):
            size += entry_bytes
            if size > _KEPT_SHARE * self.max_bytes:
                path.unlink(missing_ok=True)
                size -= entry_bytes
        _size_bytes[place] = size

    def _entries(self) -> Iterator[tuple[int, int, Path]]:
        """Time of last use in ns, size in bytes, and path of every entry."""
        assert self.directory is not None
        for path in Path(self.directory).glob("*/??/*"):
            with suppress(OSError):
                status = path.stat()
                yield status.st_mtime_ns, status.st_size, path


def _checksum(path: Path, data: bytes) -> bytes:
    """Covers the entry's name too, so that an entry in a wrong place is a miss."""
    return hashlib.sha256(path.name.encode() + data).digest()


def _replace(path: Path, data: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix="new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
