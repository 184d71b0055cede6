"""A written trace as values: what it is of, its code, and the path of its warps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelcast.execution.memory import Region
from kernelcast.ir import Kernel, Launch
from kernelcast.traces.written.expressions import Expression


@dataclass(frozen=True, slots=True)
class PathStep:
    """ThreadValues enter a basic block."""

    block: int
    where: str


@dataclass(frozen=True, slots=True)
class PathLoop:
    """Statements several times; `name` counts from 0, or is empty."""

    name: str
    count: Expression
    body: tuple[PathStatement, ...]


@dataclass(frozen=True, slots=True)
class PathBranch:
    """Statements for the threads for which a condition holds."""

    condition: Expression
    body: tuple[PathStatement, ...]


PathStatement = PathStep | PathLoop | PathBranch


@dataclass(frozen=True, slots=True)
class WrittenAccess:
    """Addresses of a memory instruction; `condition` says which lanes access, None for all."""

    address: Expression
    condition: Expression | None


@dataclass(frozen=True)
class WrittenTrace:
    """All that a written trace says.

    `labels` are those of basic blocks, `accesses` are by instruction, `names` numbers and the
    addresses of arrays.
    """

    kernel: Kernel
    launch: Launch
    labels: tuple[str, ...]
    accesses: Mapping[int, WrittenAccess] = field(repr=False)
    path: tuple[PathStatement, ...] = field(repr=False)
    names: Mapping[str, int]
    regions: tuple[Region, ...]
    where: str
