"""What a loop's body reads and writes: every access to an array, and for which iterations.

A subscript is a polynomial in the variables of loops and in the sizes, which nothing in the loops
changes. One that follows from data, such as an element of another array, may be any element of its
dimension, and so may the variable of a loop that data bound. Conditions that are affine narrow down
for which iterations an access is made; all others are taken to hold, so that what is found is never
too little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from kernelcast.frontends.c.functions import check_call
from kernelcast.frontends.c.loops import ForLoop, for_loop, integer, is_endless
from kernelcast.frontends.c.nodes import Node, assigned, kind, walk
from kernelcast.frontends.c.polynomials import Polynomial, name, whole
from kernelcast.frontends.c.refusals import RefusedError
from kernelcast.frontends.c.types import CType


@dataclass(frozen=True)
class Constraint:
    """That a polynomial is 0, or at least 0."""

    value: Polynomial
    is_equation: bool = False

    def text(self) -> str:
        """As isl reads it."""
        return f"{self.value.text()} {'=' if self.is_equation else '>='} 0"


Domain = tuple[Constraint, ...]


@dataclass(frozen=True)
class ArrayAccess:
    """One access of a loop nest: `array[subscripts]`, made where `domain` holds.

    `part` numbers the statements of the innermost common loop; `follows_data` says whether data
    decide which element it is.
    """

    array: str
    subscripts: tuple[Polynomial, ...]
    is_write: bool
    domain: Domain
    node: Node
    part: int = 0
    follows_data: bool = False


@dataclass(frozen=True)
class IndexedLoop:
    """A loop as constraints on its variable, which the analysis calls `index`."""

    loop: ForLoop
    index: str
    domain: Domain


@dataclass(frozen=True)
class NestAccesses:
    """The common loops of a nest, outermost first, and all accesses in them.

    `variables` are all names that stand for numbers of iterations; others are sizes. `pointing` are
    pairs of an array whose elements are subscripts and the array that these are of, `bounding` an
    array whose elements bound a loop, the array and its dimension that the loop goes through, and
    how far beyond its last element they may lie.
    """

    loops: tuple[IndexedLoop, ...]
    accesses: tuple[ArrayAccess, ...]
    variables: frozenset[str]
    pointing: frozenset[tuple[str, str]] = frozenset()
    bounding: frozenset[tuple[str, str, int, int]] = frozenset()


@dataclass(frozen=True)
class Surroundings:
    """What stands around a nest: types of all variables, functions that it may call."""

    types: Mapping[str, CType]
    functions: Mapping[str, Node]


def nest_accesses(
    loops: Sequence[ForLoop], parts: Sequence[Node], around: Surroundings
) -> NestAccesses:
    """The accesses of a nest of loops around the statements `parts`.

    RefusedError for pointers and calls that nobody can follow.
    """
    walker = _Walker(around)
    walker.forbid(parts)
    indexed = [walker.enter(loop) for loop in loops]
    for number, part in enumerate(parts):
        walker.part = number
        walker.statement(part)
    return NestAccesses(
        tuple(indexed),
        tuple(walker.accesses),
        frozenset(walker.variables),
        frozenset(walker.pointing),
        frozenset(walker.bounding),
    )


@dataclass(frozen=True)
class _Pointer:
    """Where a local pointer leads: into an array, behind subscripts."""

    array: str
    leading: tuple[Polynomial, ...]
    offset: Polynomial


@dataclass
class _Walker:
    around: Surroundings
    accesses: list[ArrayAccess] = field(default_factory=list)
    variables: set[str] = field(default_factory=set)
    pointing: set[tuple[str, str]] = field(default_factory=set)
    bounding: set[tuple[str, str, int, int]] = field(default_factory=set)
    _bounds: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    part: int = 0
    _unknown: set[str] = field(default_factory=set)
    _values: dict[str, Polynomial | None] = field(default_factory=dict)
    _pointers: dict[str, _Pointer] = field(default_factory=dict)
    _private: set[str] = field(default_factory=set)
    _domain: list[Constraint] = field(default_factory=list)
    _once: set[str] = field(default_factory=set)

    def forbid(self, parts: Sequence[Node]) -> None:
        """Take what is assigned in the loops for unknown, but what is assigned once only."""
        count: dict[str, int] = {}
        for part in parts:
            for target, by in assigned(part):
                if kind(target) == "ID":
                    plain = kind(by) == "Assignment" and by.op == "="
                    count[target.name] = count.get(target.name, 0) + (1 if plain else 2)
            for each in walk(part):
                if kind(each) == "Decl" and each.name and each.init is not None:
                    count[each.name] = count.get(each.name, 0) + 1
        self._values |= dict.fromkeys(count)
        self._once = {each for each, times in count.items() if times == 1}

    def enter(self, loop: ForLoop) -> IndexedLoop:
        """The loop, and its variable from here on."""
        start, stop = self.value(loop.start), self.value(loop.stop)
        index = self._fresh(loop.variable)
        self._values[loop.variable] = at = name(index)
        if start is None or stop is None:
            self._unknown.add(index)
            past = 0 if "=" in loop.comparison else 1
            self._bounds[index] = {(a, 0) for a in _element_of(loop.start)}
            self._bounds[index] |= {(a, past) for a in _element_of(loop.stop)}
        domain: list[Constraint] = []
        up = whole(1 if loop.step > 0 else -1)
        if start is not None:
            domain.append(Constraint((at - start) * up))
            if abs(loop.step) > 1:
                steps = name(self._fresh("steps"))
                domain.append(Constraint(at - start - steps * whole(loop.step), True))
        if stop is not None:
            strict = whole(0 if "=" in loop.comparison else 1)
            domain.append(Constraint((stop - at) * up - strict))
        self._domain += domain
        return IndexedLoop(loop, index, tuple(domain))

    def _anything(self, wish: str) -> Polynomial:
        """A number of which nothing is known."""
        made = self._fresh(wish)
        self._unknown.add(made)
        return name(made)

    def _fresh(self, wish: str) -> str:
        made = f"{wish}_{len(self.variables)}"
        self.variables.add(made)
        return made

    # Statements.

    def statement(self, node: Node) -> None:
        match kind(node):
            case "Compound":
                for each in node.block_items or []:
                    self.statement(each)
            case "For" | "While" | "DoWhile":
                self._loop(node)
            case "If":
                self._branches(node)
            case "Decl":
                self._declaration(node)
            case "DeclList":
                for each in node.decls:
                    self._declaration(each)
            case "Pragma" | "EmptyStatement" | "":
                pass
            case "Goto" | "Asm":
                raise RefusedError(node, f"{kind(node).lower()} is not followed")
            case "Return" | "Switch" | "Case" | "Default" | "Label" | "Break" | "Continue":
                for _, child in node.children():
                    self.statement(child)
            case _:
                self.expression(node)

    def _loop(self, node: Node) -> None:
        if is_endless(node):
            raise RefusedError(node, "the loop has no end", "give it a bound or a break")
        held = len(self._domain)
        try:
            loop = for_loop(node)
        except RefusedError:
            self._unknown_loop(node)
        else:
            before = self._values.get(loop.variable)
            self.expression(loop.start)
            self.expression(loop.stop)
            self.enter(loop)
            self.statement(node.stmt)
            self._values[loop.variable] = before
        del self._domain[held:]

    def _unknown_loop(self, node: Node) -> None:
        """A loop of which only the body is known; its variable may be anything."""
        if kind(node) == "For" and node.init is not None:
            self.statement(node.init)
            for target, _ in assigned(node.init):
                if kind(target) == "ID":
                    self._values[target.name] = self._anything(target.name)
        self.expression(node.cond)
        self.statement(node.stmt)
        if kind(node) == "For":
            self.expression(node.next)

    def _branches(self, node: Node) -> None:
        self.expression(node.cond)
        with self._where(node.cond, True):
            self.statement(node.iftrue)
        with self._where(node.cond, False):
            self.statement(node.iffalse)

    @contextmanager
    def _where(self, condition: Node, holds: bool) -> Iterator[None]:
        held = len(self._domain)
        self._domain += self._constraints(condition, holds)
        yield
        del self._domain[held:]

    def _constraints(self, node: Node, holds: bool) -> list[Constraint]:
        """What follows of a condition; fewer constraints are always right."""
        if kind(node) == "UnaryOp" and node.op == "!":
            return self._constraints(node.expr, not holds)
        if kind(node) != "BinaryOp":
            return []
        if node.op == ("&&" if holds else "||"):
            return self._constraints(node.left, holds) + self._constraints(node.right, holds)
        op = node.op if holds else _OPPOSITE.get(node.op, "")
        left, right = self.value(node.left), self.value(node.right)
        if left is None or right is None or op not in _OPPOSITE or op == "!=":
            return []
        if op == "==":
            return [Constraint(left - right, True)]
        more, less = (right, left) if op.startswith("<") else (left, right)
        return [Constraint(more - less - whole(0 if "=" in op else 1))]

    def _declaration(self, node: Node) -> None:
        if node.name is None:
            return
        self.expression(node.init)
        if kind(node.type) == "PtrDecl":
            self._pointer(node.name, node.init, node)
        elif kind(node.type) == "ArrayDecl":
            self._private.add(node.name)
        else:
            self._private.discard(node.name)
            words = getattr(node.type.type, "names", [])
            if node.init is not None and not _NARROW & set(words):
                self._set(node.name, node.init)

    def _set(self, variable: str, value: Node) -> None:
        """Take a variable for the value it is given, if it has no other and holds all of it."""
        declared = self.around.types.get(variable)
        holds = declared is None or not _NARROW & set(declared.scalar.split())
        if variable in self._once and holds:
            self._values[variable] = self.value(value)

    def _pointer(self, variable: str, value: Node, node: Node) -> None:
        found = None if value is None else self._target(value)
        if found is None or variable not in self._once:
            raise RefusedError(node, f"where the pointer {variable} leads is not followed")
        self._pointers[variable] = found

    def _target(self, node: Node) -> _Pointer | None:
        """Where an expression of pointers leads, if that is known."""
        match kind(node):
            case "ID" if node.name in self._pointers:
                return self._pointers[node.name]
            case "ID" if (found := self._type(node.name)) and found.is_array:
                return _Pointer(node.name, (), whole(0))
            case "Cast":
                return self._target(node.expr)
            case "UnaryOp" if node.op == "&" and kind(node.expr) == "ArrayRef":
                base, offset = self._target(node.expr.name), self.value(node.expr.subscript)
            case "BinaryOp" if node.op in ("+", "-"):
                base, offset = self._target(node.left), self.value(node.right)
                if offset is not None and node.op == "-":
                    offset = offset * whole(-1)
            case "ArrayRef":
                base, offset = self._target(node.name), self.value(node.subscript)
                if base is None or offset is None:
                    return None
                return _Pointer(base.array, (*base.leading, base.offset + offset), whole(0))
            case _:
                return None
        if base is None or offset is None:
            return None
        return replace(base, offset=base.offset + offset)

    def _type(self, variable: str) -> CType | None:
        return None if variable in self._private else self.around.types.get(variable)

    # Expressions.

    def expression(self, node: Node) -> None:
        match kind(node):
            case "":
                return
            case "Assignment":
                self._assignment(node)
            case "UnaryOp":
                self._unary(node)
            case "ArrayRef":
                self._read(node)
            case "StructRef":
                raise RefusedError(node, "a member of a structure", "use arrays of numbers")
            case "TernaryOp":
                self.expression(node.cond)
                with self._where(node.cond, True):
                    self.expression(node.iftrue)
                with self._where(node.cond, False):
                    self.expression(node.iffalse)
            case "BinaryOp" if node.op in ("&&", "||"):
                self.expression(node.left)
                with self._where(node.left, node.op == "&&"):
                    self.expression(node.right)
            case "FuncCall":
                check_call(node, self.around.functions, self.around.types)
                self.expression(node.args)
            case _:
                for _, child in node.children():
                    self.expression(child)

    def _assignment(self, node: Node) -> None:
        self.expression(node.rvalue)
        if node.op != "=":
            self._read(node.lvalue)
        self._write(node.lvalue)
        if node.op == "=" and kind(node.lvalue) == "ID":
            self._set(node.lvalue.name, node.rvalue)

    def _unary(self, node: Node) -> None:
        if node.op in ("++", "--", "p++", "p--"):
            self._read(node.expr)
            self._write(node.expr)
        elif node.op == "*":
            self._read(node)
        elif node.op != "sizeof":
            self.expression(node.expr)

    def _read(self, node: Node) -> None:
        self._access(node, is_write=False)

    def _write(self, node: Node) -> None:
        if kind(node) == "ID":
            if (found := self._type(node.name)) and found.is_array:
                raise RefusedError(node, f"the pointer {node.name} is moved", "use subscripts")
            if node.name in self._pointers:
                raise RefusedError(node, f"the pointer {node.name} is moved", "use subscripts")
            return
        self._access(node, is_write=True)

    def _access(self, node: Node, is_write: bool) -> None:
        if kind(node) == "ID":
            return
        if kind(node) == "StructRef":
            raise RefusedError(node, "a member of a structure", "use arrays of numbers")
        subscripts: list[Node] = []
        base = node
        while kind(base) == "ArrayRef":
            subscripts.insert(0, base.subscript)
            base = base.name
        if kind(base) == "UnaryOp" and base.op == "*":
            self._pointed(base, subscripts, is_write)
            return
        for each in subscripts:
            self.expression(each)
        if kind(base) != "ID":
            raise RefusedError(node, "where this access leads is not followed")
        if base.name in self._private:
            return
        start = self._target(base)
        if start is None:
            raise RefusedError(node, f"{base.name} is not declared")
        values = [self._subscript(each, base.name) for each in subscripts]
        self._add(start, values, node, is_write)

    def _pointed(self, base: Node, subscripts: list[Node], is_write: bool) -> None:
        """An access `*(p + k)`."""
        self.expression(base.expr)
        start = self._target(base.expr)
        if start is None:
            raise RefusedError(base, "where this pointer leads is not followed", "use subscripts")
        values = [self._subscript(each, start.array) for each in subscripts]
        self._add(start, [whole(0), *values], base, is_write)

    def _add(
        self, start: _Pointer, values: Sequence[Polynomial], node: Node, is_write: bool
    ) -> None:
        dims = self.around.types[start.array].dims
        first, rest = start.offset + values[0], values[1:]
        every = (*start.leading, first, *rest)
        if len(every) != len(dims):
            raise RefusedError(node, f"{start.array} has {len(dims)} dimensions")
        for dimension, subscript in enumerate(every):
            for index in subscript.names & self._bounds.keys():
                # Behind an offset the loop goes on from there, which the bound says nothing of.
                if subscript == name(index):
                    bounds = self._bounds[index]
                    self.bounding |= {(b, start.array, dimension, past) for b, past in bounds}
        unknown = [
            (subscript, length)
            for subscript, length in zip(every, dims, strict=True)
            if self._unknown & subscript.names
        ]
        inside = (constraint for each in unknown for constraint in self._inside(*each))
        self.accesses.append(
            ArrayAccess(
                start.array,
                every,
                is_write,
                (*self._domain, *inside),
                node,
                self.part,
                bool(unknown),
            )
        )

    def _inside(self, subscript: Polynomial, length: Node | None) -> Iterator[Constraint]:
        """That a subscript is one of its dimension, which those that follow from data are taken
        to be; the executor checks each."""
        yield Constraint(subscript)
        end = None if length is None else self.value(length)
        if end is not None:
            yield Constraint(end - whole(1) - subscript)

    def _subscript(self, node: Node, array: str) -> Polynomial:
        value = self.value(node)
        if value is not None:
            return value
        self.pointing |= {(each, array) for each in _arrays_in(node)}
        return self._anything("element")

    # Values of integer expressions.

    def value(self, node: Node) -> Polynomial | None:
        """An integer expression as a polynomial; None where it is none."""
        match kind(node):
            case "Constant" if "int" in node.type:
                return whole(integer(node.value))
            case "ID":
                return self._named(node.name)
            case "Cast":
                return self.value(node.expr) if _is_integer_cast(node) else None
            case "UnaryOp" if node.op in ("-", "+"):
                inner = self.value(node.expr)
                return inner if inner is None or node.op == "+" else inner * whole(-1)
            case "BinaryOp":
                return self._computed(node)
        return None

    def _named(self, variable: str) -> Polynomial | None:
        if variable in self._values:
            return self._values[variable]
        known = self.around.types.get(variable)
        return name(variable) if known and known.is_integer and not known.is_array else None

    def _computed(self, node: Node) -> Polynomial | None:
        left, right = self.value(node.left), self.value(node.right)
        if left is None or right is None:
            return None
        match node.op:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/" | "%" if (by := right.constant) and by > 0:
                return self._divided(left, by, node.op)
            case "<<" if (by := right.constant) is not None and 0 <= by < 31:
                return left * whole(1 << by)
        return None

    def _divided(self, value: Polynomial, by: int, op: str) -> Polynomial | None:
        """The quotient or rest by a positive constant, of what is not negative."""
        if value.constant is not None:
            exact = abs(value.constant) // by * (1 if value.constant >= 0 else -1)
            return whole(exact if op == "/" else value.constant - by * exact)
        if not all(factor >= 0 for factor in value.terms.values()) or not self._from_zero(value):
            return None
        quotient = name(self._fresh("quotient"))
        rest = value - quotient * whole(by)
        self._domain += [Constraint(rest), Constraint(whole(by - 1) - rest)]
        return quotient if op == "/" else rest

    def _from_zero(self, value: Polynomial) -> bool:
        """Whether all variables in it start at 0 or more; sizes are taken to."""
        lower = [
            constraint.value
            for constraint in self._domain
            if not constraint.is_equation and len(constraint.value.terms) == 1
        ]
        bounded = {one for each in lower for (one,), factor in each.terms.items() if factor > 0}
        return all(one in bounded or one not in self.variables for one in value.names)


_NARROW = frozenset({"char", "short", "_Bool", "float", "double"})
"""Words of types that do not hold every `int`."""
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _arrays_in(node: Node) -> set[str]:
    """Arrays of which an expression reads elements."""
    return {
        target.name.name
        for target in walk(node)
        if kind(target) == "ArrayRef" and kind(target.name) == "ID"
    }


def _element_of(node: Node) -> set[str]:
    """The array that an expression is an element of, if it is one."""
    return {node.name.name} if kind(node) == "ArrayRef" and kind(node.name) == "ID" else set()


def _is_integer_cast(node: Node) -> bool:
    names = getattr(getattr(node.to_type.type, "type", None), "names", [])
    wide = {"int", "long", "unsigned", "size_t", "ssize_t", "ptrdiff_t", "int64_t", "uint64_t"}
    return bool(names) and set(names) <= wide | {"int32_t", "uint32_t"}
