"""The nodes of pycparser's trees, and what is asked of any of them.

The parser is an extra of the package and comes without types, so a node is `Any` here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Node = Any
"""A node of a tree of pycparser; its class says which."""


def kind(node: Node) -> str:
    """The name of a node's class, such as `For`; empty for no node."""
    return "" if node is None else type(node).__name__


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the text."""
    if node is None:
        return
    yield node
    for _, child in node.children():
        yield from walk(child)


def names_in(node: Node) -> set[str]:
    """The names of variables that a tree uses; of members and functions, too."""
    return {each.name for each in walk(node) if kind(each) == "ID"}


def statements(node: Node) -> list[Node]:
    """The statements of a block, or the one statement that it is; empty ones are left out."""
    items = node.block_items or [] if kind(node) == "Compound" else [node]
    return [item for item in items if item is not None and kind(item) != "EmptyStatement"]


@dataclass(frozen=True, slots=True)
class Place:
    """A file and a line in it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def place(node: Node) -> Place:
    """Where a node stands; that of its first child that knows, where it does not know itself."""
    for each in walk(node):
        if each.coord is not None:
            return Place(str(each.coord.file), int(each.coord.line))
    return Place("", 0)


def assigned(node: Node) -> list[tuple[Node, Node]]:
    """What a tree assigns to: pairs of the target and the node that does it, declarations with
    a value among them."""
    found = []
    for each in walk(node):
        name = kind(each)
        if name == "Assignment":
            found.append((each.lvalue, each))
        elif name == "UnaryOp" and each.op in ("++", "--", "p++", "p--"):
            found.append((each.expr, each))
    return found


def assigned_names(node: Node) -> set[str]:
    """The variables that a tree changes, without those that it declares."""
    return {target.name for target, _ in assigned(node) if kind(target) == "ID"}


def declared_names(node: Node) -> set[str]:
    """The variables that a tree declares."""
    return {each.name for each in walk(node) if kind(each) == "Decl" and each.name}
