"""Which loops of a nest may run in parallel, by an exact test of every pair of accesses.

Two accesses to an array meet where their subscripts are equal. A loop is *free* where no two
iterations of the nest in which it has different values meet in an access that writes. Any choice
of free loops may become the grid, whatever their order: all iterations that meet have the same
values of these, so they are in the same thread, which runs them in the order of the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from kernelcast.frontends.c.accesses import ArrayAccess, Constraint, IndexedLoop, NestAccesses
from kernelcast.frontends.c.integer_sets import sample
from kernelcast.frontends.c.nodes import place
from kernelcast.frontends.c.polynomials import Monomial, Polynomial, name, whole
from kernelcast.frontends.c.refusals import RefusedError


@dataclass(frozen=True)
class Dependence:
    """Two accesses that meet in different iterations of a loop, with an example."""

    loop: IndexedLoop
    first: ArrayAccess
    second: ArrayAccess
    iterations: tuple[int, int]

    def __str__(self) -> str:
        kind = "reads" if not self.first.is_write else "writes"
        variable = self.loop.loop.variable
        a, b = self.iterations
        line = place(self.second.node).line
        return (
            f"iteration {variable} = {a} {kind} an element of {self.first.array} that iteration "
            f"{variable} = {b} writes in line {line}"
        )


def separated(nest: NestAccesses) -> NestAccesses:
    """The nest with the subscripts of linearised arrays split into dimensions.

    `a[i * m + j]` with 0 <= j < m is `a[i][j]` of rows of m: only so the subscripts are affine.
    RefusedError where what is left over may leave its row.
    """
    found: list[ArrayAccess] = []
    for _, group in groupby(sorted(nest.accesses, key=lambda a: a.array), key=lambda a: a.array):
        found += _separated_array(list(group), nest.variables)
    return replace(nest, accesses=tuple(found))


def carried(
    nest: NestAccesses, loop: IndexedLoop, accesses: Sequence[ArrayAccess] | None = None
) -> Dependence | None:
    """Why a loop is not free; None where it is."""
    for a, b in _pairs(nest.accesses if accesses is None else accesses):
        point = _meet(a, b, nest.variables, loop.index)
        if point is not None:
            reader, writer = (a, b) if b.is_write else (b, a)
            own, other = (_A, _B) if b.is_write else (_B, _A)
            iterations = (point[loop.index + own], point[loop.index + other])
            return Dependence(loop, reader, writer, iterations)
    return None


def blocks_distribution(nest: NestAccesses, loop: IndexedLoop, part: int) -> bool:
    """Whether the parts of a loop's body up to `part` cannot run as a loop of their own before
    the others: a later part's iteration would come too late for one of theirs after it."""
    for a, b in _pairs(nest.accesses):
        early, late = (a, b) if a.part <= part else (b, a)
        if early.part <= part < late.part:
            after = name(loop.index + _A) - name(loop.index + _B) - whole(1)
            down = whole(1 if loop.loop.step > 0 else -1)
            constraint = Constraint((after + whole(1)) * down - whole(1))
            if _meets(early, late, nest.variables, [constraint]) is not None:
                return True
    return False


_A, _B = "_a", "_b"
"""Behind the names of variables of the one and the other iteration."""


def _pairs(accesses: Sequence[ArrayAccess]) -> Iterator[tuple[ArrayAccess, ArrayAccess]]:
    for at, a in enumerate(accesses):
        for b in accesses[at:]:
            if a.array == b.array and (a.is_write or b.is_write):
                yield a, b


def _meet(
    a: ArrayAccess, b: ArrayAccess, variables: frozenset[str], index: str
) -> Mapping[str, int] | None:
    one, other = name(index + _A), name(index + _B)
    either = [Constraint(one - other - whole(1)), Constraint(other - one - whole(1))]
    return _meets(a, b, variables, (), either)


def _meets(
    a: ArrayAccess,
    b: ArrayAccess,
    variables: frozenset[str],
    more: Sequence[Constraint],
    either: Sequence[Constraint] = (),
) -> Mapping[str, int] | None:
    """An example of two iterations in which two accesses meet."""
    in_a, in_b = (_suffixed(variables, suffix) for suffix in (_A, _B))
    constraints = [
        *(Constraint(c.value.renamed(in_a), c.is_equation) for c in a.domain),
        *(Constraint(c.value.renamed(in_b), c.is_equation) for c in b.domain),
        *(
            Constraint(x.renamed(in_a) - y.renamed(in_b), True)
            for x, y in zip(a.subscripts, b.subscripts, strict=True)
        ),
        *more,
    ]
    both = frozenset(v + suffix for v in variables for suffix in (_A, _B))
    return sample(constraints, either, both)


def _suffixed(variables: frozenset[str], suffix: str) -> Callable[[str], str]:
    return lambda one: one + suffix if one in variables else one


# Linearised arrays.


def _separated_array(accesses: list[ArrayAccess], variables: frozenset[str]) -> list[ArrayAccess]:
    if all(s.linear_in(variables) for a in accesses for s in a.subscripts):
        return accesses
    for each in accesses:
        if len(each.subscripts) > 1 or not all(
            len(variables & set(m)) <= 1 and sum(one in variables for one in m) <= 1
            for m in each.subscripts[0].terms
        ):
            raise RefusedError(each.node, f"a subscript of {each.array} multiplies loop variables")
    strides = _strides(accesses, variables)
    return [_split(each, strides, variables) for each in accesses]


def _strides(accesses: list[ArrayAccess], variables: frozenset[str]) -> list[tuple[Monomial, int]]:
    """The products of sizes that variables are multiplied with, the longest first, and the
    greatest common factor of each."""
    factors: dict[Monomial, int] = {}
    for each in accesses:
        for monomial, factor in each.subscripts[0].terms.items():
            sizes = tuple(one for one in monomial if one not in variables)
            if sizes and len(sizes) < len(monomial):
                factors[sizes] = math.gcd(factors.get(sizes, 0), factor)
    found = sorted(factors.items(), key=lambda item: -len(item[0]))
    for (outer, _), (inner, _) in pairwise(found):
        if _quotient(outer, inner) is None or len(outer) == len(inner):
            raise RefusedError(
                accesses[0].node,
                f"subscripts of {accesses[0].array} have rows of different lengths",
            )
    return found


def _quotient(of: Monomial, by: Monomial) -> Monomial | None:
    rest = list(of)
    for one in by:
        if one not in rest:
            return None
        rest.remove(one)
    return tuple(rest)


def _split(
    access: ArrayAccess, strides: list[tuple[Monomial, int]], variables: frozenset[str]
) -> ArrayAccess:
    rest = dict(access.subscripts[0].terms)
    found: list[Polynomial] = []
    for sizes, factor in strides:
        taken: dict[Monomial, int] = {}
        for monomial, times in list(rest.items()):
            left = _quotient(monomial, sizes)
            if left is not None and times % factor == 0:
                taken[left] = times // factor
                del rest[monomial]
        found.append(Polynomial(taken))
    found.append(Polynomial(rest))
    lengths = [*strides, ((), 1)]
    for at, inner in enumerate(found[1:], 1):
        (outer, times), (own, by) = lengths[at - 1], lengths[at]
        left = _quotient(outer, own)
        row = Polynomial({left or (): times // by}) if times % by == 0 else whole(0)
        outside = [Constraint(whole(-1) - inner), Constraint(inner - row)]
        if sample(access.domain, outside, variables) is not None:
            raise RefusedError(
                access.node,
                f"a subscript of {access.array} is not affine: it may leave its row of "
                f"{row.text().removeprefix('+1*').replace('__', '*')} elements",
                "such an access may meet any other",
            )
    return replace(access, subscripts=tuple(found))
