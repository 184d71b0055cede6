"""A chip: identity, and numbers that each know their unit, kind and source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kernelcast.errors import MissingNumberError


class Provenance(StrEnum):
    """How a number came to be known."""

    STATED = "stated"
    MEASURED = "measured"
    FITTED = "fitted"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a machine file. `value` is a tuple only for lists such as carve-out sizes."""

    value: float | tuple[float, ...]
    unit: str
    kind: Provenance
    source: str


@dataclass(frozen=True)
class Machine:
    """A chip. Numbers are named by dotted paths, for example `dram.bandwidth`; see `schema`.

    An unknown number is absent, never 0.
    """

    name: str
    title: str
    vendor: str
    chip: str
    architecture: str
    compute_capability: tuple[int, int]
    quantities: Mapping[str, Quantity] = field(repr=False)
    file: str = ""
    version: str = ""
    overrides: tuple[str, ...] = ()

    def get(self, path: str) -> float | None:
        """The number at `path` in SI units or cycles, None where unknown."""
        quantity = self.quantities.get(path)
        if quantity is None:
            return None
        if isinstance(quantity.value, tuple):
            raise TypeError(f"{path} is a list; read it with numbers()")
        return quantity.value

    def number(self, path: str, needed_by: str = "") -> float:
        """The number at `path`; MissingNumberError where the machine file has none."""
        value = self.get(path)
        if value is None:
            raise MissingNumberError(self.name, path, needed_by)
        return value

    def numbers(self, path: str) -> tuple[float, ...]:
        """The list at `path`, empty where unknown."""
        quantity = self.quantities.get(path)
        if quantity is None:
            return ()
        return quantity.value if isinstance(quantity.value, tuple) else (quantity.value,)

    def with_quantities(self, quantities: Mapping[str, Quantity]) -> Machine:
        """A copy with some numbers replaced or added, remembered in `overrides`."""
        return replace(
            self,
            quantities={**self.quantities, **quantities},
            overrides=(*self.overrides, *quantities),
        )
