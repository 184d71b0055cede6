"""Results kept by the numbers of a machine that they were made of.

A function of a machine that reads the same values gives the same result, whatever else differs. So
what a sweep over one number does not touch is computed once, and nobody has to say what that is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kernelcast.machines.machine import Machine, Quantity

_Computed = TypeVar("_Computed")
_MOST_RESULTS = 128
"""Of one function; when there are more, all of them make room."""


class KeptResults:
    """Results of functions of one chip, by the values of the numbers that each of them read.

    A copy, also one that was sent to another process, starts empty.
    """

    def __init__(self) -> None:
        self._functions: dict[Hashable, _KeptFunction] = {}

    def __reduce__(self) -> tuple[type[KeptResults], tuple[()]]:
        return KeptResults, ()

    def get(
        self,
        function: Hashable,
        arguments: Hashable,
        machine: Machine,
        compute: Callable[[Machine], _Computed],
    ) -> _Computed:
        """What `compute` makes of the machine, from an earlier call where that read the same.

        `function` and `arguments` say what is computed. The machine that `compute` is given notes
        what is read of it; results must not hold on to it. Errors are not kept.
        """
        kept = self._functions.setdefault(function, _KeptFunction())
        result: _Computed = kept.get(_asked(arguments, machine), machine, compute)
        return result

    def known(self, function: Hashable, arguments: Hashable, machine: Machine) -> KeptResult | None:
        """What is kept of a function for these arguments and numbers, None where nothing is."""
        kept = self._functions.get(function)
        return None if kept is None else kept.known(_asked(arguments, machine), machine)

    def learn(
        self, function: Hashable, arguments: Hashable, machine: Machine, known: KeptResult
    ) -> None:
        """Keep what another process has computed for these arguments and numbers."""
        kept = self._functions.setdefault(function, _KeptFunction())
        kept.keep(_asked(arguments, machine), machine, known)


def _asked(arguments: Hashable, machine: Machine) -> Hashable:
    return arguments, machine.name, machine.overrides


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A result, and the paths of the numbers that were read for it."""

    paths: tuple[str, ...]
    result: Any


class _KeptFunction:
    """Results by what was asked and the values read; `paths` are those that were read for it."""

    def __init__(self) -> None:
        self._paths: dict[Hashable, list[tuple[str, ...]]] = {}
        self._results: dict[Hashable, Any] = {}

    def get(self, asked: Hashable, machine: Machine, compute: Callable[[Machine], Any]) -> Any:
        if (known := self.known(asked, machine)) is not None:
            return known.result
        read = _NotedNumbers(machine.quantities)
        result = compute(replace(machine, quantities=read))
        self.keep(asked, machine, KeptResult(tuple(read.paths), result))
        return result

    def known(self, asked: Hashable, machine: Machine) -> KeptResult | None:
        for paths in self._paths.get(asked, ()):
            key = (asked, paths, _values(machine, paths))
            if key in self._results:
                return KeptResult(paths, self._results[key])
        return None

    def keep(self, asked: Hashable, machine: Machine, known: KeptResult) -> None:
        if len(self._results) == _MOST_RESULTS:
            self._paths.clear()
            self._results.clear()
        paths = self._paths.setdefault(asked, [])
        if known.paths not in paths:
            paths.append(known.paths)
        self._results[asked, known.paths, _values(machine, known.paths)] = known.result


def _values(machine: Machine, paths: tuple[str, ...]) -> tuple[object, ...]:
    """Values only: where a number is from follows from the machine's name and overrides."""
    found = map(machine.quantities.get, paths)
    return tuple([None if quantity is None else quantity.value for quantity in found])


class _NotedNumbers(Mapping[str, Quantity]):
    """Numbers that note the paths that are looked up, also those that are not there."""

    def __init__(self, numbers: Mapping[str, Quantity]) -> None:
        self._numbers = numbers
        self.paths: dict[str, None] = {}

    def __getitem__(self, path: str) -> Quantity:
        self.paths[path] = None
        return self._numbers[path]

    def get(self, path: str, default: Any = None) -> Any:
        """As of any mapping, at the cost of one look-up."""
        self.paths[path] = None
        return self._numbers.get(path, default)

    def __iter__(self) -> Iterator[str]:
        # Whoever goes through all of them depends on all, and on there being no more.
        self.paths.update(dict.fromkeys(self._numbers))
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
