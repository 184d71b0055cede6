"""The pack, a zip file that Python runs: what it holds besides this program."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from .gpu_driver import GpuError


@dataclass(frozen=True)
class CompiledCode:
    """Compiled code for an architecture: cubins by their name without ending."""

    architecture: str
    cubins: Mapping[str, bytes]

    def sha256(self, stem: str) -> str:
        """A hash of a cubin."""
        return hashlib.sha256(self.cubins[stem]).hexdigest()

    def identity(self) -> dict[str, str]:
        """What raw files say of the code that was measured: a hash by each file's name."""
        hashes = {f"{stem}.cubin": self.sha256(stem) for stem in sorted(self.cubins)}
        return {"architecture": self.architecture, **hashes}


class Archive:
    """A pack's files by their path; GpuError where it is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise self._damaged(str(error)) from None

    def check(self) -> None:
        """GpuError where a file is not what its checksum says."""
        try:
            bad = self._zip.testzip()
        except (OSError, zipfile.BadZipFile, zlib.error) as error:
            raise self._damaged(str(error)) from None
        if bad is not None:
            raise self._damaged(bad)

    def _damaged(self, what: str) -> GpuError:
        return GpuError("no code", f"{self.path} is damaged ({what}); copy the pack again")

    def read(self, name: str) -> bytes:
        """A file; GpuError where the pack was made without it."""
        try:
            return self._zip.read(name)
        except KeyError:
            raise GpuError("no code", f"{self.path} holds no {name}") from None

    def below(self, folder: str, ending: str) -> dict[str, bytes]:
        """Files right in a folder, by their name without ending."""
        found = [PurePosixPath(name) for name in self._zip.namelist()]
        return {
            file.stem: self._zip.read(str(file))
            for file in found
            if str(file.parent) == folder and file.suffix == ending
        }

    def code(self, folder: str, device: Mapping[str, Any]) -> CompiledCode:
        """Code for a device: of its major compute capability, and no newer minor one."""
        major, minor = device["major"], device["minor"]
        paths = [PurePosixPath(name) for name in self._zip.namelist()]
        has = {f.parent.name for f in paths if str(f.parent.parent) == folder}
        for older in range(minor, -1, -1):
            name = f"sm_{major}{older}"
            if name in has:
                return CompiledCode(name, self.below(f"{folder}/{name}", ".cubin"))
        known = ", ".join(sorted(has)) or "none"
        raise GpuError("no code", f"the pack has none for sm_{major}{minor}, only {known}")
