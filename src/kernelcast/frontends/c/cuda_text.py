"""Kernels as CUDA C++ that a person would write: bounds guarded, block size left to the launch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelcast.frontends.c.expressions import expression
from kernelcast.frontends.c.functions import called_functions, calls_in
from kernelcast.frontends.c.loops import ForLoop
from kernelcast.frontends.c.nodes import (
    Node,
    Place,
    assigned_names,
    declared_names,
    kind,
    names_in,
    place,
    walk,
)
from kernelcast.frontends.c.plan import FunctionPlan, LoopKernel
from kernelcast.frontends.c.refusals import RefusedError
from kernelcast.frontends.c.scalars import Operator, Reduction
from kernelcast.frontends.c.source import CFile
from kernelcast.frontends.c.types import CType, type_of

_INDENT = "    "
_STEP_OF_GRID = {
    "x": "blockIdx.x * blockDim.x + threadIdx.x",
    "y": "blockIdx.y * blockDim.y + threadIdx.y",
}
_FINAL_SUFFIX = "_final"
"""Behind the name of a kernel: the one that combines what its blocks have left."""
_OWN_LINES = Place("made of loops", 1)
"""Where the lines stand that are made of none of the program."""
_COMBINED = {
    Operator.SUM: "a + b",
    Operator.PRODUCT: "a * b",
    Operator.MINIMUM: "b < a ? b : a",
    Operator.MAXIMUM: "b > a ? b : a",
}


@dataclass(frozen=True)
class KernelParameter:
    """A parameter of a kernel.

    `role` is `array`, `value` for a scalar of the host, `device` for one that kernels compute, and
    `partial` for what the blocks of a reduction leave.
    """

    name: str
    variable: str
    type: CType
    role: str


def kernel_parameters(plan: FunctionPlan, kernel: LoopKernel) -> tuple[KernelParameter, ...]:
    """What a kernel is given, in order: arrays and scalars of the function, partial results."""
    types = plan.types
    order = {n: at for at, n in enumerate((*plan.parameters, *plan.globals, *types))}
    arrays = [a for a in kernel.arrays if a not in plan.constants]
    used = _names_used(plan, kernel, arrays)
    own = {loop.variable for loop in kernel.loops} | set(kernel.private)
    own |= {r.name for r in kernel.reductions} | _declared(kernel)
    found = [KernelParameter(a, a, types[a], "array") for a in arrays]
    for name in used - own - set(plan.constants):
        if name in types and not types[name].is_array:
            on_device = name in plan.on_device
            role = "device" if on_device else "value"
            called = f"{name}_at" if on_device else name
            found.append(KernelParameter(called, name, types[name], role))
    found.sort(key=lambda p: order[p.variable])
    for each in kernel.reductions:
        found.append(KernelParameter(f"{each.name}_parts", each.name, each.type, "partial"))
    return tuple(found)


def final_parameters(reduction: Reduction) -> tuple[KernelParameter, ...]:
    """What the kernel that ends a reduction is given, behind the number of parts."""
    name, type_ = reduction.name, reduction.type
    return (
        KernelParameter(f"{name}_parts", name, type_, "partial"),
        KernelParameter(f"{name}_at", name, type_, "device"),
    )


def final_name(kernel: LoopKernel, reduction: Reduction) -> str:
    """The name of the kernel that ends a reduction."""
    return f"{kernel.name}_{reduction.name}{_FINAL_SUFFIX}"


class _Placed(str):
    """A line of a kernel that is made of a line of the program."""

    place: Place

    @classmethod
    def at(cls, node: Node, text: str) -> _Placed:
        """The text, made of a node."""
        made = cls(text)
        made.place = place(node)
        return made


def _joined(lines: Iterable[str], start: Place, with_lines: bool) -> str:
    """Lines as a text, where asked for each behind a mark of the line that it is made of.

    A line that is made of none belongs to the one before it, the first to `start`.
    """
    found: list[str] = []
    at = start
    for line in lines:
        at = line.place if isinstance(line, _Placed) and line.place.line else at
        if with_lines:
            found.append(_mark_of(at))
        found.append(str(line))
    return "\n".join(found)


def _mark_of(at: Place) -> str:
    return f'#line {at.line} "{at.file}"'


def cuda_text(file: CFile, plans: Sequence[FunctionPlan], *, with_lines: bool = False) -> str:
    """All kernels of a file as one source; `with_lines` marks where each line comes from."""
    parts = [f"// Made of the loops of {file.name}."]
    if with_lines:
        parts.append(_mark_of(_OWN_LINES))
    parts += _typedefs(file)
    parts += _constants(file, plans)
    parts += _device_functions(file, plans, with_lines)
    kernels = [(plan, kernel) for plan in plans for kernel in plan.kernels]
    parts += _block_functions({r for _, kernel in kernels for r in _kinds(kernel)})
    for plan, kernel in kernels:
        parts.append(_joined(_kernel(plan, kernel), kernel.place, with_lines))
        finals = (_final(kernel, r) for r in kernel.reductions)
        parts += [_joined(final, kernel.place, with_lines) for final in finals]
    return "\n\n".join(parts) + "\n"


# What kernels share.


def _typedefs(file: CFile) -> Iterator[str]:
    for name, node in file.typedefs.items():
        if node.coord is None or "<prelude>" in str(node.coord.file):
            continue
        try:
            found = type_of(node, file.typedefs)
        except RefusedError:
            continue  # no kernel can use it
        if not found.is_array:
            yield f"typedef {found.scalar} {name};"


def _constants(file: CFile, plans: Sequence[FunctionPlan]) -> Iterator[str]:
    used = dict.fromkeys(
        a for plan in plans for k in plan.kernels for a in k.arrays if a in plan.constants
    )
    for name in used:
        types = next(plan.types for plan in plans if name in plan.types)
        values = _flat(file.variables[name].init)
        texts = ", ".join(expression(value, types) for value in values)
        yield f"__constant__ {types[name].scalar} {name}[] = {{{texts}}};"


def _flat(node: Node) -> Iterator[Node]:
    if kind(node) == "InitList":
        for each in node.exprs:
            yield from _flat(each)
    else:
        yield node


def _device_functions(
    file: CFile, plans: Sequence[FunctionPlan], with_lines: bool
) -> Iterator[str]:
    names: dict[str, None] = {}
    for plan in plans:
        for kernel in plan.kernels:
            for part in kernel.body:
                for call in calls_in(part):
                    called = getattr(call.name, "name", "")
                    if called in file.functions:
                        names |= dict.fromkeys(called_functions(called, file.functions))
    for name in names:
        function = file.functions[name]
        types = _types_of(function, file)
        head = expression(function.decl, types).replace("static ", "").replace("inline ", "")
        lines = [f"__device__ {head}", "{", *_block(function.body, types, 1), "}"]
        yield _joined(lines, place(function), with_lines)


def _types_of(function: Node, file: CFile) -> dict[str, CType]:
    declared = [
        n for n in walk(function) if kind(n) == "Decl" and n.name and n is not function.decl
    ]
    return {n.name: type_of(n, file.typedefs) for n in declared}


def _kinds(kernel: LoopKernel) -> Iterator[tuple[str, Operator]]:
    return ((r.type.scalar, r.operator) for r in kernel.reductions)


def _block_functions(kinds: set[tuple[str, Operator]]) -> Iterator[str]:
    for scalar, operator in sorted(kinds, key=str):
        yield _BLOCK_FUNCTION.format(
            name=_block_function(scalar, operator), scalar=scalar, combined=_COMBINED[operator]
        )


def _block_function(scalar: str, operator: Operator) -> str:
    return f"{operator.value}_of_block_{scalar.replace(' ', '_')}"


_BLOCK_FUNCTION = """\
// Combines a value of every thread of the block; thread 0 has the result.
__device__ {scalar} {name}({scalar} value)
{{
    extern __shared__ unsigned long long shared_words[];
    {scalar} *values = ({scalar} *) shared_words;
    unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
    __syncthreads();
    values[thread] = value;
    __syncthreads();
    for (unsigned rest = blockDim.x * blockDim.y; rest > 1; rest = (rest + 1) / 2) {{
        if (thread < rest / 2) {{
            {scalar} a = values[thread], b = values[thread + (rest + 1) / 2];
            values[thread] = {combined};
        }}
        __syncthreads();
    }}
    return values[0];
}}"""


def _identity(reduction: Reduction) -> str:
    scalar = reduction.type.scalar
    if reduction.operator is Operator.SUM:
        return "0"
    if reduction.operator is Operator.PRODUCT:
        return "1"
    is_least = reduction.operator is Operator.MAXIMUM
    if reduction.type.is_integer:
        bits = {"char": 8, "short": 16, "int": 32}.get(scalar.split()[-1], 32)
        bits = 64 if "long" in scalar else bits
        if scalar.startswith("unsigned"):
            return "0" if is_least else f"({scalar}) -1"
        largest = (1 << (bits - 1)) - 1
        return f"-{largest}LL - 1" if is_least else f"{largest}LL"
    text = "__int_as_float(0x7f800000)"
    if scalar == "double":
        text = "__longlong_as_double(0x7ff0000000000000LL)"
    return f"-{text}" if is_least else text


# One kernel.


def _kernel(plan: FunctionPlan, kernel: LoopKernel) -> Iterator[str]:
    types = plan.types
    yield f"// {kernel.place}: {_described(kernel)}"
    parameters = ", ".join(_declared_parameter(plan, kernel, p) for p in _all(plan, kernel))
    yield f'extern "C" __global__ void {kernel.name}({parameters})'
    yield "{"
    yield from (f"{_INDENT}{line}" for line in _prologue(plan, kernel))
    if kernel.reductions:
        yield from _strided(kernel, types)
        yield from _indented(_epilogue(kernel), 1)
    elif kernel.grid:
        yield from _guarded(kernel, types)
    else:
        yield from _single(plan, kernel)
    yield "}"


def _all(plan: FunctionPlan, kernel: LoopKernel) -> tuple[KernelParameter, ...]:
    return kernel_parameters(plan, kernel)


def _described(kernel: LoopKernel) -> str:
    if not kernel.grid:
        return "values on the device, one thread"
    axes = list(zip("yx"[-len(kernel.grid) :], kernel.grid, strict=True))
    names = " and ".join(f"{loop.variable} along {axis}" for axis, loop in reversed(axes))
    return f"one thread for each iteration, {names}"


def _declared_parameter(plan: FunctionPlan, kernel: LoopKernel, p: KernelParameter) -> str:
    scalar = p.type.scalar.replace("_Bool", "bool")
    if p.role == "value":
        return f"{scalar} {p.name}"
    changed = p.role == "partial" or p.variable in kernel.written
    changed |= p.role == "device" and p.variable in _changed_on_device(plan, kernel)
    return f"{'' if changed else 'const '}{scalar} *__restrict__ {p.name}"


def _changed_on_device(plan: FunctionPlan, kernel: LoopKernel) -> list[str]:
    """The scalars of the device that a kernel of one thread changes."""
    if kernel.grid:
        return []
    names = {name for part in kernel.body for name in assigned_names(part)}
    return sorted(names & plan.on_device)


def _prologue(plan: FunctionPlan, kernel: LoopKernel) -> Iterator[str]:
    for p in kernel_parameters(plan, kernel):
        if p.role == "device":
            yield f"{p.type.scalar} {p.variable} = *{p.name};"
    for name in kernel.private:
        yield f"{plan.types[name].scalar} {name};"
    for each in kernel.reductions:
        yield f"{each.type.scalar} {each.name} = {_identity(each)};"


def _guarded(kernel: LoopKernel, types: Mapping[str, CType]) -> Iterator[str]:
    """The iteration of a thread, behind the bounds of the loops that became the grid."""
    in_order = [loop for loop in kernel.loops if loop in kernel.grid]
    for loop in in_order:
        type_, name = _counter(loop, types)
        declared = f"{type_} {name} = {_normalised(kernel, loop, types)};"
        yield _Placed.at(loop.node, f"{_INDENT}{declared}")
        if name != loop.variable:
            yield f"{_INDENT}{_type(loop, types)} {loop.variable} = {name};"
    conditions = " && ".join(
        f"{_counter(loop, types)[1]} {loop.comparison} {_bound(loop, types)}" for loop in in_order
    )
    yield _Placed.at(in_order[-1].node, f"{_INDENT}if ({conditions}) {{")
    yield from _inner(kernel, types, 2)
    yield f"{_INDENT}}}"


def _inner(kernel: LoopKernel, types: Mapping[str, CType], depth: int) -> Iterator[str]:
    """The loops that every thread runs, and the body in them."""
    for at, loop in enumerate(kernel.inner):
        yield _Placed.at(loop.node, f"{_INDENT * (depth + at)}{_head(loop, types)} {{")
    below = depth + len(kernel.inner)
    for part in kernel.body:
        yield from _statement(part, types, below)
    for at in reversed(range(len(kernel.inner))):
        yield f"{_INDENT * (depth + at)}}}"


def _strided(kernel: LoopKernel, types: Mapping[str, CType]) -> Iterator[str]:
    """Iterations a grid apart, so that any grid computes all of them."""
    in_order = [loop for loop in kernel.loops if loop in kernel.grid]
    for depth, loop in enumerate(in_order, 1):
        axis = _axis(kernel, loop)
        type_, name = _counter(loop, types)
        stride = f"({type_}) (gridDim.{axis} * blockDim.{axis})"
        if abs(loop.step) != 1:
            stride = f"{abs(loop.step)} * {stride}"
        start = f"{type_} {name} = {_normalised(kernel, loop, types)}"
        condition = f"{name} {loop.comparison} {_bound(loop, types)}"
        sign = "+" if loop.step > 0 else "-"
        head = f"for ({start}; {condition}; {name} {sign}= {stride}) {{"
        yield _Placed.at(loop.node, f"{_INDENT * depth}{head}")
        if name != loop.variable:
            yield f"{_INDENT * (depth + 1)}{_type(loop, types)} {loop.variable} = {name};"
    yield from _inner(kernel, types, len(in_order) + 1)
    for depth in range(len(in_order), 0, -1):
        yield f"{_INDENT * depth}}}"


def _epilogue(kernel: LoopKernel) -> Iterator[str]:
    for each in kernel.reductions:
        function = _block_function(each.type.scalar, each.operator)
        yield f"{each.name} = {function}({each.name});"
        yield "if (threadIdx.x == 0 && threadIdx.y == 0)"
        yield f"{_INDENT}{each.name}_parts[blockIdx.y * gridDim.x + blockIdx.x] = {each.name};"


def _single(plan: FunctionPlan, kernel: LoopKernel) -> Iterator[str]:
    for part in kernel.body:
        yield from _statement(part, plan.types, 1)
    for name in _changed_on_device(plan, kernel):
        yield f"{_INDENT}*{name}_at = {name};"


def _final(kernel: LoopKernel, reduction: Reduction) -> Iterator[str]:
    """The kernel of one block that combines what the blocks have left."""
    scalar, name = reduction.type.scalar, reduction.name
    initial = kernel.initial.get(name)
    first = f"*{name}_at" if initial is None else f"({scalar}) {expression(initial, {})}"
    combined = _COMBINED[reduction.operator]
    yield f"// {kernel.place}: the {reduction.operator.value} of what the blocks have left"
    yield (
        f'extern "C" __global__ void {final_name(kernel, reduction)}'
        f"(int parts, const {scalar} *__restrict__ {name}_parts, {scalar} *__restrict__ {name}_at)"
    )
    yield "{"
    yield f"{_INDENT}{scalar} a = {_identity(reduction)};"
    yield f"{_INDENT}for (int part = threadIdx.x; part < parts; part += blockDim.x) {{"
    yield f"{_INDENT * 2}{scalar} b = {name}_parts[part];"
    yield f"{_INDENT * 2}a = {combined};"
    yield f"{_INDENT}}}"
    yield f"{_INDENT}a = {_block_function(scalar, reduction.operator)}(a);"
    yield f"{_INDENT}if (threadIdx.x == 0) {{"
    yield f"{_INDENT * 2}{scalar} b = a;"
    yield f"{_INDENT * 2}a = {first};"
    yield f"{_INDENT * 2}*{name}_at = {combined};"
    yield f"{_INDENT}}}"
    yield "}"


def _axis(kernel: LoopKernel, loop: ForLoop) -> str:
    return "yx"[-len(kernel.grid) :][kernel.grid.index(loop)]


def _normalised(kernel: LoopKernel, loop: ForLoop, types: Mapping[str, CType]) -> str:
    """The variable of a loop from the thread's place in the grid, which begins at 0."""
    number = f"({_counter(loop, types)[0]}) ({_STEP_OF_GRID[_axis(kernel, loop)]})"
    if abs(loop.step) != 1:
        number = f"{abs(loop.step)} * {number}"
    start = expression(loop.start, types)
    if start == "0" and loop.step > 0:
        return number
    return f"{start} {'+' if loop.step > 0 else '-'} {number}"


def _counter(loop: ForLoop, types: Mapping[str, CType]) -> tuple[str, str]:
    """The type and the name of what is held to a loop's bound: its variable, or a wider one where
    that would wrap in threads beyond the last iteration."""
    type_ = _type(loop, types)
    wraps = type_.startswith("unsigned") and loop.step < 0
    if wraps or "char" in type_ or "short" in type_:
        return "long long", f"{loop.variable}_wide"
    return type_, loop.variable


def _bound(loop: ForLoop, types: Mapping[str, CType]) -> str:
    text = expression(loop.stop, types)
    return f"({text})" if kind(loop.stop) in ("TernaryOp", "Assignment") else text


def _type(loop: ForLoop, types: Mapping[str, CType]) -> str:
    declared = types.get(loop.variable)
    return loop.type_name or (declared.scalar if declared else "int")


def _head(loop: ForLoop, types: Mapping[str, CType]) -> str:
    start = f"{_type(loop, types)} {loop.variable} = {expression(loop.start, types)}"
    condition = f"{loop.variable} {loop.comparison} {_bound(loop, types)}"
    sign = "+" if loop.step > 0 else "-"
    step = f"{loop.variable}{sign * 2}"
    if abs(loop.step) != 1:
        step = f"{loop.variable} {sign}= {abs(loop.step)}"
    return f"for ({start}; {condition}; {step})"


def _names_used(plan: FunctionPlan, kernel: LoopKernel, arrays: Sequence[str]) -> set[str]:
    nodes = [*kernel.body, *(n for loop in kernel.loops for n in (loop.start, loop.stop))]
    nodes += [dim for a in arrays for dim in plan.types[a].dims[1:] if dim is not None]
    return {name for node in nodes for name in names_in(node)}


def _declared(kernel: LoopKernel) -> set[str]:
    return {name for part in kernel.body for name in declared_names(part)}


# Statements.


def _indented(lines: Iterator[str], depth: int) -> Iterator[str]:
    return (f"{_INDENT * depth}{line}" for line in lines)


def _block(node: Node, types: Mapping[str, CType], depth: int) -> Iterator[str]:
    items = node.block_items or [] if kind(node) == "Compound" else [node]
    for each in items:
        yield from _statement(each, types, depth)


def _statement(node: Node, types: Mapping[str, CType], depth: int) -> Iterator[str]:
    space = _INDENT * depth
    match kind(node):
        case "" | "Pragma" | "EmptyStatement":
            return
        case "Compound":
            yield f"{space}{{"
            yield from _block(node, types, depth + 1)
            yield f"{space}}}"
        case "For":
            parts = [expression(p, types) if p else "" for p in (node.init, node.cond, node.next)]
            yield _Placed.at(node, f"{space}for ({'; '.join(parts)}) {{")
            yield from _block(node.stmt, types, depth + 1)
            yield f"{space}}}"
        case "While":
            yield _Placed.at(node, f"{space}while ({expression(node.cond, types)}) {{")
            yield from _block(node.stmt, types, depth + 1)
            yield f"{space}}}"
        case "DoWhile":
            yield f"{space}do {{"
            yield from _block(node.stmt, types, depth + 1)
            yield f"{space}}} while ({expression(node.cond, types)});"
        case "If":
            yield _Placed.at(node, f"{space}if ({expression(node.cond, types)}) {{")
            yield from _block(node.iftrue, types, depth + 1)
            if node.iffalse is not None:
                yield f"{space}}} else {{"
                yield from _block(node.iffalse, types, depth + 1)
            yield f"{space}}}"
        case "Switch" | "Label" | "Case" | "Default":
            yield from (space + line for line in expression(node, types).splitlines())
        case "Return" | "Break" | "Continue":
            yield _Placed.at(node, f"{space}{expression(node, types).rstrip(';')};")
        case "Decl" | "DeclList":
            for each in node.decls if kind(node) == "DeclList" else [node]:
                yield _Placed.at(each, f"{space}{expression(each, types)};")
        case _:
            yield _Placed.at(node, f"{space}{expression(node, types)};")
