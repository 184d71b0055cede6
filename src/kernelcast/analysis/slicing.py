"""What a trace needs: the instructions that must be computed to know where a kernel goes.

A trace says which blocks ran in which lanes, where accesses went, and how many different values
lanes compared (`match.any`). It depends on the guards of accesses, on their addresses, on what is
compared, and on what branches, exits, barriers and reconvergence points read.
All else a kernel computes, most of its arithmetic often, may be left out. This is a backward slice
(Weiser 1984) whose criterion is the trace.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from kernelcast.analysis.arrays import arrays_of_accesses
from kernelcast.analysis.spin_loops import waits_of
from kernelcast.analysis.stack_frame import frame_words
from kernelcast.ir import Guard, Instruction, Kernel, OpClass, Register, Space

_CONTROL = (OpClass.BRANCH, OpClass.BARRIER)
_MODIFYING = (OpClass.ATOMIC, OpClass.ASYNC_COPY)
_WRITABLE = (Space.GLOBAL, Space.SHARED, Space.LOCAL)
_BARRIERS = "mbarrier"
"""What marks the steps that access a barrier in shared memory."""

_CARRY = Register("", "pred")
"""The condition code, which no operand names."""


@dataclass(frozen=True, slots=True)
class _GlobalArray:
    """An array in global memory."""

    name: str


@dataclass(frozen=True, slots=True)
class _FrameWord:
    """A word of the stack frame, where every access to it is known."""

    number: int


_Storage = Space | str | _GlobalArray | _FrameWord
"""A state space, the barriers, an array, or a word of the frame."""


@dataclass(frozen=True, slots=True)
class Needed:
    """Instructions, by index, that have to be executed to know the trace of a kernel.

    Those `in_full` must compute their results, and change memory where they write it. Of those
    `address_only`, which are accesses, the guard and the address must be known, but neither what
    they load nor what they store. All others may be left out: nothing that counts reads what they
    write.

    `users` names for an instruction in full another one that needs its result: in `last_links` are
    those whose result is needed there as address, as guard or by control.
    """

    in_full: frozenset[int]
    address_only: frozenset[int]
    users: Mapping[int, int] = field(repr=False, compare=False)
    last_links: frozenset[int] = field(repr=False, compare=False)

    def why(self, index: int) -> tuple[int, ...]:
        """A shortest chain from an instruction to what needs it: an access, a branch, a comparison.

        Each instruction uses a result of the one before, through a register or through memory; to
        the last one it is an address, a guard, what control depends on or what lanes compare. An
        access of which the address only counts, an instruction of control and a comparison stand
        alone. Empty for instructions that are not needed.
        """
        if index not in self.in_full and index not in self.address_only:
            return ()
        chain = [index]
        while chain[-1] in self.users:
            link = chain[-1]
            chain.append(self.users[link])
            if link in self.last_links:
                break
        return tuple(chain)


def needed_for_trace(
    kernel: Kernel,
    *,
    keeps_global: bool = False,
    pointers: Mapping[int, str] | None = None,
    untraced: Container[Space] = (),
) -> Needed:
    """Find the instructions that must be executed to know the trace of a kernel.

    Parameters are not traced, nor constants that the code names. A state space counts as a whole,
    but for the barriers in shared memory, the words of a stack frame (see `stack_frame`), and the
    arrays in global memory that `pointers` tells apart: it names the array of every pointer to one,
    by its offset in the block of parameters. Where a value loaded from such a place is needed, so
    is every value stored to it; generic addresses may lead to all spaces, and addresses of unknown
    origin to all arrays. Loads that promise to read what nobody writes need no store. With
    `keeps_global`, what the kernel leaves in global memory is needed as well, as by a later launch.
    Accesses to `untraced` spaces are needed only where other things depend on them.

    A value that one lane takes from another counts as read where it is taken. What a lane holds
    that does not take part there is undefined, as it is for `shfl.sync`, and is not kept.
    """
    named = tuple(sorted((pointers or {}).items()))
    spaces = frozenset(space for space in Space if space in untraced)
    return _needed(kernel, keeps_global, named, spaces)


@lru_cache(maxsize=128)
def _needed(
    kernel: Kernel,
    keeps_global: bool,
    pointers: tuple[tuple[int, str], ...],
    untraced: frozenset[Space],
) -> Needed:
    """`needed_for_trace`, kept: programs launch a kernel again and again."""
    search = _Search(kernel, dict(pointers))
    accesses = _traced(kernel, untraced)
    for instruction in kernel.instructions:
        search.add_root(instruction, is_traced=instruction.index in accesses)
    for block, lanes in waits_of(kernel).reconvergence.items():
        if isinstance(lanes, Register):
            search.need_register(kernel.blocks[block].start, lanes)
    if keeps_global:
        search.need_memory(Space.GLOBAL, None)
    search.run()
    return Needed(
        frozenset(search.in_full),
        frozenset(accesses - search.in_full),
        search.users,
        frozenset(search.last_links),
    )


class _Search:
    """A search from the roots, breadth first, so that the first user found is nearest to a root."""

    def __init__(self, kernel: Kernel, pointers: Mapping[int, str] | None) -> None:
        self._kernel = kernel
        self._pointers = pointers or {}
        self.instructions = kernel.instructions
        self.writers = _Writers(kernel)
        self.in_full: set[int] = set()
        self.users: dict[int, int] = {}
        self.last_links: set[int] = set()
        self._needed: set[_Storage] = set()
        self._loaded: set[int] = set()
        self._barriers = {i.index for i in kernel.instructions if _is_on_barrier(kernel, i.index)}
        self._roots: list[tuple[int, Sequence[Register]]] = []
        self._pending: deque[int] = deque()

    def add_root(self, instruction: Instruction, *, is_traced: bool) -> None:
        """Note what the trace itself depends on, the address of the instruction if `is_traced`."""
        traits = instruction.traits
        finds_each = traits.match is not None and traits.match.finds_each
        if instruction.op_class in _CONTROL or traits.sleeps or traits.stops or finds_each:
            self.in_full.add(instruction.index)
            self._pending.append(instruction.index)
        elif is_traced:
            guard = (instruction.guard.register,) if instruction.guard else ()
            self._roots.append((instruction.index, (*guard, *instruction.address_reads)))

    def need_register(self, index: int, register: Register) -> None:
        """Note that the trace depends on a register that an instruction reads."""
        self._roots.append((index, (register,)))

    def need_memory(self, place: _Storage, user: int | None) -> None:
        """Take in all that may write to a place, as `user` needs."""
        if place not in self._needed:
            self._needed.add(place)
            for index, places in self._writing.items():
                if any(_overlap(place, other) for other in places):
                    self._take(index, user)

    def run(self) -> None:
        """Take in all that the roots need, and what that needs in turn."""
        for index, registers in self._roots:
            self.last_links.update(self._take_writers(index, registers))
        while self._pending:
            index = self._pending.popleft()
            instruction = self.instructions[index]
            self._take_writers(index, _reads(instruction))
            finds = instruction.op_class is not OpClass.LOAD or index in self._loaded
            if finds and _may_read(instruction):
                for place in self._places(instruction):
                    self.need_memory(place, index)

    def _is_loaded(self, index: int, register: Register) -> bool:
        """Whether what an instruction writes to a register comes from memory: a load may also hand
        on where it goes, as the copy of a tile does to the parts that follow."""
        steps = self._kernel.steps(index)
        if self.instructions[index].op_class is not OpClass.LOAD or len(steps) == 1:
            return True
        loaded: set[Register] = set()
        for step in steps:
            if step.op_class.is_memory or not loaded.isdisjoint(step.reads):
                loaded.update(step.writes)
        return register in loaded

    def _places(self, instruction: Instruction) -> tuple[_Storage, ...]:
        """Where its address may lead to. The words of barriers are a place of their own, since
        nothing else reads or writes them."""
        if instruction.index in self._barriers:
            return (_BARRIERS,)
        if instruction.index in self._frame:
            return tuple(map(_FrameWord, self._frame[instruction.index]))
        spaces = reachable_spaces(instruction)
        if self._pointers and Space.GLOBAL in spaces and instruction.index in self._arrays:
            return tuple(map(_GlobalArray, sorted(self._arrays[instruction.index])))
        return spaces

    @cached_property
    def _writing(self) -> Mapping[int, tuple[_Storage, ...]]:
        """The instructions that may write to memory, by index, and where."""
        return {i.index: self._places(i) for i in self.instructions if may_write(i)}

    @cached_property
    def _frame(self) -> Mapping[int, range]:
        accesses = [i for i in self.instructions if _is_access(i)]
        local = [i.index for i in accesses if Space.LOCAL in reachable_spaces(i)]
        return frame_words(self._kernel, local)

    @cached_property
    def _arrays(self) -> Mapping[int, frozenset[str]]:
        return arrays_of_accesses(self._kernel, self._pointers)

    def _take_writers(self, user: int, registers: Sequence[Register]) -> list[int]:
        """Take in what writes the registers that `user` reads; return what is new of it."""
        taken = []
        for register in registers:
            for writer in self.writers.before(user, register):
                is_new = self._take(writer, user)
                if is_new:
                    taken.append(writer)
                if writer not in self._loaded and self._is_loaded(writer, register):
                    self._loaded.add(writer)
                    if not is_new:  # only where it goes was needed so far
                        self._pending.append(writer)
        return taken

    def _take(self, index: int, user: int | None) -> bool:
        """Take an instruction in, in full; False if it already was."""
        if index in self.in_full:
            return False
        self.in_full.add(index)
        if user is not None:
            self.users[index] = user
        self._pending.append(index)
        return True


class _Writers:
    """Reaching definitions, found on demand (Aho, Lam, Sethi & Ullman 2006, section 9.2.4).

    They are told apart by predicates: what is read under `@p` comes from no write under `@!p`, and
    no write before one under `@p` reaches it, as long as nothing in between writes `p`.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._blocks = kernel.blocks
        self._instructions = kernel.instructions
        self._block_of = [b.index for b in kernel.blocks for _ in range(b.start, b.end)]
        self._predecessors: list[list[int]] = [[] for _ in kernel.blocks]
        for block in kernel.blocks:
            for target in block.successors:
                self._predecessors[target].append(block.index)
        self._writers: defaultdict[Register, dict[int, list[int]]] = defaultdict(dict)
        for block in kernel.blocks:
            for instruction in self._instructions[block.start : block.end]:
                for register in _writes(instruction):
                    found = self._writers[register].setdefault(block.index, [])
                    found.append(instruction.index)
        self._passed: defaultdict[Register, set[tuple[int, Guard | None]]] = defaultdict(set)

    def before(self, index: int, register: Register) -> Iterator[int]:
        """What may have written a register that an instruction reads.

        The end of every block is passed once for each register and predicate, in all calls
        together: what is found from there on has been given out already.
        """
        passed = self._passed[register]
        pending = [(self._block_of[index], index, self._instructions[index].guard)]
        while pending:
            block, end, lanes = pending.pop()
            found, old_value, lanes = self._in_block(register, block, end, lanes)
            yield from found
            if old_value:
                for above in self._predecessors[block]:
                    if (above, None) not in passed and (above, lanes) not in passed:
                        passed.add((above, lanes))
                        pending.append((above, self._blocks[above].end, lanes))

    def _in_block(
        self, register: Register, block: int, end: int, lanes: Guard | None
    ) -> tuple[list[int], bool, Guard | None]:
        """Walk a block up from `end`, for the lanes in which a predicate holds or for all.

        Returns the writers, and whether the value with which the block is entered may stay and in
        which lanes.
        """
        found: list[int] = []
        writers = self._writers[register].get(block, ())
        for at in reversed(range(bisect_left(writers, end))):
            writer = writers[at]
            if self._changes(lanes, block, writer, end):
                lanes = None
            guard, end = self._instructions[writer].guard, writer
            if guard is None or guard == lanes:
                return [*found, writer], False, lanes
            others = replace(guard, negated=not guard.negated)
            if lanes != others:
                found.append(writer)
            lanes = lanes or others
        if self._changes(lanes, block, self._blocks[block].start, end):
            lanes = None
        return found, True, lanes

    def _changes(self, lanes: Guard | None, block: int, start: int, end: int) -> bool:
        """Whether instructions from `start` to before `end` write the predicate."""
        if lanes is None:
            return False
        writers = self._writers[lanes.register].get(block, ())
        return bisect_left(writers, start) < bisect_left(writers, end)


def _reads(instruction: Instruction) -> tuple[Register, ...]:
    return (*instruction.reads, _CARRY) if instruction.traits.reads_carry else instruction.reads


def _writes(instruction: Instruction) -> tuple[Register, ...]:
    return (*instruction.writes, _CARRY) if instruction.traits.writes_carry else instruction.writes


def _is_access(instruction: Instruction) -> bool:
    """Whether it goes to memory: matrix instructions and copies do if they have an address."""
    return instruction.op_class.is_memory or bool(instruction.address_reads)


def _is_traced(instruction: Instruction) -> bool:
    if instruction.op_class.is_memory:
        return instruction.is_traced
    return _is_access(instruction) and instruction.space is not Space.PARAM


def _traced(kernel: Kernel, untraced: Container[Space]) -> frozenset[int]:
    """The accesses of a trace that leaves out spaces, but no part of what else is in it: a copy
    from one space to another is several instructions of one line."""
    accesses = [i for i in kernel.instructions if _is_traced(i)]
    lines = {i.line for i in accesses if i.space not in untraced}
    return frozenset(i.index for i in accesses if i.line in lines)


def _overlap(one: _Storage, other: _Storage) -> bool:
    if one == other:
        return True
    return Space.GLOBAL in (one, other) and any(isinstance(p, _GlobalArray) for p in (one, other))


def _is_on_barrier(kernel: Kernel, index: int) -> bool:
    return any(_BARRIERS in s.modifiers for s in kernel.steps(index) if s.op_class.is_memory)


def _may_read(instruction: Instruction) -> bool:
    """Whether its result, or what it writes to memory, comes from memory."""
    gives = bool(instruction.writes) or instruction.op_class in _MODIFYING
    return gives and (_is_access(instruction) or _follows_descriptors(instruction))


def _follows_descriptors(instruction: Instruction) -> bool:
    """Whether it multiplies what lies in memory; such reads are no part of a trace."""
    return instruction.op_class is OpClass.TENSOR and instruction.space is not None


def may_write(instruction: Instruction) -> bool:
    """Whether it may change memory: all but loads, and matrix instructions that load."""
    is_load = instruction.op_class is OpClass.LOAD or bool(instruction.writes)
    return _is_access(instruction) and (instruction.op_class in _MODIFYING or not is_load)


def reads_arrays(kernel: Kernel, needed: Needed) -> bool:
    """Whether what is needed of a kernel may read global memory: else it does not depend on what
    the arrays of a launch hold."""
    return any(
        _is_access(step)
        and step.op_class is not OpClass.STORE
        and step.space in (None, Space.GLOBAL, Space.GENERIC)
        for index in needed.in_full
        for step in (kernel.instructions[index], *kernel.steps(index))
    )


def reachable_spaces(instruction: Instruction) -> tuple[Space, ...]:
    """The state spaces, of those that are written, to which its address may lead."""
    space = instruction.space
    if instruction.traits.is_read_only:
        return ()
    if space is None or space is Space.GENERIC:
        return _WRITABLE
    return (space,) if space in _WRITABLE else ()
