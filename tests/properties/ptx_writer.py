"""How a random PTX kernel is written: its registers, its labels, and every choice that is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt
from random import Random
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tests.properties.ptx_operations import (
    FLOATS_32,
    FLOATS_64,
    IMMEDIATES,
    OPERATIONS,
    POOLS,
    PREDICATES,
    SELECTIONS,
    Operation,
    within,
)

from kernelcast.ir import Launch

INPUT_WORDS = 256
T = TypeVar("T")


@dataclass(frozen=True)
class Program:
    """A generated kernel `k`, a launch that fits it, and the words of its array `in`.

    `architecture` is the first that has all its instructions. `tolerances` says how far off the
    values of an array may be, relative to the greater of 1 and the value; where it says nothing,
    they are exact.
    """

    text: str
    launch: Launch
    words: NDArray[np.uint32]
    architecture: int = 100
    tolerances: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{self.launch}\n{self.text}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Let hypothesis show the kernel's text as it is."""
        printer.text(repr(self))


class Writer:
    """Writes statements; `random` makes every choice.

    Registers are kept in pools by what they hold, so that the bits of a NaN, which may differ
    between executors, never reach an integer. A kernel computes in `chosen` pools only: what takes
    time is its compilation. `nested` writes the statements inside a branch or loop.
    """

    def __init__(
        self,
        random: Random,
        chosen: Iterable[str],
        nested: Callable[[Writer, int, int], None],
        *,
        architecture: int = 100,
        predicates: int = 4,
        full_warps: bool = True,
        accepts: Callable[[Operation], bool] = lambda row: True,
    ) -> None:
        self.random = random
        self.nested = nested
        self.counts = {**{pool: count for pool, (_, count, _) in POOLS.items()}, "p": predicates}
        pools = {"r", "p", *chosen}

        def families(rows: list[Operation]) -> list[list[Operation]]:
            usable = [r for r in within(rows, pools) if r.since <= architecture and accepts(r)]
            return by_opcode(usable)

        self.operations = families(OPERATIONS)
        self.predicates = families(PREDICATES)
        self.selections = families(SELECTIONS)
        self.full_warps = full_warps
        self.lines: list[str] = []
        self.labels = 0
        self.loops = 0

    def pick(self, choices: Sequence[T]) -> T:
        return self.random.choice(choices)

    def below(self, count: int) -> int:
        return self.random.randrange(count)

    def distinct(self, choices: Sequence[T], count: int) -> list[T]:
        return self.random.sample(choices, count)

    def register(self, pool: str) -> str:
        return f"%{pool}{self.below(self.counts[pool])}"

    def source(self, pool: str) -> str:
        """A register, now and then a literal where the pool has any."""
        if pool in ("r", "l", "f", "d") and self.below(5) == 0:
            literals = {"f": FLOATS_32, "d": FLOATS_64}.get(pool, IMMEDIATES)
            return str(self.pick(literals))
        return self.register(pool)

    def emit(self, text: str) -> None:
        self.lines.append(f"\t{text};")

    def emit_maybe(self, text: str) -> None:
        """An instruction that lanes execute where a predicate says so, now and then."""
        choice = self.below(8)
        self.emit(f"@{'!' * choice}{self.register('p')} {text}" if choice < 2 else text)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def new_label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def new_counter(self) -> str:
        self.loops += 1
        return f"%c{self.loops - 1}"


def by_opcode(rows: list[Operation]) -> list[list[Operation]]:
    """The rows of each opcode; those of many forms stand there more than once, to come up more."""
    groups: dict[str, list[Operation]] = {}
    for row in rows:
        groups.setdefault(row.name.partition(".")[0], []).append(row)
    return [group for group in groups.values() for _ in range(isqrt(len(group)))]


def input_words(seed: int) -> NDArray[np.uint32]:
    """Words of which a third are random bits, a third small numbers, a third floats near 1."""
    generator = np.random.default_rng(seed)
    kinds = (
        generator.integers(0, 1 << 32, INPUT_WORDS, dtype=np.uint32),
        generator.integers(-40, 40, INPUT_WORDS, dtype=np.int32).view(np.uint32),
        generator.normal(size=INPUT_WORDS).astype(np.float32).view(np.uint32),
    )
    return np.choose(generator.integers(0, 3, INPUT_WORDS), kinds)


def elements(pool: str, count: int) -> int:
    """Elements of an array that holds the registers of a pool of one thread."""
    return count * (2 if pool in "xyw" else 1)
