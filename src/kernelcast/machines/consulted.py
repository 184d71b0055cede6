"""Which numbers of a machine somebody reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kernelcast.machines.machine import Machine, Quantity


@dataclass(frozen=True)
class _Consulted(Mapping[str, Quantity]):
    """Numbers of a machine by path; `read` has the paths of those that were looked at."""

    quantities: Mapping[str, Quantity]
    read: set[str] = field(default_factory=set)

    def __getitem__(self, path: str) -> Quantity:
        found = self.quantities[path]
        self.read.add(path)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.quantities)

    def __len__(self) -> int:
        return len(self.quantities)

    def __contains__(self, path: object) -> bool:
        return path in self.quantities


def watched(machine: Machine) -> tuple[Machine, set[str]]:
    """The same machine, and the paths of its numbers as they are read, a set that grows."""
    numbers = _Consulted(machine.quantities)
    return replace(machine, quantities=numbers), numbers.read
