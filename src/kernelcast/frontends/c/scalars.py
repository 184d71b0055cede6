"""Variables that are no arrays: of each iteration its own, or combined over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from kernelcast.frontends.c.nodes import Node, assigned, kind, names_in, walk
from kernelcast.frontends.c.types import CType


class Operator(Enum):
    """How a reduction combines two values: a word, and an expression of `a` and `b`."""

    SUM = "sum"
    PRODUCT = "product"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"


@dataclass(frozen=True)
class Reduction:
    """A variable that every iteration combines with something of its own, and none reads."""

    name: str
    type: CType
    operator: Operator


_OF_ASSIGNMENT = {
    "+=": Operator.SUM,
    "-=": Operator.SUM,
    "*=": Operator.PRODUCT,
}
_OF_BINARY = {"+": Operator.SUM, "*": Operator.PRODUCT}
_OF_CALLS = {
    **dict.fromkeys(("fmax", "fmaxf"), Operator.MAXIMUM),
    **dict.fromkeys(("fmin", "fminf"), Operator.MINIMUM),
}


def reduction_of(body: Sequence[Node], name: str, type_: CType) -> Reduction | None:
    """How a variable is combined over iterations; None where it is used in any other way."""
    found: set[Operator] = set()
    for part in body:
        if not _only_combined(part, name, found):
            return None
    return Reduction(name, type_, found.pop()) if len(found) == 1 else None


def _only_combined(node: Node, name: str, found: set[Operator]) -> bool:
    if node is None or name not in names_in(node):
        return True
    operator = _combination(node, name)
    if operator is not None:
        found.add(operator)
        return True
    if kind(node) in ("ID", "Assignment", "UnaryOp") and _mentions_directly(node, name):
        return False
    if kind(node) == "Decl" and node.name == name:
        return False
    return all(_only_combined(child, name, found) for _, child in node.children())


def _mentions_directly(node: Node, name: str) -> bool:
    target = {"Assignment": "lvalue", "UnaryOp": "expr"}.get(kind(node))
    inner = getattr(node, target) if target else node
    return kind(inner) == "ID" and inner.name == name


def _combination(node: Node, name: str) -> Operator | None:
    """The operator of a statement that combines the variable with a value without it."""
    if kind(node) == "UnaryOp" and node.op in ("++", "p++", "--", "p--") and _is(node.expr, name):
        return Operator.SUM
    if kind(node) == "Assignment" and _is(node.lvalue, name):
        if node.op in _OF_ASSIGNMENT and name not in names_in(node.rvalue):
            return _OF_ASSIGNMENT[node.op]
        return _of_value(node.rvalue, name) if node.op == "=" else None
    if kind(node) == "If" and node.iffalse is None:
        return _guarded(node, name)
    return None


def _of_value(value: Node, name: str) -> Operator | None:
    """Of what is assigned to it: `s + x`, `fmax(s, x)`, `x > s ? x : s`."""
    if kind(value) == "BinaryOp" and value.op in ("+", "*", "-"):
        sides = (value.left, value.right)
        if value.op == "-":
            fits = _is(value.left, name) and name not in names_in(value.right)
            return Operator.SUM if fits else None
        for own, other in (sides, sides[::-1]):
            if _is(own, name) and name not in names_in(other):
                return _OF_BINARY[value.op]
        # s + a + b is (s + a) + b.
        inner = _of_value(value.left, name)
        if inner is _OF_BINARY[value.op] and name not in names_in(value.right):
            return inner
    if kind(value) == "FuncCall" and getattr(value.name, "name", "") in _OF_CALLS:
        first, second = value.args.exprs
        if _is(first, name) != _is(second, name):
            other = second if _is(first, name) else first
            return _OF_CALLS[value.name.name] if name not in names_in(other) else None
    if kind(value) == "TernaryOp":
        return _selected(value.cond, value.iftrue, value.iffalse, name)
    return None


def _guarded(node: Node, name: str) -> Operator | None:
    """`if (x > s) s = x;`"""
    inner = node.iftrue
    if kind(inner) == "Compound" and len(inner.block_items or []) == 1:
        inner = inner.block_items[0]
    if kind(inner) == "Assignment" and inner.op == "=" and _is(inner.lvalue, name):
        return _selected(node.cond, inner.rvalue, inner.lvalue, name)
    return None


def _selected(condition: Node, if_true: Node, if_false: Node, name: str) -> Operator | None:
    """The operator that takes `if_true` where the condition holds, else `if_false`."""
    if kind(condition) != "BinaryOp" or condition.op not in ("<", "<=", ">", ">="):
        return None
    left, right = condition.left, condition.right
    if not _is(left, name) and not _is(right, name):
        return None
    is_less = condition.op.startswith("<")
    # As "the smaller is on the left".
    small, large = (left, right) if is_less else (right, left)
    if _same(if_true, small) and _same(if_false, large):
        return Operator.MINIMUM
    if _same(if_true, large) and _same(if_false, small):
        return Operator.MAXIMUM
    return None


def _is(node: Node, name: str) -> bool:
    return kind(node) == "ID" and bool(node.name == name)


def _same(a: Node, b: Node) -> bool:
    """Whether two trees are alike."""
    if kind(a) != kind(b):
        return False
    if any(getattr(a, one) != getattr(b, one) for one in a.attr_names):
        return False
    below_a, below_b = a.children(), b.children()
    return len(below_a) == len(below_b) and all(
        _same(x, y) for (_, x), (_, y) in zip(below_a, below_b, strict=True)
    )


class Use(Enum):
    """What comes first of a variable in some statements."""

    NONE = "none"
    READ = "read"
    WRITTEN = "written"


def first_use(nodes: Sequence[Node], name: str) -> Use:
    """Whether a variable is read before it is surely written, or the other way round.

    A write that may not happen counts for nothing, so what follows it may still be a read.
    """
    for node in nodes:
        use = _first(node, name)
        if use is not Use.NONE:
            return use
    return Use.NONE


def _first(node: Node, name: str) -> Use:
    if node is None or (name not in names_in(node) and name not in _declared(node)):
        return Use.NONE
    match kind(node):
        case "ID":
            return Use.READ
        case "Assignment":
            inside = first_use([node.rvalue], name)
            if inside is not Use.NONE or not _is(node.lvalue, name):
                return inside if inside is not Use.NONE else _first(node.lvalue, name)
            return Use.WRITTEN if node.op == "=" else Use.READ
        case "Decl":
            inside = first_use([node.init], name)
            return Use.WRITTEN if inside is Use.NONE and node.name == name else inside
        case "If":
            if (use := _first(node.cond, name)) is not Use.NONE:
                return use
            uses = {_first(node.iftrue, name), _first(node.iffalse, name)}
            return Use.READ if Use.READ in uses else uses.pop() if len(uses) == 1 else Use.NONE
        case "For":
            use = first_use([node.init, node.cond], name)
            if use is not Use.NONE:
                return use
            return Use.READ if first_use([node.stmt, node.next], name) is Use.READ else Use.NONE
        case "While":
            use = _first(node.cond, name)
            if use is not Use.NONE:
                return use
            return Use.READ if _first(node.stmt, name) is Use.READ else Use.NONE
    return first_use([child for _, child in node.children()], name)


def _declared(node: Node) -> set[str]:
    return {each.name for each in walk(node) if kind(each) == "Decl" and each.name}


def scalars_assigned(body: Sequence[Node], types: Mapping[str, CType]) -> list[str]:
    """The variables from outside that a body assigns to, in order."""
    own = {name for part in body for name in _declared(part)}
    targets = [target for part in body for target, _ in assigned(part)]
    names = [t.name for t in targets if kind(t) == "ID"]
    return [
        n for n in dict.fromkeys(names) if n not in own and n in types and not types[n].is_array
    ]
