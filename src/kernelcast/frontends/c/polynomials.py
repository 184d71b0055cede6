"""Polynomials with whole coefficients: what subscripts and bounds of loops are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Monomial = tuple[str, ...]
"""Names that are multiplied, sorted; the empty one stands for 1."""


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of monomials, each times a whole number other than 0."""

    terms: Mapping[Monomial, int]

    def __add__(self, other: Polynomial) -> Polynomial:
        made = dict(self.terms)
        for monomial, factor in other.terms.items():
            made[monomial] = made.get(monomial, 0) + factor
        return _of(made)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other * whole(-1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        made: dict[Monomial, int] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                both = tuple(sorted((*a, *b)))
                made[both] = made.get(both, 0) + x * y
        return _of(made)

    @property
    def names(self) -> frozenset[str]:
        """The names in it."""
        return frozenset(name for monomial in self.terms for name in monomial)

    @property
    def constant(self) -> int | None:
        """Its value where no name is in it."""
        return self.terms.get((), 0) if not self.names else None

    def replaced(self, values: Mapping[str, int]) -> Polynomial:
        """Numbers in place of names."""
        made = whole(0)
        for monomial, factor in self.terms.items():
            product = whole(factor)
            for one in monomial:
                product = product * (whole(values[one]) if one in values else name(one))
            made = made + product
        return made

    def renamed(self, called: Callable[[str], str]) -> Polynomial:
        """Other names in place of its own."""
        return _of(
            {
                tuple(sorted(map(called, monomial))): factor
                for monomial, factor in self.terms.items()
            }
        )

    def linear_in(self, variables: frozenset[str]) -> bool:
        """Whether no monomial multiplies one of the variables with anything named."""
        return all(len(m) == 1 or not variables & set(m) for m in self.terms)

    def text(self) -> str:
        """As isl reads it; a product of parameters is one parameter."""
        parts = [
            f"{factor}" + (f"*{'__'.join(monomial)}" if monomial else "")
            for monomial, factor in sorted(self.terms.items())
        ]
        return " + ".join(parts) or "0"

    def parameters(self, variables: frozenset[str]) -> Iterator[str]:
        """The parameters of its text: monomials without a variable."""
        return ("__".join(m) for m in self.terms if m and not variables & set(m))


def _of(terms: Mapping[Monomial, int]) -> Polynomial:
    return Polynomial({monomial: factor for monomial, factor in terms.items() if factor})


def whole(value: int) -> Polynomial:
    """A whole number."""
    return _of({(): value})


def name(text: str) -> Polynomial:
    """A variable or parameter."""
    return _of({(text,): 1})
