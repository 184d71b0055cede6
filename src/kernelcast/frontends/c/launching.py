"""The launches of a planned function for given sizes: what the host would do, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelcast.errors import LaunchError
from kernelcast.frontends.c.accesses import ArrayAccess, Constraint, NestAccesses
from kernelcast.frontends.c.cuda_text import (
    KernelParameter,
    final_name,
    final_parameters,
    kernel_parameters,
)
from kernelcast.frontends.c.host_values import host_value
from kernelcast.frontends.c.integer_sets import extremes
from kernelcast.frontends.c.loops import ForLoop
from kernelcast.frontends.c.nodes import kind, names_in, place, walk
from kernelcast.frontends.c.plan import (
    FunctionPlan,
    HostAssignment,
    HostBranch,
    HostLoop,
    HostStep,
    LoopKernel,
)
from kernelcast.frontends.c.polynomials import Polynomial, whole
from kernelcast.frontends.c.types import CType
from kernelcast.frontends.expressions import Number
from kernelcast.ir import Argument, Array, Fill, Launch

_DEFAULT_BLOCKS: Mapping[int, tuple[int, ...]] = {1: (256,), 2: (32, 8)}
"""Threads of a block along x, or x and y, where nobody says it."""
_MOST_LAUNCHES = 100_000
_MOST_DISTINCT = 512
"""Launches that differ, each of which is forecast."""
_MOST_ELEMENTS = (1 << 31) - 1
"""Elements that an `int` can count, which subscripts of kernels are."""
_REDUCING_BLOCKS = 1024
"""Blocks of a reduction, each of which leaves one partial result."""
_FINAL_THREADS = 256
_MOST_DRAWN = 100
"""What integers are drawn below where nobody says it."""
_DEFAULT_FLOAT = 1.5
"""What floating-point parameters are where nobody says it."""


@dataclass(frozen=True)
class ArrayRegion:
    """What the kernels of a function use of an array, in elements from its start.

    `length` is that of the array; `read` and `written` are ranges, empty where there are none.
    `is_input` says whether the first kernel that uses it reads it, `is_local` whether it is the
    function's own.
    """

    name: str
    type: CType
    length: int
    read: range
    written: range
    is_input: bool
    is_local: bool


@dataclass(frozen=True)
class FunctionLaunches:
    """The launches of a function, in the order in which the host makes them.

    `arrays` are the function's by name, `values` the scalars that it was given; `assumed` says of
    which of these nobody spoke. `results` are scalars that kernels compute and the host wants, with
    their bytes.
    """

    function: str
    launches: tuple[Launch, ...]
    regions: tuple[ArrayRegion, ...]
    arrays: Mapping[str, Array]
    values: Mapping[str, Number]
    assumed: tuple[str, ...] = ()
    results: Mapping[str, int] = field(default_factory=dict)

    def together(self) -> tuple[Launch, ...]:
        """Equal launches as one that is repeated, in the order of their first."""
        counted: dict[str, Launch] = {}
        for launch in self.launches:
            key = f"{launch}{dict(launch.args)}"
            found = counted.get(key)
            counted[key] = launch if found is None else replace(found, repeat=found.repeat + 1)
        if len(counted) > _MOST_DISTINCT:
            raise LaunchError(
                f"{self.function} makes {len(counted)} launches that differ",
                hint=f"give sizes with {_MOST_DISTINCT} or less",
            )
        return tuple(counted.values())


def launch_function(
    plan: FunctionPlan,
    sizes: Mapping[str, Number],
    block: Sequence[int] | None = None,
    arrays: Mapping[str, Array] | None = None,
) -> FunctionLaunches:
    """The launches of a function for given sizes.

    `block` is the block of kernels with as many dimensions; `arrays` replace those that the launch
    would make. LaunchError where a size is missing or a subscript leaves its array.
    """
    values, assumed = _given(plan, sizes)
    host = _Host(plan, dict(values), block, arrays or {})
    host.run(plan.steps)
    regions = host.regions()
    limits, bounds = _limits(plan, regions), host.bounds(regions)
    made = {
        region.name: _array(
            region, at, limits.get(region.name, bounds.get(region.name, _MOST_DRAWN))
        )
        for at, region in enumerate(regions, 1)
    }
    replaced = {each: array for each, array in (arrays or {}).items() if each in made}
    _check_lengths(regions, replaced)
    made |= replaced
    assumed += tuple(
        f"elements of {name}, which are subscripts, are drawn at random below {limit}"
        for name, limit in limits.items()
        if name not in replaced
    )
    assumed += tuple(
        f"elements of {name}, which bound loops, are drawn at random below {limit}"
        for name, limit in bounds.items()
        if name not in replaced and name not in limits
    )
    launches = tuple(_launch(call, made) for call in host.calls)
    return FunctionLaunches(plan.name, launches, regions, made, values, assumed, _results(plan))


def _results(plan: FunctionPlan) -> dict[str, int]:
    """Scalars of the device that a function returns, or leaves in variables of the file."""
    returned = [node for node in walk(plan.node) if kind(node) == "Return"]
    wanted = {name for node in returned for name in names_in(node)} | set(plan.globals)
    return {name: _bytes_of(plan.types[name]) for name in sorted(plan.on_device & wanted)}


def _limits(plan: FunctionPlan, regions: Sequence[ArrayRegion]) -> dict[str, int]:
    """Of arrays that hold subscripts, what these must stay below."""
    lengths = {region.name: region.length for region in regions}
    found: dict[str, int] = {}
    for kernel in plan.kernels:
        for array, target in sorted(kernel.accesses.pointing):
            if array in lengths and target in lengths:
                found[array] = min(found.get(array, lengths[target]), lengths[target])
    return found


def _check_lengths(regions: Sequence[ArrayRegion], given: Mapping[str, Array]) -> None:
    """LaunchError where an array that is given is shorter than what loops use of it."""
    for region in regions:
        used = max(region.read.stop, region.written.stop) * _bytes_of(region.type)
        array = given.get(region.name)
        if array is not None and array.size_bytes < used:
            raise LaunchError(
                f"{region.name} has {array.size_bytes} bytes, of which loops use {used}",
                where="--arg",
                hint="give a longer array, or smaller sizes",
            )


def _given(
    plan: FunctionPlan, sizes: Mapping[str, Number]
) -> tuple[dict[str, Number], tuple[str, ...]]:
    values: dict[str, Number] = {}
    assumed = []
    for each in (*plan.parameters, *plan.globals):
        type_ = plan.types[each]
        if type_.is_array:
            continue
        if each in sizes:
            value = sizes[each]
            if type_.is_integer and not isinstance(value, int):
                raise LaunchError(f"{each} is {value}, not a whole number", where="--size")
            values[each] = value if type_.is_integer else float(value)
        elif each in plan.defaults:
            values[each] = host_value(plan.defaults[each], values, plan.types)
        elif not type_.is_integer:
            values[each] = _DEFAULT_FLOAT
            assumed.append(f"{each} = {_DEFAULT_FLOAT}, which nobody gave")
    return values, tuple(assumed)


@dataclass(frozen=True)
class _KernelCall:
    """A launch before the lengths of its arrays are known; `of` is the nest's own kernel."""

    kernel: str
    of: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    parameters: tuple[KernelParameter, ...]
    values: Mapping[str, Number]
    smem_bytes: int = 0
    parts: int | None = None
    partial_length: int = 0


@dataclass
class _Host:
    plan: FunctionPlan
    values: dict[str, Number]
    block: Sequence[int] | None
    arrays: Mapping[str, Array]
    calls: list[_KernelCall] = field(default_factory=list)
    _found: dict[str, _TouchedElements] = field(default_factory=dict)
    _seen: dict[tuple[object, ...], tuple[_KernelCall, ...]] = field(default_factory=dict)

    def run(self, steps: Sequence[HostStep]) -> None:
        """Do what the host does."""
        for step in steps:
            if isinstance(step, HostLoop):
                self._loop(step)
            elif isinstance(step, HostBranch):
                holds = host_value(step.condition, self.values, self.plan.types)
                self.run(step.if_true if holds else step.if_false)
            elif isinstance(step, HostAssignment):
                self._assign(step)
            else:
                self._launch(step)

    def _loop(self, step: HostLoop) -> None:
        loop = step.loop
        start, stop = (self._integer(node) for node in (loop.start, loop.stop))
        for value in range(start, stop + _past(loop), loop.step):
            self.values[loop.variable] = value
            self.run(step.children)

    def _assign(self, step: HostAssignment) -> None:
        try:
            value = host_value(step.node, self.values, self.plan.types)
        except LaunchError:
            # Only where a launch needs it is that an error, and then one that names it.
            self.values.pop(step.name, None)
            return
        is_integer = self.plan.types[step.name].is_integer
        self.values[step.name] = int(value) if is_integer else float(value)

    def _integer(self, node: object) -> int:
        value = host_value(node, self.values, self.plan.types)
        if not isinstance(value, int):
            raise LaunchError(f"{value} is not a whole number", where=str(place(node)))
        return value

    def _launch(self, kernel: LoopKernel) -> None:
        if len(self.calls) > _MOST_LAUNCHES:
            raise LaunchError(
                f"{self.plan.name} makes more than {_MOST_LAUNCHES} launches",
                where=str(kernel.place),
                hint="give smaller sizes",
            )
        used = self._used(kernel)
        key = (kernel.name, *used.items())
        if key not in self._seen:
            self._seen[key] = tuple(self._calls_of(kernel, used))
        self.calls += self._seen[key]

    def _used(self, kernel: LoopKernel) -> dict[str, Number]:
        """The scalars of the host that a kernel is given."""
        found = {}
        for p in kernel_parameters(self.plan, kernel):
            if p.role == "value":
                node = next(n for n in _nodes(self.plan, kernel) if p.variable in names_in(n))
                if p.variable not in self.values:
                    raise LaunchError(
                        f"{p.variable} is not given",
                        where=str(place(node)),
                        hint=f"give it with --size {p.variable}=VALUE",
                    )
                found[p.variable] = self.values[p.variable]
        return found

    def _calls_of(self, kernel: LoopKernel, used: Mapping[str, Number]) -> list[_KernelCall]:
        parameters = kernel_parameters(self.plan, kernel)
        extents = [self._iterations(kernel, loop) for loop in kernel.grid][::-1]
        if 0 in extents:
            return self._finals(kernel, 0) if kernel.reductions else []
        self._measure(kernel)
        if not kernel.grid:
            return [_KernelCall(kernel.name, kernel.name, (1,), (1,), parameters, used)]
        block = self._block(kernel)
        grid = [-(-extent // size) for extent, size in zip(extents, block, strict=True)]
        if not kernel.reductions:
            return [_KernelCall(kernel.name, kernel.name, tuple(grid), block, parameters, used)]
        most = _REDUCING_BLOCKS if len(grid) == 1 else _REDUCING_BLOCKS // 32
        grid = [min(blocks, most) for blocks in grid]
        blocks, threads = _product(grid), _product(block)
        widest = max(_bytes_of(r.type) for r in kernel.reductions)
        first = _KernelCall(
            kernel=kernel.name,
            of=kernel.name,
            grid=tuple(grid),
            block=block,
            parameters=parameters,
            values=used,
            smem_bytes=threads * widest,
            partial_length=blocks,
        )
        return [first, *self._finals(kernel, blocks)]

    def _finals(self, kernel: LoopKernel, parts: int) -> list[_KernelCall]:
        return [
            _KernelCall(
                final_name(kernel, r),
                kernel.name,
                (1,),
                (_FINAL_THREADS,),
                final_parameters(r),
                {},
                _FINAL_THREADS * _bytes_of(r.type),
                parts,
                max(parts, 1),
            )
            for r in kernel.reductions
        ]

    def _block(self, kernel: LoopKernel) -> tuple[int, ...]:
        wanted = len(kernel.grid)
        if self.block is None:
            return _DEFAULT_BLOCKS[wanted]
        if wanted == 1:
            return (_product(self.block),)
        x, y = (*self.block, 1)[:2]
        return x, y

    def _iterations(self, kernel: LoopKernel, loop: ForLoop) -> int:
        """How often a loop runs, at most where that depends on another one."""
        variables = {each.variable for each in kernel.loops}
        if not (names_in(loop.start) | names_in(loop.stop)) & variables:
            start, stop = self._integer(loop.start), self._integer(loop.stop)
            run = range(start, stop + _past(loop), loop.step)
            self._check_counter(loop, run)
            count = len(run)
        else:
            count = self._dependent_iterations(kernel.accesses, loop)
        if count > _MOST_ELEMENTS:
            raise LaunchError(
                f"the loop over {loop.variable} has {count} iterations, more than an int counts",
                where=str(place(loop.node)),
                hint="give smaller sizes",
            )
        return count

    def _check_counter(self, loop: ForLoop, run: range) -> None:
        """LaunchError where a loop never ends, as its variable is too narrow for its bound."""
        counter = self.plan.types.get(loop.variable)
        if counter is None or not run:
            return
        least, most = counter.limits
        if not least <= run[-1] + loop.step <= most:
            raise LaunchError(
                f"{loop.variable} is to pass {run[-1]}, and its type ends at "
                f"{most if loop.step > 0 else least}",
                where=str(place(loop.node)),
                hint=f"give {loop.variable} a wider type",
            )

    def _dependent_iterations(self, nest: NestAccesses, loop: ForLoop) -> int:
        numbers = self._numbers()
        indexed = next(each for each in nest.loops if each.loop is loop or each.loop == loop)
        domain = [c for each in nest.loops for c in each.domain]
        known = [Constraint(c.value.replaced(numbers), c.is_equation) for c in domain]
        # How far the variable is behind its start, in steps.
        start = next(c for c in indexed.domain if not c.is_equation).value.replaced(numbers)
        found = extremes(start, known, nest.variables)
        return 0 if found is None else found[1] // abs(loop.step) + 1

    def _numbers(self) -> dict[str, int]:
        return {each: value for each, value in self.values.items() if isinstance(value, int)}

    def _measure(self, kernel: LoopKernel) -> None:
        """Note which elements of its arrays a kernel uses."""
        numbers = self._numbers()
        read = {a.array for a in kernel.accesses.accesses if not a.is_write}
        for access in kernel.accesses.accesses:
            array = access.array
            found = self._flat_range(access, kernel.accesses.variables, numbers)
            if found is not None and array not in self.plan.constants:
                extent = self._found.setdefault(array, _TouchedElements(array in read))
                extent.add(found, access.is_write)

    def _flat_range(
        self, access: ArrayAccess, variables: frozenset[str], numbers: Mapping[str, int]
    ) -> tuple[int, int] | None:
        """The least and the largest element, in the order of memory, that an access reaches."""
        domain = [Constraint(c.value.replaced(numbers), c.is_equation) for c in access.domain]
        lengths = self._lengths(access.array)
        given = self.arrays.get(access.array)
        if lengths == [None] and given is not None and access.follows_data:
            # A pointer leads to as much as was given.
            known = given.size_bytes // _bytes_of(self.plan.types[access.array])
            lengths, last = [known], whole(known - 1)
            domain += [Constraint(last - s.replaced(numbers)) for s in access.subscripts]
        flat = whole(0)
        for subscript, length in zip(access.subscripts, lengths, strict=True):
            value = subscript.replaced(numbers)
            self._check_inside(access, value, domain, variables, length)
            flat = flat * whole(length or 1) + value
        found = self._extremes(access, flat, domain, variables)
        if found is not None and found[1] >= _MOST_ELEMENTS:
            raise LaunchError(
                f"{access.array} has more elements than an int counts",
                where=str(place(access.node)),
                hint="give smaller sizes",
            )
        return found

    def bounds(self, regions: Sequence[ArrayRegion]) -> dict[str, int]:
        """Of arrays that bound loops, what their elements must stay below: loops end where an array
        does that they go through. The usual limit where that is longer, or longer than is known."""
        whole = {region.name: region.length for region in regions}
        found: dict[str, int] = {}
        for kernel in self.plan.kernels:
            for array, target, dimension, past in sorted(kernel.accesses.bounding):
                if array in whole and target in whole:
                    lengths = self._lengths(target)
                    others = _product([n for n in lengths[1:] if n is not None])
                    extent = lengths[dimension] or whole[target] // max(1, others)
                    found[array] = min(found.get(array, _MOST_DRAWN), extent + past)
        return found

    def _lengths(self, array: str) -> list[int | None]:
        dims = self.plan.types[array].dims
        return [None if dim is None else self._integer(dim) for dim in dims]

    def _check_inside(
        self,
        access: ArrayAccess,
        value: Polynomial,
        domain: list[Constraint],
        variables: frozenset[str],
        length: int | None,
    ) -> None:
        found = self._extremes(access, value, domain, variables)
        if found is None:
            return
        low, high = found
        if low < 0 or (length is not None and high >= length):
            bad = low if low < 0 else high
            of = "" if length is None else f" of {length} elements"
            raise LaunchError(
                f"a subscript of {access.array}{of} reaches {bad}, outside of it",
                where=str(place(access.node)),
                hint="correct the bounds of the loop, or give other sizes",
            )

    def _extremes(
        self,
        access: ArrayAccess,
        value: Polynomial,
        domain: list[Constraint],
        variables: frozenset[str],
    ) -> tuple[int, int] | None:
        if unknown := value.names - variables:
            raise LaunchError(
                f"{min(unknown)} is not given",
                where=str(place(access.node)),
                hint=f"give it with --size {min(unknown)}=VALUE",
            )
        try:
            return extremes(value, domain, variables)
        except ValueError:
            raise LaunchError(
                f"how far a subscript of {access.array} reaches is not known",
                where=str(place(access.node)),
                hint=f"declare its length, such as {access.array}[n], or give the array with --arg",
            ) from None

    def regions(self) -> tuple[ArrayRegion, ...]:
        """What all launches together use of every array."""
        found = []
        local = set(self.plan.types) - set(self.plan.parameters) - set(self.plan.globals)
        every = dict.fromkeys(a for kernel in self.plan.kernels for a in kernel.arrays)
        for each in every:
            if each in self.plan.constants:
                continue
            type_ = self.plan.types[each]
            extent = self._found.get(each, _TouchedElements())
            lengths = self._lengths(each)
            known = [length for length in lengths if length is not None]
            length = _product(known) if len(known) == len(lengths) else extent.length(known)
            found.append(
                ArrayRegion(
                    each,
                    type_,
                    max(length, 1),
                    extent.read,
                    extent.written,
                    extent.is_input,
                    each in local,
                )
            )
        return tuple(found)


@dataclass
class _TouchedElements:
    is_input: bool = False
    read: range = range(0)
    written: range = range(0)

    def add(self, found: tuple[int, int], is_write: bool) -> None:
        """Widen by the elements from the first to the second."""
        old = self.written if is_write else self.read
        low, high = found
        new = range(min(old.start, low) if old else low, max(old.stop, high + 1))
        if is_write:
            self.written = new
        else:
            self.read = new

    def length(self, inner: Sequence[int]) -> int:
        """The least length of an array that holds them, in whole rows."""
        row = max(_product(inner), 1)
        return -(-max(self.read.stop, self.written.stop) // row) * row


def _past(loop: ForLoop) -> int:
    """What makes a bound one that Python's ranges exclude."""
    if "=" not in loop.comparison:
        return 0
    return 1 if loop.step > 0 else -1


def _nodes(plan: FunctionPlan, kernel: LoopKernel) -> list[object]:
    nodes: list[object] = [n for loop in kernel.loops for n in (loop.stop, loop.start)]
    nodes += kernel.body
    return nodes + [d for a in kernel.arrays for d in plan.types[a].dims if d is not None]


def _product(numbers: Sequence[int]) -> int:
    product = 1
    for each in numbers:
        product *= each
    return product


def _bytes_of(type_: CType) -> int:
    return int(type_.element[1:]) // 8


def _array(region: ArrayRegion, seed: int, limit: int) -> Array:
    """An array for a launch: what it holds at the start is drawn at random, integers below a limit,
    unless it is the function's own."""
    element = region.type.element
    fill = Fill("random", (seed,))
    if region.is_local or not region.read:
        fill = Fill()
    elif region.type.is_integer:
        fill = Fill("randint", (0, limit, seed))
    return Array(element, (region.length,), fill)


def _launch(call: _KernelCall, arrays: Mapping[str, Array]) -> Launch:
    arguments: dict[str, Argument] = {}
    if call.parts is not None:
        arguments["parts"] = call.parts
    for p in call.parameters:
        if p.role == "array":
            arguments[p.name] = arrays[p.variable]
        elif p.role == "value":
            arguments[p.name] = call.values[p.variable]
        else:
            is_partial = p.role == "partial"
            label = f"{call.of}_{p.name}" if is_partial else p.name
            arguments[label] = Array(p.type.element, (call.partial_length if is_partial else 1,))
    return Launch(call.grid, call.block, arguments, call.smem_bytes, call.kernel)
