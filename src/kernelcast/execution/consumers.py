"""Those who follow a run: they take the stream of its trace as it is made (see `trace`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, TypeGuard, runtime_checkable

import numpy as np

from kernelcast.execution.trace import Words


class Consumer(Protocol):
    """Takes the stream of a trace, part by part."""

    def consume(self, words: Words) -> None:
        """The next words of the stream; they end with a record and are valid during the call."""
        ...


@runtime_checkable
class Splittable(Consumer, Protocol):
    """A consumer whose work several threads can share.

    Every thread feeds a consumer of its own with whole blocks, in ascending order; which ones is a
    matter of timing. So what the parts have taken together must not depend on it: sums of integers,
    unions, or what is kept by the block it belongs to.
    """

    def split(self) -> Self:
        """An empty consumer of the same run; asked for while this one may be consuming."""
        ...

    def merge(self, other: Self) -> None:
        """Take over what a part has taken, once the run is over."""
        ...


def are_splittable(consumers: Sequence[Consumer]) -> TypeGuard[Sequence[Splittable]]:
    """Whether several threads can share the work of all these consumers."""
    return all(isinstance(consumer, Splittable) for consumer in consumers)


class Keep:
    """Keeps the stream whole."""

    def __init__(self) -> None:
        self._parts: list[Words] = []

    def consume(self, words: Words) -> None:
        """The next words of the stream."""
        self._parts.append(words.copy())

    @property
    def words(self) -> Words:
        """All words so far."""
        return np.concatenate(self._parts) if self._parts else np.empty(0, np.uint64)
