"""Launches of machine code whose results are known, on which mutants are tried.

Some are of the kernels with known results, the oracle being NumPy. The others are recorded while
the tests of meanings run: what a launch leaves behind in a test that passes is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.compiled_families import load_family
from tests.kept import CACHE

from kernelcast.errors import CompileError, ExecutionError
from kernelcast.execution import engine
from kernelcast.execution import execute as execution
from kernelcast.execution.consumers import Consumer
from kernelcast.execution.fills import ELEMENT_TYPES
from kernelcast.execution.memory import Memory
from kernelcast.frontends import check_launch
from kernelcast.ir import Kernel, Launch
from kernelcast.suite.expected import expected_result
from kernelcast.suite.registry import families
from kernelcast.suite.table import Scale, SuiteKernel

BUDGET = 1_000_000
"""Warp instructions of a block: broken branches may make loops endless."""

Arrays = Sequence[NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Case:
    """A launch; `prepare` fills its memory, and `is_right` judges what it leaves there."""

    name: str
    kernel: Kernel
    launch: Launch
    prepare: Callable[[Memory], None]
    is_right: Callable[[Memory], bool]

    @property
    def length(self) -> int:
        """Steps of the kernel: the time to compile them is most of what a run takes."""
        return sum(map(len, self.kernel.meanings))

    def is_like(self, other: Case) -> bool:
        """Whether another case is the same code launched in the same way."""
        return (self.launch, self.kernel) == (other.launch, other.kernel)

    def passes(self, kernel: Kernel) -> bool:
        """Whether a kernel in the place of its own leaves what it should.

        Raises UnsupportedError where the kernel cannot be executed at all.
        """
        memory = Memory.build(kernel, self.launch)
        self.prepare(memory)
        try:
            execution.execute(kernel, self.launch, memory, executor="engine", budget=BUDGET)
        except ExecutionError:
            return False
        return self.is_right(memory)


def known_cases(architecture: str) -> Iterator[Case]:
    """The kernels with known results, in their small launches."""
    for family, members in families().items():
        try:
            module = load_family(family, architecture, CACHE)
        except CompileError:
            continue  # a family that needs NVIDIA's headers
        for known in members:
            launch = known.launches(Scale.SMALL)[0]
            kernel = module.machine_kernel(launch.kernel)
            launch = check_launch(kernel, launch)
            is_right = partial(_is_expected, known, launch)
            yield Case(known.name, kernel, launch, _leave, is_right)


def _leave(memory: Memory) -> None:
    """The arrays start as the launch says."""


def _is_expected(known: SuiteKernel, launch: Launch, memory: Memory) -> bool:
    return not expected_result(known, launch).difference(memory)


def recorded_cases(architecture: str, files: Sequence[str]) -> list[Case]:
    """What the tests of some files execute; RuntimeError where they do not pass."""
    recorder = _Recorder(architecture)
    options = ["-o", "addopts=", "--import-mode=importlib", "-p", "tests.selection", "--all"]
    arguments = [*options, "-p", "no:cacheprovider", "-p", "no:terminal", *files]
    if pytest.main(arguments, plugins=[recorder]) is not pytest.ExitCode.OK:
        raise RuntimeError(f"not all tests pass: {recorder.failed}")
    return recorder.cases


class _Recorder:
    """A plugin of pytest that takes down what tests of an architecture execute."""

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture
        self.cases: list[Case] = []
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the tests of other architectures."""
        items[:] = [i for i in items if _architecture(i) in ("", self.architecture)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Note the runs of a test, and keep them if it passes."""
        found: list[Case] = []

        def run(kernel: Kernel, launch: Launch, memory: Memory, *rest: Any, **options: Any) -> Any:
            before = _copies(memory)
            done = run_engine(kernel, launch, memory, *rest, **options)
            target = kernel.target.rstrip("af")
            if kernel.meanings and options["needed"] is None and target == self.architecture:
                fill, is_right = partial(_fill, before), partial(_are_equal, _copies(memory))
                found.append(Case(item.name, kernel, launch, fill, is_right))
            return done

        run_engine = engine.run_engine
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "run_engine", run)
            patch.setattr(execution, "_with_reference", _with_engine)
            yield
        for case in found:
            if not any(map(case.is_like, self.cases)):
                self.cases.append(case)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what fails."""
        if report.failed:
            self.failed.append(report.nodeid)


def _architecture(item: pytest.Item) -> str:
    """What a test is about; nothing where it says so in its body, or is about several."""
    parameters: Mapping[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    return str(parameters.get("architecture", ""))


def _with_engine(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    blocks: tuple[int, ...],
    budget: int,
    resident: int,
    consumers: Sequence[Consumer],
) -> execution.Execution:
    """Runs of the reference interpreter would be the same again, but slow."""
    return execution._with_engine(
        kernel, launch, memory, blocks, budget, consumers, 1, resident, None, None, None, None
    )


def _arrays(memory: Memory) -> Arrays:
    """The elements of the arguments."""
    return [
        memory.bytes_at(r.address, r.size_bytes).view(ELEMENT_TYPES[r.type])
        for r in memory.regions
        if r.is_argument
    ]


def _copies(memory: Memory) -> Arrays:
    return [array.copy() for array in _arrays(memory)]


def _fill(values: Arrays, memory: Memory) -> None:
    for array, value in zip(_arrays(memory), values, strict=True):
        array[:] = value


def _are_equal(values: Arrays, memory: Memory) -> bool:
    """Whether the arrays hold these values; all NaN are alike."""
    return all(
        np.array_equal(array, value, equal_nan=value.dtype.kind == "f")
        for array, value in zip(_arrays(memory), values, strict=True)
    )
