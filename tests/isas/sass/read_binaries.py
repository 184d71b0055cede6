"""Command line of `read-binaries`: all machine code of wheels, libraries and cubins is read.

It prints how many instructions have an opcode that the table knows, and a meaning. A cubin for an
architecture that nvdisasm refuses counts as refused; one that cannot be read is a failure.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.progress import track

from kernelcast.errors import InputError, KernelcastError, UnsupportedError
from kernelcast.frontends.cubin import read_cubin
from kernelcast.frontends.fatbin import is_container, open_fat_binary
from kernelcast.frontends.machine_kernel import linked_kernel
from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.kernel import UNKNOWN
from kernelcast.isas.sass.opcodes import opcode
from kernelcast.toolchain.nvdisasm import disassemble

_SHOWN = 40


@dataclass
class Reading:
    """What some cubins hold.

    `by_target` counts cubins; `unlisted` instructions by opcode where the table does not know it,
    and `without_meaning` by spelling.
    """

    kernels: int = 0
    instructions: int = 0
    by_target: Counter[str] = field(default_factory=Counter)
    unlisted: Counter[str] = field(default_factory=Counter)
    without_meaning: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Reading) -> None:
        """Count another one as well."""
        self.kernels += other.kernels
        self.instructions += other.instructions
        self.by_target += other.by_target
        self.unlisted += other.unlisted
        self.without_meaning += other.without_meaning
        self.refused += other.refused
        self.failures += other.failures


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where all could be read, else 1."""
    parser = argparse.ArgumentParser(prog="scripts/read-binaries", description=__doc__)
    parser.add_argument("file", nargs="+", type=Path, help="wheel, library, program or cubin")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    options = parser.parse_args(arguments)
    total = Reading()
    with ProcessPoolExecutor(options.jobs) as pool, cubins(options.file) as found:
        print(f"{len(found)} cubins")
        for reading in track(
            pool.map(read, *zip(*found, strict=True)), "reading", total=len(found)
        ):
            total.add(reading)
    report(total)
    return 1 if total.failures else 0


def report(found: Reading) -> None:
    """Print the counts."""
    targets = ", ".join(f"{target} {count}" for target, count in sorted(found.by_target.items()))
    known = found.instructions - found.unlisted.total()
    meant = found.instructions - found.without_meaning.total()
    print(f"cubins read: {found.by_target.total()} ({targets})")
    print(f"refused by nvdisasm: {found.refused}; failed: {len(found.failures)}")
    print(f"kernels: {found.kernels}; instructions: {found.instructions}")
    print(f"opcode in the table: {known / (found.instructions or 1):.2%}")
    print(f"meaning known: {meant / (found.instructions or 1):.2%}")
    for name, count in found.without_meaning.most_common(_SHOWN):
        print(f"  without a meaning: {name} {count}")
    for failure in found.failures:
        print(f"  failed: {failure}")


@contextmanager
def cubins(files: Sequence[Path]) -> Iterator[list[tuple[str, Path]]]:
    """Name and file of every cubin in the files, those of containers unpacked for the time."""
    with tempfile.TemporaryDirectory(prefix="cubins-") as directory:
        found: list[tuple[str, Path]] = []
        for file in files:
            found += _cubins_of(file, str(file), Path(directory))
        yield found


def _cubins_of(file: Path, name: str, directory: Path) -> Iterator[tuple[str, Path]]:
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as wheel:
            for member in wheel.infolist():
                if member.filename.endswith((".cubin", ".so", ".fatbin")):
                    path = directory / f"{len(list(directory.iterdir()))}"
                    path.write_bytes(wheel.read(member))
                    yield from _cubins_of(path, f"{name}:{member.filename}", directory)
    elif is_container(file):
        try:
            with open_fat_binary(file) as binary:
                for number, (inside, data) in enumerate(binary.cubins()):
                    path = directory / f"{file.name}.{number}"
                    path.write_bytes(data)
                    yield f"{name}: {inside.architecture} {number}", path
        except InputError as error:
            print(f"left out: {name}: {error.what}")
    elif file.read_bytes()[:4] == b"\x7fELF":
        yield name, file


def read(name: str, path: Path) -> Reading:
    """One cubin: every instruction that its kernels can reach, as a forecast would see it."""
    found = Reading()
    try:
        data = path.read_bytes()
        cubin = read_cubin(data, name=name)
        module = parse_sass(disassemble(data, name=name), name)
        for mangled in cubin.kernels:
            kernel = linked_kernel(module, cubin, mangled)
            found.kernels += 1
            found.instructions += len(kernel.instructions)
            for instruction, steps in zip(kernel.instructions, kernel.meanings, strict=True):
                if opcode(instruction.opcode) is None:
                    found.unlisted[instruction.opcode] += 1
                if any(step.opcode == UNKNOWN for step in steps):
                    found.without_meaning[instruction.name] += 1
        found.by_target[module.target] += 1
    except UnsupportedError:
        found.refused += 1
    except KernelcastError as error:
        found.failures.append(f"{name}: {error}")
    return found


if __name__ == "__main__":
    sys.exit(main())
