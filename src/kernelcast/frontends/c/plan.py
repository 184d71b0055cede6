"""A C function as kernels, and what the host does between their launches.

Loops that may run in parallel become the grid of a kernel, one or two of them; the loops between
and inside run in each thread. A loop that may not, but holds others that may, stays on the host
and launches these in every iteration. Scalars that kernels compute live on the device; what the
host does with them is a kernel of a single thread.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelcast.frontends.c.accesses import (
    IndexedLoop,
    NestAccesses,
    Surroundings,
    nest_accesses,
)
from kernelcast.frontends.c.dependences import blocks_distribution, carried, separated
from kernelcast.frontends.c.loops import ForLoop, for_loop, leaves, loops_in
from kernelcast.frontends.c.marks import LoopMark, mark_of
from kernelcast.frontends.c.nodes import (
    Node,
    Place,
    assigned,
    declared_names,
    kind,
    names_in,
    place,
    statements,
    walk,
)
from kernelcast.frontends.c.refusals import RefusedError, RefusedLoop
from kernelcast.frontends.c.scalars import (
    Reduction,
    Use,
    first_use,
    reduction_of,
    scalars_assigned,
)
from kernelcast.frontends.c.source import CFile
from kernelcast.frontends.c.types import CType, type_of

_MOST_GRID = 2
"""Loops that become the grid at the most."""


@dataclass(frozen=True)
class LoopKernel:
    """A nest as a kernel.

    `grid` are the loops that become x, or y and x, of the grid, `inner` the other common loops,
    which every thread runs around `body`. A kernel without a grid is one thread, which does what
    the host does with values on the device. `initial` are values that reductions start with, in
    place of what the variable holds.
    """

    name: str
    function: str
    place: Place
    grid: tuple[ForLoop, ...]
    inner: tuple[ForLoop, ...]
    body: tuple[Node, ...]
    accesses: NestAccesses
    reductions: tuple[Reduction, ...] = ()
    private: tuple[str, ...] = ()
    initial: Mapping[str, Node] = field(default_factory=dict)

    @property
    def loops(self) -> tuple[ForLoop, ...]:
        """All common loops."""
        return tuple(indexed.loop for indexed in self.accesses.loops)

    @property
    def arrays(self) -> tuple[str, ...]:
        """The arrays it uses, in order."""
        return tuple(dict.fromkeys(a.array for a in self.accesses.accesses))

    @property
    def written(self) -> frozenset[str]:
        """The arrays it writes."""
        return frozenset(a.array for a in self.accesses.accesses if a.is_write)


@dataclass(frozen=True)
class HostLoop:
    """A loop that stays on the host, around launches."""

    loop: ForLoop
    children: tuple[HostStep, ...]


@dataclass(frozen=True)
class HostBranch:
    """A condition that stays on the host, around launches."""

    condition: Node
    if_true: tuple[HostStep, ...]
    if_false: tuple[HostStep, ...]


@dataclass(frozen=True)
class HostAssignment:
    """A statement of the host that gives a variable a value that it knows without the GPU."""

    name: str
    node: Node


HostStep = HostLoop | HostBranch | HostAssignment | LoopKernel


@dataclass(frozen=True)
class FunctionPlan:
    """What becomes of a function.

    `types` are those of all variables that it sees, `on_device` the scalars that kernels compute,
    `parameters` its own in order, `defaults` the values that variables of the file begin with,
    `steps` what the host does.
    """

    name: str
    node: Node
    types: Mapping[str, CType]
    parameters: tuple[str, ...]
    globals: tuple[str, ...]
    constants: tuple[str, ...]
    defaults: Mapping[str, Node]
    on_device: frozenset[str]
    steps: tuple[HostStep, ...]
    refusals: tuple[RefusedLoop, ...]

    @property
    def kernels(self) -> tuple[LoopKernel, ...]:
        """All kernels, in the order of the text."""
        return tuple(_kernels(self.steps))


def plan_function(file: CFile, name: str) -> FunctionPlan | None:
    """What becomes of a function; None where it holds no loop."""
    node = file.functions[name]
    if not loops_in(node):
        return None
    variables = _variables(file, node)
    planner = _Planner(file, name, variables)
    steps = planner.block(statements(node.body), [], planner.has_marks(node))
    on_device = _on_device(steps, planner)
    finished = _finished(steps, on_device, planner)
    if not any(kernel.grid for kernel in _kernels(finished)):
        finished = []
    return FunctionPlan(
        name,
        node,
        variables.types,
        variables.parameters,
        variables.globals,
        variables.constants,
        variables.defaults,
        on_device,
        tuple(finished),
        tuple(dict.fromkeys(planner.refusals)),
    )


def _kernels(steps: Sequence[HostStep]) -> Iterator[LoopKernel]:
    for step in steps:
        if isinstance(step, LoopKernel):
            yield step
        elif isinstance(step, HostLoop):
            yield from _kernels(step.children)
        elif isinstance(step, HostBranch):
            yield from _kernels((*step.if_true, *step.if_false))


_WORDS_OF_CPP = frozenset(
    {
        *("alignas", "alignof", "and", "asm", "bitand", "bitor", "catch", "class", "compl"),
        *("concept", "constexpr", "decltype", "delete", "explicit", "export", "false", "friend"),
        *("mutable", "namespace", "new", "noexcept", "not", "nullptr", "operator", "or", "private"),
        *("protected", "public", "requires", "template", "this", "throw", "true", "try", "typeid"),
        *("typename", "using", "virtual", "xor", "threadIdx", "blockIdx", "blockDim", "gridDim"),
    }
)
"""Names that C leaves to variables and CUDA C++ does not."""

# Variables.


@dataclass(frozen=True)
class _Variables:
    types: dict[str, CType]
    parameters: tuple[str, ...]
    globals: tuple[str, ...]
    constants: tuple[str, ...]
    defaults: Mapping[str, Node]
    stray: frozenset[str]
    untyped: Mapping[str, RefusedError]


def _variables(file: CFile, function: Node) -> _Variables:
    """The types of all variables of a function; others, such as structures, are refused where loops
    use them."""
    types: dict[str, CType] = {}
    untyped: dict[str, RefusedError] = {}
    constants = []
    for name, node in file.variables.items():
        try:
            types[name] = type_of(node, file.typedefs)
        except RefusedError:
            continue
        if types[name].is_array and types[name].is_const and node.init is not None:
            constants.append(name)
    given = function.decl.type.args.params if function.decl.type.args else []
    parameters = []
    for each in (*given, *walk(function.body)):
        if kind(each) == "Decl" and each.name and kind(each.type) != "FuncDecl":
            try:
                types[each.name] = type_of(each, file.typedefs)
            except RefusedError as error:
                types.pop(each.name, None)
                untyped[each.name] = error
    parameters = [each.name for each in given if getattr(each, "name", None) in types]
    return _Variables(
        types,
        tuple(parameters),
        tuple(n for n in file.variables if n in types and n not in constants),
        tuple(constants),
        {n: v.init for n, v in file.variables.items() if v.init is not None},
        frozenset(_stray_pointers(function)),
        untyped,
    )


def _stray_pointers(function: Node) -> Iterator[str]:
    """Pointers of a function of which nobody can say that they lead to memory of their own."""
    for each in walk(function.body):
        if kind(each) == "Decl" and kind(each.type) == "PtrDecl":
            values = [v for t, v in _assignments(function.body) if _names(t, each.name)]
            values = [v.rvalue if kind(v) == "Assignment" else v for v in values]
            if len(values) != 1 or not _allocates(values[0]):
                yield each.name


def _allocates(value: Node) -> bool:
    value = value.expr if kind(value) == "Cast" else value
    name = getattr(getattr(value, "name", None), "name", "")
    return kind(value) == "FuncCall" and name in ("malloc", "calloc", "aligned_alloc")


# Planning.


@dataclass(frozen=True)
class _HostStatement:
    """A statement of the host that is not yet known to be one of the device."""

    node: Node


_Step = HostStep | _HostStatement


@dataclass
class _Planner:
    file: CFile
    function: str
    variables: _Variables
    refusals: list[RefusedLoop] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)

    @property
    def around(self) -> Surroundings:
        return Surroundings(self.variables.types, self.file.functions)

    def has_marks(self, node: Node) -> bool:
        return any(kind(each) == "Pragma" and mark_of(each.string) for each in walk(node))

    def block(self, nodes: Sequence[Node], after: Sequence[Node], marked_only: bool) -> list[_Step]:
        """What becomes of statements; `after` are those that run behind them."""
        found: list[_Step] = []
        mark: LoopMark | None = None
        for at, node in enumerate(nodes):
            name = kind(node)
            rest = [*nodes[at + 1 :], *after]
            if name == "Pragma":
                mark = mark_of(node.string) or mark
                continue
            if name in ("For", "While", "DoWhile"):
                found += self._loop(node, rest, mark, marked_only)
            elif name == "Compound":
                found += self.block(statements(node), rest, marked_only)
            elif name == "If" and loops_in(node):
                found.append(self._branch(node, rest, marked_only))
            elif name in ("Decl", "DeclList", "Assignment", "UnaryOp", "If"):
                found.append(_HostStatement(node))
            mark = None
        return found

    def _branch(self, node: Node, after: Sequence[Node], marked_only: bool) -> HostStep:
        sides = [
            [] if side is None else self.block(statements(side), after, marked_only)
            for side in (node.iftrue, node.iffalse)
        ]
        return HostBranch(node.cond, *(tuple(side) for side in sides))  # type: ignore[arg-type]

    def _loop(
        self, node: Node, after: Sequence[Node], mark: LoopMark | None, marked_only: bool
    ) -> list[_Step]:
        if marked_only and mark is None:
            if not self.has_marks(node):
                return []  # stays on the host, as its programmer wants it
            return self._around(node, after, marked_only)
        try:
            return self.nest(node, after, mark or LoopMark())
        except RefusedError as error:
            self.refusals.append(error.of(self.function))
            return []

    def _around(self, node: Node, after: Sequence[Node], marked_only: bool) -> list[_Step]:
        """A loop of the host around others."""
        try:
            loop = for_loop(node)
            if (out := leaves(loop)) is not None:
                raise RefusedError(out, f"the loop over {loop.variable} is left before its end")
        except RefusedError as error:
            self.refusals.append(error.of(self.function))
            return []
        inner = statements(loop.body)
        children = self.block(inner, [*inner, *after], marked_only)
        return [HostLoop(loop, tuple(children))]  # type: ignore[arg-type]

    def nest(self, node: Node, after: Sequence[Node], mark: LoopMark) -> list[_Step]:
        """A nest as kernels; RefusedError where nothing can be made of it."""
        loop = for_loop(node)
        if (out := leaves(loop)) is not None:
            raise RefusedError(out, f"the loop over {loop.variable} is left before its end")
        self._check_types(node)
        try:
            return list(self._parallel(loop, after, mark))
        except RefusedError as error:
            found = self._descended(loop, after, mark)
            if not any(map(_launches, found)):
                raise error from None
            return found

    def _descended(self, loop: ForLoop, after: Sequence[Node], mark: LoopMark) -> list[_Step]:
        """The loop on the host, around kernels of the loops in it."""
        inner = statements(loop.body)
        if not any(loops_in(each) for each in inner):
            return []
        trial = replace(self, refusals=[])
        children: list[_Step] = []
        for at, each in enumerate(inner):
            rest = [*inner[at + 1 :], *inner, *after]
            if kind(each) == "For":
                try:
                    children += trial.nest(each, rest, mark)
                except RefusedError as error:
                    trial.refusals.append(error.of(self.function))
            else:
                children += trial.block([each], rest, False)
        made = HostLoop(loop, tuple(children))  # type: ignore[arg-type]
        if _launches(made):
            self.refusals += trial.refusals
        return [made]

    def _parallel(
        self, outermost: ForLoop, after: Sequence[Node], mark: LoopMark
    ) -> Sequence[LoopKernel]:
        band, body = _band(outermost)
        nest = separated(raw := nest_accesses(band, body, self.around))
        self._check_pointers(nest)
        if not mark.is_independent:
            self._check_aliases(nest, outermost.node)
        self._check_declared(band, body)
        reductions, private = self._scalars(band, body, after)
        free, reason = _free_loops(nest)
        grid = _chosen(nest, free)
        if len(grid) < _MOST_GRID and len(body) > 1:
            distributed = self._distributed(band, body, nest, after, mark, len(grid))
            if distributed:
                return distributed
        if not grid:
            raise RefusedError(outermost.node, reason)
        loops = tuple(g.loop for g in grid)
        inner = tuple(b for b in band if b not in loops)
        return [
            LoopKernel(
                self.name_at(outermost.node),
                self.function,
                place(outermost.node),
                loops,
                inner,
                tuple(body),
                raw,
                reductions,
                private,
            )
        ]

    def name_at(self, node: Node) -> str:
        """A name for a kernel that is made of a node, which no other has."""
        name = f"{self.function}_{place(node).line}"
        self.names[name] = count = self.names.get(name, 0) + 1
        return name if count == 1 else f"{name}x{count}"

    def _distributed(
        self,
        band: Sequence[ForLoop],
        body: Sequence[Node],
        nest: NestAccesses,
        after: Sequence[Node],
        mark: LoopMark,
        dimensions: int,
    ) -> Sequence[LoopKernel]:
        """The statements of the innermost common loop in loops of their own, where the program
        allows it and more loops become the grid; nothing where not."""
        if any(kind(each) != "For" for each in body):
            return ()
        groups: list[list[Node]] = [[]]
        for at, each in enumerate(body):
            groups[-1].append(each)
            is_last = at == len(body) - 1
            if not is_last and not any(blocks_distribution(nest, b, at) for b in nest.loops):
                groups.append([])
        if len(groups) == 1:
            return ()
        found: list[LoopKernel] = []
        names = dict(self.names)
        for number, group in enumerate(groups):
            later = [_around_group(band, group).node for group in groups[number + 1 :]]
            rest = [*later, *after]
            try:
                found += self._parallel(_around_group(band, group), rest, mark)
            except RefusedError:
                self.names = names
                return ()
        if max(len(kernel.grid) for kernel in found) <= dimensions:
            self.names = names
            return ()
        return found

    def _check_types(self, node: Node) -> None:
        """RefusedError where variables are used that no kernel can have."""
        for each in walk(node):
            if kind(each) == "ID" and (error := self.variables.untyped.get(each.name)):
                raise RefusedError(each, error.what, error.hint)

    def _check_pointers(self, nest: NestAccesses) -> None:
        """RefusedError where a pointer of the function may lead anywhere."""
        for access in nest.accesses:
            if access.array in self.variables.stray:
                raise RefusedError(
                    access.node,
                    f"where the pointer {access.array} leads is not followed",
                    "use the array itself",
                )

    def _check_aliases(self, nest: NestAccesses, node: Node) -> None:
        """RefusedError where pointers of the function may lead to the same memory."""
        types = self.variables.types
        used = dict.fromkeys(a.array for a in nest.accesses)
        written = {a.array for a in nest.accesses if a.is_write}
        pointers = [
            a
            for a in used
            if a in self.variables.parameters
            or (a in self.variables.globals and types[a].is_pointer)
        ]
        for at, one in enumerate(pointers):
            for other in pointers[at + 1 :]:
                both = types[one], types[other]
                if not {one, other} & written or any(t.is_restrict for t in both):
                    continue
                if both[0].scalar == both[1].scalar or any("char" in t.scalar for t in both):
                    raise RefusedError(
                        node,
                        f"the arrays {one} and {other} may overlap",
                        "declare them restrict, or write #pragma kernelcast independent before "
                        "the loop",
                    )

    def _check_declared(self, band: Sequence[ForLoop], body: Sequence[Node]) -> None:
        """RefusedError for names that are no variable and no function."""
        for part in [*body, *(b.node for b in band)]:
            for each in walk(part):
                if kind(each) in ("ID", "Decl") and each.name in _WORDS_OF_CPP:
                    raise RefusedError(each, f"{each.name} is a word of C++", "rename it")
        known = set(self.variables.types) | set(self.file.functions)
        known |= {name for part in body for name in declared_names(part)}
        for part in [*body, *(b.stop for b in band), *(b.start for b in band)]:
            called = {id(c.name) for c in walk(part) if kind(c) == "FuncCall"}
            for each in walk(part):
                if kind(each) == "ID" and id(each) not in called and each.name not in known:
                    raise RefusedError(each, f"{each.name} is not declared")

    def _scalars(
        self, band: Sequence[ForLoop], body: Sequence[Node], after: Sequence[Node]
    ) -> tuple[tuple[Reduction, ...], tuple[str, ...]]:
        """The reductions of a nest, and the variables that every thread has of its own."""
        types = self.variables.types
        reductions: list[Reduction] = []
        private: list[str] = []
        for loop in band:
            if not loop.type_name and first_use(after, loop.variable) is Use.READ:
                raise RefusedError(loop.node, f"{loop.variable} is used after the loop")
        for name in scalars_assigned(body, types):
            if (found := reduction_of(body, name, types[name])) is not None:
                reductions.append(found)
                continue
            where = next(by for part in body for t, by in assigned(part) if _names(t, name))
            if first_use(body, name) is not Use.WRITTEN:
                raise RefusedError(
                    where,
                    f"{name} goes from one iteration to the next, and is neither a sum, product, "
                    "minimum nor maximum",
                )
            if first_use(after, name) is Use.READ:
                raise RefusedError(where, f"{name} is used after the loop")
            private.append(name)
        return tuple(reductions), tuple(private)


def _names(node: Node, name: str) -> bool:
    return kind(node) == "ID" and bool(node.name == name)


def _launches(step: _Step) -> bool:
    if isinstance(step, HostLoop):
        return any(map(_launches, step.children))
    if isinstance(step, HostBranch):
        return any(map(_launches, (*step.if_true, *step.if_false)))
    return isinstance(step, LoopKernel)


def _band(outermost: ForLoop) -> tuple[list[ForLoop], list[Node]]:
    """The loops that stand alone in each other, and the statements in the last of them."""
    band = [outermost]
    while True:
        body = [n for n in statements(band[-1].body) if kind(n) != "Pragma"]
        if len(body) != 1 or kind(body[0]) != "For":
            return band, body
        try:
            inner = for_loop(body[0])
        except RefusedError:
            return band, body
        if leaves(inner) is not None:
            return band, body
        band.append(inner)


def _around_group(band: Sequence[ForLoop], group: Sequence[Node]) -> ForLoop:
    """The common loops around some of the statements in them."""
    inner = copy.copy(band[-1].node)
    block = copy.copy(band[-1].body) if kind(band[-1].body) == "Compound" else None
    if block is None:
        inner.stmt = group[0]
    else:
        block.block_items = list(group)
        inner.stmt = block
    for loop in reversed(band[:-1]):
        outer = copy.copy(loop.node)
        outer.stmt = inner
        inner = outer
    return for_loop(inner)


def _free_loops(nest: NestAccesses) -> tuple[list[IndexedLoop], str]:
    """The loops that may become the grid, and why the first of the others may not."""
    free: list[IndexedLoop] = []
    reason = ""
    for loop in nest.loops:
        dependence = carried(nest, loop)
        if dependence is None:
            free.append(loop)
        else:
            reason = reason or str(dependence)
    return free, reason or "no loop may become the grid"


def _chosen(nest: NestAccesses, free: Sequence[IndexedLoop]) -> tuple[IndexedLoop, ...]:
    """The loops that become the grid, outermost first, of those that may.

    Along x goes the one whose neighbouring iterations most often access neighbouring elements, and
    of equal ones the innermost; along y the innermost of the others.
    """
    order = {loop.index: at for at, loop in enumerate(nest.loops)}
    by_x = sorted(free, key=lambda loop: (_neighbours(nest, loop), order[loop.index]), reverse=True)
    for x in by_x:
        for y in sorted(free, key=lambda loop: order[loop.index], reverse=True):
            pair = tuple(sorted((x, y), key=lambda loop: order[loop.index]))
            if x is not y and _stand_alone(nest, pair):
                return y, x
    return next(((x,) for x in by_x if _stand_alone(nest, (x,))), ())


def _stand_alone(nest: NestAccesses, chosen: Sequence[IndexedLoop]) -> bool:
    """Whether the bounds of loops name variables only of those before them in `chosen`."""
    variables = {loop.loop.variable for loop in nest.loops}
    before: set[str] = set()
    for each in chosen:
        used = (names_in(each.loop.start) | names_in(each.loop.stop)) & variables
        if used - before:
            return False
        before.add(each.loop.variable)
    return True


def _neighbours(nest: NestAccesses, loop: IndexedLoop) -> int:
    """Accesses to neighbouring elements in neighbouring iterations, less those far apart."""
    score = 0
    for access in nest.accesses:
        *outer, last = access.subscripts
        if any(loop.index in s.names for s in outer):
            score -= 1
        elif loop.index in last.names:
            score += 1 if abs(last.terms.get((loop.index,), 0)) == 1 else -1
    return score


# What the host does with values on the device.


def _on_device(steps: Sequence[_Step], planner: _Planner) -> frozenset[str]:
    """The scalars that kernels compute, and those that the host computes from these."""
    found = {r.name for kernel in _kernels_of(steps) for r in kernel.reductions}
    types = planner.variables.types
    plain = list(_statements_of(steps))
    while True:
        more = set()
        for node in plain:
            for target, value in _assignments(node):
                used = names_in(value) | {n for n in names_in(node) if _is_array(types, n)}
                on_device = any(n in found or _is_array(types, n) for n in used)
                if kind(target) == "ID" and on_device and target.name not in found:
                    more.add(target.name)
        if not more:
            return frozenset(found)
        found |= more


def _is_array(types: Mapping[str, CType], name: str) -> bool:
    """Whether a name is that of an array."""
    return name in types and types[name].is_array


def _kernels_of(steps: Sequence[_Step]) -> Iterator[LoopKernel]:
    yield from _kernels([s for s in steps if not isinstance(s, _HostStatement)])


def _statements_of(steps: Sequence[object]) -> Iterator[Node]:
    for step in steps:
        if isinstance(step, _HostStatement):
            yield step.node
        elif isinstance(step, HostLoop):
            yield from _statements_of(step.children)
        elif isinstance(step, HostBranch):
            yield from _statements_of((*step.if_true, *step.if_false))


def _assignments(node: Node) -> list[tuple[Node, Node]]:
    """Targets and values of a statement; a declaration's name stands for its variable."""
    found = [(target, by) for target, by in assigned(node)]
    for each in walk(node):
        if kind(each) == "Decl" and each.init is not None and each.name:
            found.append((_variable(each), each.init))
    return found


def _variable(declaration: Node) -> Node:
    from pycparser import c_ast

    return c_ast.ID(declaration.name, declaration.coord)


def _finished(
    steps: Sequence[_Step], on_device: frozenset[str], planner: _Planner
) -> list[HostStep]:
    """Statements of the host told apart: those of the device become kernels of one thread."""
    found: list[HostStep] = []
    for step in steps:
        if isinstance(step, _HostStatement):
            _add_statement(found, step.node, on_device, planner)
        elif isinstance(step, HostLoop):
            children = tuple(_finished(step.children, on_device, planner))
            found.append(replace(step, children=children))
        elif isinstance(step, HostBranch):
            sides = (_finished(s, on_device, planner) for s in (step.if_true, step.if_false))
            found.append(HostBranch(step.condition, *map(tuple, sides)))
        elif isinstance(step, LoopKernel) and step.reductions:
            found.append(_with_initial_values(step, found))
        else:
            found.append(step)
    return found


def _add_statement(
    found: list[HostStep], node: Node, on_device: frozenset[str], planner: _Planner
) -> None:
    types = planner.variables.types
    for part in node.decls if kind(node) == "DeclList" else [node]:
        pairs = _assignments(part)
        if not pairs:
            continue
        device = any(
            (kind(t) != "ID") or t.name in on_device or _is_array(types, t.name) for t, _ in pairs
        )
        if not device:
            found += [HostAssignment(t.name, v) for t, v in pairs if t.name in types]
        elif not any(_is_array(types, t.name) for t, _ in pairs if kind(t) == "ID"):
            _add_single(found, part, planner)
        elif kind(part) != "Decl":
            planner.refusals.append(
                RefusedLoop(place(part), planner.function, "a pointer is changed between loops")
            )


def _add_single(found: list[HostStep], node: Node, planner: _Planner) -> None:
    """A statement as a kernel of one thread, together with one right before it."""
    from pycparser import c_ast

    if kind(node) == "Decl":
        node = c_ast.Assignment("=", _variable(node), node.init, node.coord)
    last = found[-1] if found else None
    single = last if isinstance(last, LoopKernel) and not last.loops and not last.grid else None
    body = (*single.body, node) if single else (node,)
    try:
        accesses = nest_accesses((), body, planner.around)
    except RefusedError as error:
        planner.refusals.append(error.of(planner.function))
        return
    if single is not None:
        found[-1] = replace(single, body=body, accesses=accesses)
        return
    name = planner.name_at(node)
    found.append(LoopKernel(name, planner.function, place(node), (), (), body, accesses))


def _with_initial_values(kernel: LoopKernel, before: list[HostStep]) -> LoopKernel:
    """A reduction that takes the constants it starts with from the statement right before it."""
    last = before[-1] if before else None
    if not isinstance(last, LoopKernel) or last.loops or last.grid:
        return kernel
    wanted = {r.name for r in kernel.reductions}
    initial: dict[str, Node] = {}
    kept: list[Node] = []
    for node in last.body:
        plain = kind(node) == "Assignment" and node.op == "=" and kind(node.lvalue) == "ID"
        if plain and node.lvalue.name in wanted and not names_in(node.rvalue):
            initial[node.lvalue.name] = node.rvalue
        else:
            kept.append(node)
    if not initial:
        return kernel
    before.pop()
    if kept:
        before.append(replace(last, body=tuple(kept)))
    return replace(kernel, initial=initial)
