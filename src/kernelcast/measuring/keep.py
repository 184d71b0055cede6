"""Keeps what was measured on a GPU together with the machine code that was measured."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.files import read_unpacked, write_into
from kernelcast.measuring.ground_truth_pack import ground_truth_part
from kernelcast.measuring.harness import ground_truth, measure, profile
from kernelcast.measuring.harness.ground_truth_arrays import FOLDER
from kernelcast.measuring.pack import compile_benchmark, source_files
from kernelcast.measuring.raw import Document, read_document, schema_of
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvdisasm import disassemble

_Cubins = Mapping[str, bytes]


@dataclass(frozen=True)
class _KeptKind:
    """A kind of raw file: its name among what is kept, its code's folder, and that code.

    `cubins` compiles files by their names without ending for an architecture.
    """

    name: str
    folder: str
    cubins: Callable[[Collection[str], str, Cache], _Cubins]


def _benchmarks(stems: Collection[str], architecture: str, cache: Cache) -> _Cubins:
    files = [file for file in source_files() if file.stem in stems]
    return {f"{f.stem}.cubin": compile_benchmark(f, architecture, cache).cubin for f in files}


def _kernels(stems: Collection[str], architecture: str, cache: Cache) -> _Cubins:
    contents = ground_truth_part([architecture], cache, tuple(stems)).contents
    start = f"{FOLDER}/{architecture}/"
    return {
        path.removeprefix(start): data for path, data in contents.items() if path.startswith(start)
    }


_KINDS: Mapping[str, _KeptKind] = {
    measure.SCHEMA: _KeptKind("raw.json.gz", "benchmarks", _benchmarks),
    ground_truth.SCHEMA: _KeptKind("ground-truth.json.gz", "kernels", _kernels),
    profile.SCHEMA: _KeptKind("profiles.json.gz", "kernels", _kernels),
}


def keep(file: str, directory: Path, cache: Cache) -> tuple[Path, ...]:
    """Compress a raw file into `directory`, with a listing of each cubin that it names.

    The paths of what was written.

    The raw file holds the cubins' hashes. They are compiled anew here: InputError where that does
    not give the same code, as with another version of kernelcast or of NVIDIA's compiler.
    """
    document = _document(file)
    kind = _KINDS[document.schema]
    wanted = _hashes(document, file)
    stems = [Path(name).stem for name in wanted]
    cubins = kind.cubins(stems, document.code["architecture"], cache)
    for name, digest in wanted.items():
        if hashlib.sha256(cubins.get(name, b"")).hexdigest() != digest:
            raise InputError(
                f"measured code that this version does not make: {name}",
                where=file,
                hint="keep it with the version that made the pack",
            )
    contents = {kind.name: gzip.compress(read_unpacked(Path(file)), mtime=0)}
    for name in wanted:
        listing = disassemble(cubins[name], cache, name=name).encode()
        contents[f"sass/{kind.folder}/{Path(name).stem}.sass.gz"] = gzip.compress(listing, mtime=0)
    return write_into(directory, contents)


def _document(file: str) -> Document:
    try:
        stated = schema_of(read_unpacked(Path(file)), file)
    except OSError:
        stated = ""
    # Of a file that is none of them, the reader says why.
    return read_document(file, stated if stated in _KINDS else measure.SCHEMA)


def _hashes(document: Document, file: str) -> Mapping[str, str]:
    """The cubins that were measured, with their hashes."""
    if "architecture" not in document.code:
        raise InputError("does not say which code it measured", where=file, hint="measure again")
    return {name: digest for name, digest in document.code.items() if name != "architecture"}
