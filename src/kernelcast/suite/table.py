"""A kernel of the suite: its code, and its launches as they are written."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kernelcast.frontends.expressions import Number
from kernelcast.frontends.launches import make_launch
from kernelcast.ir import Argument, Array, Launch

SOURCES = Path(__file__).parent / "families"

Names = Mapping[str, Number]

MATRIX_CODE = "mma"
NVIDIA_HEADERS = "headers"
"""What a kernel may need: instructions on whole matrices, NVIDIA's own header files."""


class Scale(StrEnum):
    """How much a launch does: enough to check a result, or enough to time a GPU."""

    SMALL = "small"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class SuiteKernel:
    """One kernel and its launches, written as expressions over names.

    `expression` is the kernel as launches name it; braces in it stand for names, as in
    `gemm_tiled<{tile}>`. `needs` says what not every installation or executor has.
    """

    expression: str
    geometry: Geometry
    args: Mapping[str, str]
    needs: tuple[str, ...] = ()
    family: str = ""

    @property
    def name(self) -> str:
        """The kernel's name in the source, which no other kernel of the suite has."""
        return self.expression.partition("<")[0]

    @property
    def source(self) -> Path:
        """The CUDA file that defines it."""
        return SOURCES / f"{self.family}.cu"

    def launches(self, scale: Scale) -> tuple[Launch, ...]:
        """One launch per configuration, ready for `Memory.build`."""
        shape = self.geometry
        sizes = shape.small if scale is Scale.SMALL else shape.full
        return tuple(self._launch({**sizes, **names}) for names in shape.over)

    def _launch(self, names: Names) -> Launch:
        return make_launch(
            grid=self.geometry.grid,
            block=self.geometry.block,
            smem=self.geometry.smem,
            args=self.args,
            names=names,
            kernel=self.expression.format(**names),
            where=self.name,
        )


@dataclass(frozen=True, slots=True)
class Geometry:
    """How kernels are launched: extents over names, and the values of the names.

    Every entry of `over` is one configuration; `small` and `full` give the names that depend on
    the scale, which a configuration may replace.
    """

    grid: str
    block: str
    over: tuple[Names, ...]
    small: Names
    full: Names
    smem: str = "0"

    def kernel(self, expression: str, needs: tuple[str, ...] = (), /, **args: str) -> SuiteKernel:
        """A kernel launched so; `args` are its arguments as they are written, in its order."""
        return SuiteKernel(expression, self, args, needs)


def argument_text(value: Argument) -> str:
    """An argument as it is written in launches, every number in full."""
    if not isinstance(value, Array):
        return repr(value)
    numbers = ", ".join(repr(int(n) if n == int(n) else n) for n in value.fill.numbers)
    shape = ", ".join(map(str, value.shape))
    return f"{value.type}[{shape}] {value.fill.kind}" + (f"({numbers})" if numbers else "")


def vary(**values: Sequence[Number]) -> tuple[Names, ...]:
    """A configuration for every combination of the values."""
    return tuple(
        dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())
    )


def rows(names: str, *values: tuple[Number, ...]) -> tuple[Names, ...]:
    """A configuration for every row of values, in the order of the names."""
    return tuple(dict(zip(names.split(), row, strict=True)) for row in values)


BLOCKS = vary(block=(256, 32, 64, 128, 512, 1024))
"""One-dimensional blocks, the usual one first."""

GRIDS = rows("block blocks", (256, 264), (256, 132), (256, 1056), (128, 528), (512, 264), (64, 66))
"""Grids of fixed size whose threads stride over the data."""

BLOCKS_2D = rows("bx by", (32, 8), (16, 16), (32, 4), (64, 4), (128, 2), (32, 32))
"""Two-dimensional blocks."""
