"""Random PTX kernels with one result: no races, and nothing that PTX leaves open.

Whatever executes such a kernel rightly, in whatever order, leaves the same memory: PTX or the
machine code made of it, on any architecture. Hence no product and sum that may be fused, no
division by zero, no memory that is not written first; the lanes of a warp work together only where
all that take part are known to be. Values that PTX defines only nearly go to arrays of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.properties.ptx_cooperation import (
    arrival,
    barrier,
    exchange,
    masked_branch,
    warp_operation,
)
from tests.properties.ptx_idioms import (
    approximation,
    bits_to_predicates,
    idiom,
    predicates_to_bits,
    uniform_idiom,
)
from tests.properties.ptx_private_memory import (
    constant_load,
    float_atomic,
    input_load,
    own_access,
    own_atomic,
    reduction,
    space_test,
    typed_access,
)
from tests.properties.ptx_statements import (
    branch,
    carry_chain,
    combined_predicate,
    loop,
    lop3,
    pack,
    predicate,
    selection,
    table_branch,
)
from tests.properties.ptx_unique_frame import Frame, function_text, kernel_text, launch_of
from tests.properties.ptx_unique_writer import UniqueWriter
from tests.properties.ptx_writer import Program, Writer, input_words

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
TOLERANCES = {"near": 2.0**-15, "rough": 2.0**-5}
_SHAPES = ((32, 1, 1), (64, 1, 1), (40, 1, 1), (16, 4, 1), (8, 2, 2))
_GRIDS = ((1, 1, 1), (2, 1, 1), (1, 2, 1), (3, 1, 1))
_SPECIAL = (
    *("tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ctaid.x", "ctaid.y", "nctaid.x"),
    *("laneid", *(f"lanemask_{relation}" for relation in ("eq", "lt", "le", "gt", "ge"))),
)
_SPECIAL_90 = ("clusterid.x", "cluster_ctaid.x", "cluster_nctaid.x", "cluster_ctarank")
_EFFECTS = (
    *("membar.cta", "membar.gl", "membar.sys", "fence.acq_rel.gpu", "fence.sc.cta"),
    *("nanosleep.u32 20", "prefetch.global.L2 [%in]", "prefetch.global.L1 [%own]"),
)
_EFFECTS_90 = ("griddepcontrol.wait", "griddepcontrol.launch_dependents")


def unique_program(random: Random, architecture: int) -> Program:
    """A kernel that uses what an architecture has, and a launch that fits it."""
    block, grid = random.choice(_SHAPES), random.choice(_GRIDS)
    chosen = random.sample(_pools(architecture), 4)
    frame = Frame(architecture, block, grid, random.choice((0, 0, 0, 24, 40)))
    predicates = random.choice((4, 4, 12))
    functions = [
        function_text(number, _function(random, chosen, frame, number))
        for number in range(random.choice((0, 0, 1, 2)))
    ]

    def nested(w: Writer, depth: int, count: int) -> None:
        assert isinstance(w, UniqueWriter)
        _statements(w, depth, count, len(functions))

    w = UniqueWriter(
        random,
        chosen,
        nested,
        architecture=architecture,
        threads=frame.threads,
        predicates=predicates,
    )
    _statements(w, 0, random.choice((10, 20, 40)), len(functions))
    return Program(
        kernel_text(w, frame, functions),
        launch_of(frame, random.randrange(1 << 32)),
        input_words(random.randrange(8)),
        architecture,
        TOLERANCES,
    )


def _pools(architecture: int) -> str:
    """Half-precision of the wider range came with sm_80, pairs of f32 with sm_100."""
    return "lhfdex" + ("gy" if architecture >= 80 else "") + ("w" if architecture >= 100 else "")


def _function(random: Random, chosen: list[str], frame: Frame, number: int) -> UniqueWriter:
    """The body of a device function: it computes, and touches no memory."""

    def nested(w: Writer, depth: int, count: int) -> None:
        assert isinstance(w, UniqueWriter)
        for _ in range(1 + w.below(count)):
            choice = w.below(10)
            with w.unit():
                if choice == 0 and depth < 2:
                    branch(w, depth)
                elif choice == 1 and depth < 2 and w.loops < 4:
                    loop(w, depth)
                else:
                    w.pick(_COMPUTING)(w)

    pools = [pool for pool in chosen if pool in "lfdh"]
    w = UniqueWriter(
        random,
        pools,
        nested,
        architecture=frame.architecture,
        threads=frame.threads,
        predicates=4,
    )
    w.labels = 1000 * (number + 1)
    nested(w, 0, 12)
    return w


def _operation(w: UniqueWriter) -> None:
    w.operation(w.pick(w.pick(w.operations)))


def _uniform_operation(w: UniqueWriter) -> None:
    """Of values that are the same in the whole block, where its threads are together."""
    if not w.together:
        _operation(w)
    elif w.below(2):
        uniform_idiom(w)
    else:
        w.operation(w.pick(w.pick(w.uniform)), uniform=True)


def _special(w: UniqueWriter) -> None:
    names = _SPECIAL + (_SPECIAL_90 if w.architecture >= 90 else ())
    w.emit_maybe(f"mov.u32 {w.register('r')}, %{w.pick(names)}")


def _effect(w: UniqueWriter) -> None:
    if w.below(4) == 0:
        return space_test(w)
    return w.emit(w.pick(_EFFECTS + (_EFFECTS_90 if w.architecture >= 90 else ())))


_Statement = Callable[[UniqueWriter], None]
_COMPUTING: tuple[_Statement, ...] = (
    *(_operation,) * 12,
    *(predicate,) * 2,
    *(idiom,) * 8,
    *(selection, lop3, combined_predicate, carry_chain, pack, bits_to_predicates),
)
_SIMPLE: tuple[_Statement, ...] = (
    *_COMPUTING,
    *(_uniform_operation,) * 5,
    *(own_access,) * 3,
    *(_special, approximation, predicates_to_bits, input_load, typed_access, constant_load),
    *(own_atomic, float_atomic, reduction),
)


def _statements(w: UniqueWriter, depth: int, count: int, functions: int) -> None:
    for _ in range(1 + w.below(count)):
        with w.unit():
            _statement(w, depth, functions)


def _statement(w: UniqueWriter, depth: int, functions: int) -> None:
    choice = w.below(20)
    if choice == 0 and depth < 3:
        w.pick((_divergent, _uniform_branch))(w, depth)
    elif choice == 1 and depth < 2 and w.loops < 6:
        w.pick((_divergent_loop, _uniform_loop))(w, depth)
    elif choice == 2 and depth < 2:
        with w.apart():
            table_branch(w, depth)
    elif choice == 3 and functions:
        _call(w, w.below(functions))
    elif choice in (4, 5) and w.together and w.everyone:
        _reconvergence(w)
    elif choice == 6 and w.below(6) == 0:
        _effect(w)
    elif choice == 7 and depth == 0 and w.below(6) == 0:
        w.emit(f"@{w.register('p')} {w.pick(('exit', 'ret'))}")
        w.full_warps = w.everyone = False
    else:
        w.pick(_SIMPLE)(w)


def _reconvergence(w: UniqueWriter) -> None:
    choice = w.below(10)
    if choice < 6 and w.full_warps:
        warp_operation(w)
    elif choice == 6 and w.full_warps:
        masked_branch(w)
    elif choice == 7 and w.threads == 64:
        arrival(w)
    elif choice == 8:
        exchange(w)
    else:
        barrier(w)


def _divergent(w: UniqueWriter, depth: int) -> None:
    with w.apart():
        branch(w, depth)


def _divergent_loop(w: UniqueWriter, depth: int) -> None:
    if w.below(2):
        w.lines.append('\t.pragma "nounroll";')
    with w.apart():
        loop(w, depth)


def _uniform_branch(w: UniqueWriter, depth: int) -> None:
    otherwise, end = w.new_label(), w.new_label()
    w.emit(f"@{w.pick(('', '!'))}{w.register('u')} bra{w.pick(('', '.uni'))} {otherwise}")
    w.nested(w, depth + 1, 3)
    w.emit(f"bra.uni {end}")
    w.label(otherwise)
    w.nested(w, depth + 1, 2)
    w.label(end)


def _uniform_loop(w: UniqueWriter, depth: int) -> None:
    """At most four rounds, as many for every thread of the block."""
    counter, head = w.new_counter(), w.new_label()
    w.emit(f"and.b32 {counter}, {w.register('n')}, 3")
    if w.below(2):
        w.lines.append('\t.pragma "nounroll";')
    w.label(head)
    w.nested(w, depth + 1, 3)
    w.emit(f"sub.u32 {counter}, {counter}, 1")
    w.emit(f"setp.ge.s32 %q, {counter}, 0")
    w.emit(f"@%q bra {head}")


def _call(w: UniqueWriter, number: int) -> None:
    w.lines.append("\t{ .param .b32 a; .param .b32 b; .param .b32 c;")
    w.emit(f"st.param.b32 [a], {w.register('r')}")
    w.emit(f"st.param.b32 [b], {w.register('r')}")
    w.emit(f"call (c), f{number}, (a, b)")
    w.emit(f"ld.param.b32 {w.register('r')}, [c]")
    w.lines.append("\t}")
