"""Whether the machine code of a random kernel does what its PTX does, and what code that is."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.properties.ptx_unique_writer import UNIT_BEGINS, UNIT_ENDS
from tests.properties.ptx_writer import Program

from kernelcast.errors import KernelcastError, UnsupportedError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cubin import read_cubin
from kernelcast.frontends.machine_kernel import machine_kernel
from kernelcast.ir import Array, Kernel
from kernelcast.isas.ptx import parse_ptx
from kernelcast.isas.sass import parse_sass
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvdisasm import disassemble
from kernelcast.toolchain.ptxas import assemble

NAME = "generated.ptx"
BUDGET = 200_000
_SHOWN = 4
_CRASH = "ended with status -"
"""Of an assembler that a signal ended: it has neither refused the program nor assembled it."""

Image = Mapping[str, NDArray[np.generic]]
"""The arrays of a launch after it, by name."""
SassKernel = Callable[[bytes, Kernel, Cache], Kernel]


def sass_kernel(cubin: bytes, ptx: Kernel, cache: Cache) -> Kernel:
    """The machine code of the PTX's only kernel, as a kernel that can be executed."""
    found = read_cubin(cubin, name=NAME)
    return machine_kernel(cubin, found, ptx.name, name=NAME, described=ptx, cache=cache)


@dataclass(frozen=True)
class Difference:
    """Where two executions differ, or a step fails: `where` is `ptx` or an architecture."""

    where: str
    what: str

    @property
    def kind(self) -> str:
        """The class of an error, or `memory`."""
        head = self.what.partition(":")[0]
        return head if head.endswith("Error") else "memory"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True)
class Agreement:
    """What came of one program: `gaps` are instructions that cannot be executed yet, `crashes` are
    of the assembler, and `spelt` counts the names of all instructions of its machine code by
    architecture.
    """

    differences: tuple[Difference, ...] = ()
    gaps: tuple[Difference, ...] = ()
    crashes: tuple[Difference, ...] = ()
    spelt: Mapping[str, Counter[str]] = field(default_factory=dict)

    @property
    def is_executed(self) -> bool:
        """Whether there was machine code, and all of it has been executed."""
        return bool(self.spelt) and not (self.gaps or self.crashes)


def agree(
    program: Program,
    architectures: Sequence[str],
    *,
    executors: Sequence[str] = ("reference",),
    kernel_of: SassKernel = sass_kernel,
) -> Agreement:
    """Execute a program's PTX, and the machine code made of it for each of the architectures.

    The reference interpreter's execution of the PTX is what all others are held to; `executors`
    are those that execute the machine code, and, where it is another, the PTX. Architectures older
    than the program's own are left out.
    """
    kernel = parse_ptx(program.text, NAME).kernel()
    expected = image_of(kernel, program, "reference")
    found = _Findings(program, expected)
    for executor in executors:
        if executor != "reference":
            found.compare(f"ptx by {executor}", lambda: kernel, executor)
    for architecture in architectures:
        if int(architecture.removeprefix("sm_")) >= program.architecture:
            with tempfile.TemporaryDirectory(prefix="agree-") as directory:
                _machine_code(found, kernel, architecture, executors, kernel_of, Path(directory))
    return Agreement(tuple(found.differences), tuple(found.gaps), tuple(found.crashes), found.spelt)


class _Findings:
    """What is found while a program is executed in one way after the other."""

    def __init__(self, program: Program, expected: Image) -> None:
        self.program = program
        self.expected = expected
        self.differences: list[Difference] = []
        self.gaps: list[Difference] = []
        self.crashes: list[Difference] = []
        self.spelt: dict[str, Counter[str]] = {}

    def compare(self, where: str, made: Callable[[], Kernel], executor: str) -> None:
        """Execute a kernel and look at the memory it leaves."""
        try:
            image = image_of(made(), self.program, executor)
        except UnsupportedError as error:
            self.gaps.append(Difference(where, str(error)))
        except KernelcastError as error:
            self.fail(where, error)
        else:
            self.differences += [
                Difference(where, what) for what in unequal(self.expected, image, self.program)
            ]

    def fail(self, where: str, error: KernelcastError) -> None:
        """A step that should have worked did not."""
        failure = Difference(where, f"{type(error).__name__}: {error}")
        (self.crashes if _CRASH in str(error) else self.differences).append(failure)


def _machine_code(
    found: _Findings,
    ptx: Kernel,
    architecture: str,
    executors: Sequence[str],
    kernel_of: SassKernel,
    directory: Path,
) -> None:
    cache = Cache(directory)  # of the listing, which takes longest
    try:
        cubin = assemble(found.program.text, architecture, name=NAME)
        module = parse_sass(disassemble(cubin, cache, name=NAME), NAME)
    except KernelcastError as error:
        return found.fail(architecture, error)
    found.spelt[architecture] = Counter(
        instruction.name
        for function in module.functions.values()
        for instruction in function.instructions
    )
    for executor in executors:
        found.compare(
            f"{architecture} by {executor}", lambda: kernel_of(cubin, ptx, cache), executor
        )
    return None


def image_of(kernel: Kernel, program: Program, executor: str) -> Image:
    """A copy of the launch's arrays after the kernel has been executed."""
    memory = Memory.build(kernel, program.launch)
    memory.array("in")[:] = program.words
    execute(kernel, program.launch, memory, executor=executor, budget=BUDGET)
    return {r.label: memory.array(r.label).copy() for r in memory.regions if r.is_argument}


def unequal(expected: Image, found: Image, program: Program) -> list[str]:
    """The arrays that differ, each with the first of its elements that do."""
    result = []
    for name, wanted in expected.items():
        array = program.launch.args[name]
        assert isinstance(array, Array)
        got = found[name]
        differs = np.flatnonzero(_differs(wanted, got, array.type, program.tolerances.get(name)))
        if differs.size:
            shown = ", ".join(f"[{at}] {got[at]} for {wanted[at]}" for at in differs[:_SHOWN])
            result.append(f"{name}: {differs.size} of {wanted.size} elements: {shown}")
    return result


def _differs(
    wanted: NDArray[Any], got: NDArray[Any], type_name: str, tolerance: float | None
) -> NDArray[np.bool_]:
    """Bit by bit, but for the bits of a NaN, and within a tolerance where there is one."""
    if type_name == "bf16":
        nans = [(v & 0x7FFF) > 0x7F80 for v in (wanted, got)]
    elif type_name.startswith("f"):
        nans = [np.isnan(wanted), np.isnan(got)]
    else:
        return np.asarray(wanted != got)
    bits = np.dtype(f"u{wanted.itemsize}")
    same = np.asarray(wanted.view(bits) == got.view(bits))
    if tolerance is not None:
        with np.errstate(invalid="ignore"):
            same |= np.abs(wanted - got) <= tolerance * np.maximum(np.abs(wanted), 1)
    return np.asarray(~(same | (nans[0] & nans[1])))


def reduced(program: Program, still_wrong: Callable[[Program], bool]) -> Program:
    """The program without the statements that a wrong result does not need."""
    at = 0  # all larger ones before it are needed
    while at < len(units := _units(program.text)):
        begin, end = sorted(units, key=lambda unit: unit[0] - unit[1])[at]
        lines = program.text.splitlines(keepends=True)
        smaller = replace(program, text="".join([*lines[:begin], *lines[end + 1 :]]))
        if still_wrong(smaller):
            program = smaller
        else:
            at += 1
    return program


def _units(text: str) -> list[tuple[int, int]]:
    """Lines from and to which a statement reaches."""
    found, open_at = [], []
    for at, line in enumerate(text.splitlines()):
        if line == UNIT_BEGINS:
            open_at.append(at)
        elif line == UNIT_ENDS:
            found.append((open_at.pop(), at))
    return found
