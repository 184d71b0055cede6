"""Questions about sets of whole numbers, answered exactly by isl (Verdoolaege, ICMS 2010)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernelcast.errors import ToolError
from kernelcast.frontends.c.accesses import Constraint
from kernelcast.frontends.c.polynomials import Polynomial


def sample(
    constraints: Iterable[Constraint],
    either: Sequence[Constraint],
    variables: frozenset[str],
) -> Mapping[str, int] | None:
    """Numbers for all names under which every constraint holds, and one of `either`, if that has
    any; None where there are none. Names that are not `variables` are sizes, 0 or more.

    Constraints that multiply variables are left out, so what is found may fail those.
    """
    isl = _isl()
    kept = [each for each in constraints if each.value.linear_in(variables)]
    names = _IslNames([*kept, *either], variables)
    texts = [each.text() for each in kept] + [f"{p} >= 0" for p in names.parameters]
    if either:
        texts.append("(" + " or ".join(each.text() for each in either) + ")")
    points = isl.Set(names.text(texts))
    if points.is_empty():
        return None
    point = points.sample_point()
    found = {}
    for kind, called in (
        (isl.dim_type.set, names.variables),
        (isl.dim_type.param, names.parameters),
    ):
        for at, one in enumerate(called):
            found[one] = int(point.get_coordinate_val(kind, at).to_python())
    return found


def extremes(
    value: Polynomial, constraints: Iterable[Constraint], variables: frozenset[str]
) -> tuple[int, int] | None:
    """The least and the largest value of a polynomial without sizes; None where there is none.

    ValueError where it has no bound.
    """
    isl = _isl()
    result = "value"
    equation = Constraint(value - Polynomial({(result,): 1}), True)
    kept = [each for each in constraints if each.value.linear_in(variables)]
    names = _IslNames([equation, *kept], variables | {result})
    points = isl.Set(names.text([each.text() for each in [equation, *kept]]))
    if points.is_empty():
        return None
    at = names.variables.index(result)
    found = points.dim_min_val(at), points.dim_max_val(at)
    if not all(each.is_int() for each in found):
        raise ValueError("no bound")
    return found[0].to_python(), found[1].to_python()


class _IslNames:
    """The variables and parameters of constraints, in a fixed order."""

    def __init__(self, constraints: Sequence[Constraint], variables: frozenset[str]) -> None:
        used = {name for each in constraints for name in each.value.names}
        self.variables = sorted(used & variables)
        self.parameters = sorted(
            {p for each in constraints for p in each.value.parameters(variables)}
        )

    def text(self, texts: Sequence[str]) -> str:
        """A set as isl reads it."""
        condition = " and ".join(texts) or "true"
        point = ", ".join(self.variables)
        return f"[{', '.join(self.parameters)}] -> {{ [{point}] : {condition} }}"


def _isl() -> Any:
    try:
        import islpy
    except ImportError:
        raise ToolError(
            "islpy is not installed, which tests loops for dependences",
            hint='install it: pip install "kernelcast[c]"',
        ) from None
    return islpy
