"""`for` loops whose iterations are known before they start."""

from __future__ import annotations

from dataclasses import dataclass

from kernelcast.frontends.c.nodes import Node, assigned_names, kind, names_in, walk
from kernelcast.frontends.c.refusals import RefusedError

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


@dataclass(frozen=True)
class ForLoop:
    """`for (variable = start; variable comparison stop; variable += step)`.

    `type_name` is the type that it declares its variable with, empty where that stands outside.
    """

    variable: str
    type_name: str
    start: Node
    comparison: str
    stop: Node
    step: int
    node: Node

    @property
    def body(self) -> Node:
        """What it repeats."""
        return self.node.stmt


def for_loop(node: Node) -> ForLoop:
    """A loop whose variable goes from a start to a bound in whole steps, both fixed before it.

    RefusedError, with the reason, for any other.
    """
    if kind(node) != "For":
        raise RefusedError(
            node, "a while loop, whose number of iterations is not known before it starts"
        )
    variable, type_name, start = _beginning(node)
    if node.cond is None:
        raise RefusedError(node, "the loop has no bound", "write for (i = 0; i < n; i++)")
    comparison, stop = _ending(node, variable)
    step = _step(node, variable)
    if comparison == "!=":
        if abs(step) != 1:
            raise RefusedError(node, f"the loop may step over its bound with steps of {step}")
        comparison = "<" if step > 0 else ">"
    if (step > 0) != comparison.startswith("<"):
        raise RefusedError(node, f"the loop over {variable} goes away from its bound")
    changed = assigned_names(node.stmt)
    if variable in changed:
        raise RefusedError(node, f"the loop changes its own variable {variable}")
    if moving := (names_in(stop) | names_in(start)) & changed:
        raise RefusedError(node, f"the loop changes {min(moving)}, which bounds it")
    return ForLoop(variable, type_name, start, comparison, stop, step, node)


def leaves(loop: ForLoop) -> Node | None:
    """The statement by which a loop may be left before its end, if there is one."""
    return _leaving(loop.body, inner=False)


def is_endless(node: Node) -> bool:
    """Whether a loop neither has a condition nor a statement that leaves it."""
    cond = node.cond
    always = cond is None or (kind(cond) == "Constant" and cond.value not in ("0", "0L"))
    return always and _leaving(node.stmt, inner=False) is None


def _leaving(node: Node, inner: bool) -> Node | None:
    name = kind(node)
    if name in ("Return", "Goto") or (name == "Break" and not inner):
        return node
    inner = inner or name in ("For", "While", "DoWhile", "Switch")
    for _, child in node.children():
        if (found := _leaving(child, inner)) is not None:
            return found
    return None


def _beginning(node: Node) -> tuple[str, str, Node]:
    init = node.init
    if kind(init) == "DeclList" and len(init.decls) == 1 and init.decls[0].init is not None:
        declared = init.decls[0]
        names = getattr(declared.type.type, "names", ["int"])
        return declared.name, " ".join(names), declared.init
    if kind(init) == "Assignment" and init.op == "=" and kind(init.lvalue) == "ID":
        return init.lvalue.name, "", init.rvalue
    raise RefusedError(node, "the loop does not begin with one variable", "write for (i = 0; ...)")


def _ending(node: Node, variable: str) -> tuple[str, Node]:
    cond = node.cond
    if kind(cond) == "BinaryOp" and cond.op in _TURNED:
        if kind(cond.left) == "ID" and cond.left.name == variable:
            return cond.op, cond.right
        if kind(cond.right) == "ID" and cond.right.name == variable:
            return _TURNED[cond.op], cond.left
    raise RefusedError(node, f"the end of the loop is no bound of {variable}", "write i < n")


def _step(node: Node, variable: str) -> int:
    step = node.next
    if kind(step) == "UnaryOp" and kind(step.expr) == "ID" and step.expr.name == variable:
        if step.op in ("++", "p++"):
            return 1
        if step.op in ("--", "p--"):
            return -1
    if kind(step) == "Assignment" and kind(step.lvalue) == "ID" and step.lvalue.name == variable:
        found = _increment(step, variable)
        if found:
            return found
    raise RefusedError(node, f"the steps of {variable} are not of one whole number")


def _increment(step: Node, variable: str) -> int:
    """Of `i += c`, `i -= c`, `i = i + c`, `i = c + i` and `i = i - c`; 0 of anything else."""
    value = step.rvalue
    if step.op in ("+=", "-="):
        return _constant(value) * (1 if step.op == "+=" else -1)
    if step.op != "=" or kind(value) != "BinaryOp" or value.op not in ("+", "-"):
        return 0
    left, right = value.left, value.right
    if kind(left) == "ID" and left.name == variable:
        return _constant(right) * (1 if value.op == "+" else -1)
    if value.op == "+" and kind(right) == "ID" and right.name == variable:
        return _constant(left)
    return 0


def _constant(node: Node) -> int:
    if kind(node) == "Constant" and node.type.endswith("int"):
        return integer(node.value)
    return 0


def integer(text: str) -> int:
    """The value of an integer constant of C."""
    digits = text.rstrip("uUlL")
    is_octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    return int(digits, 8) if is_octal else int(digits, 0)


def loops_in(node: Node) -> list[Node]:
    """All loops of a tree, of any kind."""
    return [each for each in walk(node) if kind(each) in ("For", "While", "DoWhile")]
