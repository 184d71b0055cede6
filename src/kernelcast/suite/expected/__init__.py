"""What every kernel of the suite computes, by NumPy, and how close a result must come.

A module per family holds a function per kernel: from the arguments before the launch to the arrays
after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.fills import ELEMENT_TYPES, fill_array
from kernelcast.execution.memory import Memory
from kernelcast.ir import Array, Launch
from kernelcast.suite.table import SuiteKernel

ExpectedValues = NDArray[Any]


class Given:
    """The arguments of a launch by label, arrays in their shape and as they start."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        for label, value in launch.args.items():
            setattr(self, label, _filled(value) if isinstance(value, Array) else value)

    def __getattr__(self, label: str) -> Any:
        raise AttributeError(f"the kernel has no parameter {label}")


@dataclass(frozen=True)
class ExpectedResult:
    """Arrays after a launch, and by how much a result may differ from them.

    An element may be off by `absolute` plus `relative` times what is expected. The elements of
    `unordered` arrays lie where the first thread to come has put them, and are compared sorted.
    Arrays that are not named are as they were.
    """

    arrays: Mapping[str, ExpectedValues]
    relative: float = 0.0
    absolute: float = 0.0
    unordered: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether results are equal on every machine."""
        return not self.relative and not self.absolute

    def difference(self, memory: Memory) -> str:
        """The first array that is not as expected, and where; empty if all are."""
        for label, expected in self.arrays.items():
            found, wanted = memory.array(label), np.ravel(expected)
            assert found.shape == wanted.shape, f"{label}: {wanted.size} values expected"
            if label in self.unordered:
                found, wanted = np.sort(found), np.sort(wanted)
            wrong = np.flatnonzero(~self._close(found, wanted))
            if wrong.size:
                at = wrong[0]
                return (
                    f"{label}[{at}] is {found[at]!r}, not {wanted[at]!r}, "
                    f"and {wrong.size - 1} more of {wanted.size} are wrong"
                )
        return ""

    def _close(self, found: ExpectedValues, wanted: ExpectedValues) -> ExpectedValues:
        if self.is_exact:
            return np.asarray(found == wanted.astype(found.dtype))
        return np.asarray(np.isclose(found.astype(float), wanted, self.relative, self.absolute))


def exact(**arrays: ExpectedValues) -> ExpectedResult:
    """Results that are equal on every machine."""
    return ExpectedResult(arrays)


def near(relative: float, absolute: float = 0.0, /, **arrays: ExpectedValues) -> ExpectedResult:
    """Results that depend on the order of sums, or on the last bits of a function."""
    return ExpectedResult(arrays, relative, absolute)


def in_any_order(*labels: str, **arrays: ExpectedValues) -> ExpectedResult:
    """Results that are equal on every machine, but for the order of what is in `labels`."""
    return ExpectedResult(arrays, unordered=labels)


def expected_result(kernel: SuiteKernel, launch: Launch) -> ExpectedResult:
    """What `kernel` leaves behind when it is launched so."""
    module = import_module(f"{__package__}.{kernel.family}")
    result: ExpectedResult = getattr(module, kernel.name)(Given(launch))
    return result


def _filled(array: Array) -> ExpectedValues:
    flat = np.zeros(array.elements, ELEMENT_TYPES[array.type])
    fill_array(flat, array)
    return flat.reshape(array.shape)
