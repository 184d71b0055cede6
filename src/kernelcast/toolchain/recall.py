"""Results that later processes find again, under all that they follow from.

They are pickled: whoever can write the cache's directory can have code executed, as with the
machine code that lies there.
"""

from __future__ import annotations

import os
import pickle
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from kernelcast.toolchain.cache import Cache, content_key
from kernelcast.version import VERSION

_PACKAGE = Path(__file__).parents[1]
_LEVEL = 1
"""Of compression: arrays of counts are zeros for the most part."""


def recall_in(cache: Cache | None) -> Recall | None:
    """What is kept in a cache, None where that keeps nothing.

    Where the environment says `KERNELCAST_RECALL=0`, nothing is looked up, and nothing is added.
    """
    if cache is None or cache.directory is None or os.environ.get("KERNELCAST_RECALL") == "0":
        return None
    return Recall(cache, "")


@dataclass(frozen=True)
class Recall:
    """What is kept about one subject, of which `key` says everything that its results follow from.

    The code of this package is part of every key, so that a result never outlives what made it.
    """

    cache: Cache
    key: str

    def about(self, *parts: str) -> Recall:
        """The same where a result follows from some more."""
        return Recall(self.cache, content_key(self.key, *parts))

    def find(self, what: str) -> object | None:
        """The result that was kept under a name, None where there is none."""
        stored = self.cache.get("result", self._key(what))
        found: object = None if stored is None else pickle.loads(zlib.decompress(stored))
        return found

    def keep(self, what: str, result: object) -> None:
        """Keep a result under a name."""
        data = zlib.compress(pickle.dumps(result, pickle.HIGHEST_PROTOCOL), _LEVEL)
        self.cache.put("result", self._key(what), data)

    def _key(self, what: str) -> str:
        return content_key(_made_by(), self.key, what)


@cache
def _made_by() -> str:
    """The code that makes results: its files by size and time, and what lays down arrays."""
    return content_key(VERSION, sys.version, np.__version__, *_files(_PACKAGE))


def _files(folder: Path) -> Iterator[str]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _files(Path(entry.path))
        else:
            status = entry.stat()
            yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"
