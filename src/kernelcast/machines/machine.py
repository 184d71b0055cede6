"""A chip: identity, and numbers that each know their unit, kind and source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kernelcast.errors import MissingNumberError
from kernelcast.machines.clocks import CLOCKS, at_clocks


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

    def rescaled(self, value: float, to: str) -> Quantity:
        """The number at other clocks, named in `to`; its source says what it was rescaled from."""
        source = f"rescaled to {to}: {self.value:.6g} by {self.kind} ({self.source})"
        return replace(self, value=value, kind=Provenance.ASSUMED, source=source)


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
        """A copy with some numbers replaced or added, remembered in `overrides`.

        A clock takes with it what follows it (see `clocks`), and the size of the L1 cache what a
        chase finds of it, but for what is given beside it.
        """
        following = {**self._rescaled(quantities), **self._resized(quantities)}
        return replace(
            self,
            quantities={**self.quantities, **following, **quantities},
            overrides=(*self.overrides, *quantities),
        )

    def _rescaled(self, given: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
        """What follows the clocks among the numbers given, at those."""
        clocks = {
            p: q.value for p, q in given.items() if p in CLOCKS and isinstance(q.value, float | int)
        }
        if not clocks:
            return {}
        to = ", ".join(f"{path} of {hz / 1e9:.4g} GHz" for path, hz in clocks.items())
        numbers = at_clocks(self.get, clocks)
        return {path: self.quantities[path].rescaled(value, to) for path, value in numbers.items()}

    def _resized(self, given: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
        """`l1.reach` at another size of the L1 cache: the same share of it."""
        size, old, reach = (
            given.get("l1.size"),
            self.get("l1.size"),
            self.quantities.get("l1.reach"),
        )
        if size is None or old is None or reach is None:
            return {}
        assert isinstance(size.value, float | int) and isinstance(reach.value, float | int)
        to = f"an l1.size of {size.value:g} B"
        return {"l1.reach": reach.rescaled(reach.value * size.value / old, to)}
