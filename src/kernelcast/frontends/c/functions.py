"""Functions that a loop may call: those of the mathematical library, and the file's own."""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.frontends.c.nodes import Node, kind, walk
from kernelcast.frontends.c.refusals import RefusedError
from kernelcast.frontends.c.types import CType

_OF_ONE = """acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor
    lgamma log log10 log1p log2 nearbyint rint round sin sinh sqrt tan tanh tgamma trunc"""
_OF_MORE = "atan2 copysign fdim fma fmax fmin fmod hypot pow remainder"
MATHEMATICAL = frozenset(f"{_OF_ONE} {_OF_MORE}".split())
"""Functions of `math.h` that take and give `double`; with an `f` behind, `float`."""
_OF_INTEGERS = frozenset({"abs", "labs", "llabs", "isnan", "isinf", "isfinite", "signbit"})


def _is_known(name: str) -> bool:
    """Whether CUDA C++ has a function of the C library."""
    return name in _OF_INTEGERS or name in MATHEMATICAL or name.removesuffix("f") in MATHEMATICAL


def check_call(call: Node, functions: Mapping[str, Node], types: Mapping[str, CType]) -> None:
    """RefusedError for a call that a kernel cannot make: of what has no body, of itself in the
    end, of what works on more than its numbers."""
    name = call.name.name if kind(call.name) == "ID" else ""
    if not name:
        raise RefusedError(call, "a call through a pointer")
    if _is_known(name) and name not in functions:
        return
    if name not in functions:
        raise RefusedError(
            call, f"{name} has no body here", "define it in the file, or take the call out"
        )
    for argument in call.args.exprs if call.args else []:
        if kind(argument) == "ID" and (found := types.get(argument.name)) and found.is_array:
            raise RefusedError(call, f"{name} is given the array {argument.name}", "inline it")
    for each in called_functions(name, functions):
        _check_body(call, each, functions)


def called_functions(name: str, functions: Mapping[str, Node]) -> tuple[str, ...]:
    """A function of the file and all that it calls, callees first.

    RefusedError where one of them calls itself in the end.
    """
    found: list[str] = []
    _collect(name, functions, (), found)
    return tuple(found)


def _collect(
    name: str, functions: Mapping[str, Node], path: tuple[str, ...], found: list[str]
) -> None:
    if name in path:
        raise RefusedError(functions[name], f"{name} calls itself", "write it as a loop")
    for call in calls_in(functions[name]):
        callee = getattr(call.name, "name", "")
        if callee in functions:
            _collect(callee, functions, (*path, name), found)
        elif not _is_known(callee):
            raise RefusedError(call, f"{callee} has no body here", "define it in the file")
    if name not in found:
        found.append(name)


def calls_in(node: Node) -> list[Node]:
    """All calls of a tree."""
    return [each for each in walk(node) if kind(each) == "FuncCall"]


def _check_body(call: Node, name: str, functions: Mapping[str, Node]) -> None:
    """That a function works on its parameters and local variables alone."""
    function = functions[name]
    for each in walk(function):
        if kind(each) in ("ArrayRef", "PtrDecl", "StructRef", "ArrayDecl"):
            raise RefusedError(call, f"{name} works on memory", "inline it")
    known = {each.name for each in walk(function) if kind(each) == "Decl"}
    known |= {getattr(each.name, "name", "") for each in calls_in(function)}
    unknown = [
        each.name for each in walk(function) if kind(each) == "ID" and each.name not in known
    ]
    if unknown:
        raise RefusedError(call, f"{name} uses {unknown[0]}, which is not its own", "pass it")
