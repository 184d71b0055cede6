"""What a trace needs: known answers on small kernels, and the definition as a law.

Every line of a kernel says what is expected of it: `+` it must be computed, `&` its address only
must be known, `-` it may be left out.
"""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcast.analysis.slicing import Needed, needed_for_trace
from kernelcast.ir import BasicBlock, Guard, Instruction, Kernel, OpClass, Register, Space
from kernelcast.isas.ptx import parse_ptx

HEADER = """
    .version 8.8
    .target sm_90
    .address_size 64
    .const .align 4 .b32 table[2];
    .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n, .param .f32 s) {
    .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;
    .shared .align 4 .b8 tile[1024]; .local .align 4 .b8 stack[64];
"""

SAXPY = """
    + ld.param.u64 %d1, [a]
    + ld.param.u64 %d2, [b]
    + ld.param.u32 %r1, [n]
    - ld.param.f32 %f1, [s]
    + mov.u32 %r2, %tid.x
    + setp.ge.s32 %p1, %r2, %r1
    + @%p1 bra end
    + mul.wide.s32 %d3, %r2, 4
    + add.s64 %d1, %d1, %d3
    + add.s64 %d2, %d2, %d3
    & ld.global.f32 %f2, [%d1]
    & ld.global.f32 %f3, [%d2]
    - fma.rn.f32 %f4, %f1, %f2, %f3
    & st.global.f32 [%d2], %f4
    end:
    + ret
"""

SPMV = """
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    + mul.wide.u32 %d2, %r1, 4
    + add.s64 %d3, %d1, %d2
    + ld.global.nc.u32 %r2, [%d3]
    + ld.global.nc.u32 %r3, [%d3+4]
    - mov.f32 %f1, 0f00000000
    + setp.ge.s32 %p1, %r2, %r3
    + @%p1 bra end
    loop:
    + mul.wide.u32 %d4, %r2, 4
    + add.s64 %d5, %d1, %d4
    + ld.global.nc.u32 %r4, [%d5+1024]
    & ld.global.nc.f32 %f2, [%d5+2048]
    + mul.wide.u32 %d6, %r4, 4
    + add.s64 %d6, %d1, %d6
    & ld.global.nc.f32 %f3, [%d6+4096]
    - fma.rn.f32 %f1, %f2, %f3, %f1
    + add.s32 %r2, %r2, 1
    + setp.lt.s32 %p1, %r2, %r3
    + @%p1 bra loop
    end:
    & st.global.f32 [%d3], %f1
    + ret
"""

POINTER_CHASE = """
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, 16
    - mov.u32 %r2, 0
    loop:
    + ld.global.u64 %d1, [%d1]
    - add.s32 %r2, %r2, 3
    + sub.s32 %r1, %r1, 1
    + setp.ne.s32 %p1, %r1, 0
    + @%p1 bra loop
    & st.shared.u32 [tile], %r2
    + ret
"""

# The number of a bin that a thread drew is where it goes next.
HISTOGRAM = """
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    + mul.wide.u32 %d2, %r1, 4
    + add.s64 %d2, %d1, %d2
    + ld.global.u32 %r2, [%d2]
    + shl.b32 %r3, %r2, 2
    + mov.u32 %r4, tile
    + add.u32 %r4, %r4, %r3
    + mov.u32 %r5, 1
    + red.shared.add.u32 [%r4], %r5
    + bar.sync 0
    + ld.shared.u32 %r6, [%r4]
    + mul.wide.u32 %d3, %r6, 4
    + add.s64 %d3, %d1, %d3
    - cvt.rn.f32.u32 %f1, %r2
    & st.local.f32 [stack], %f1
    & ld.global.f32 %f2, [%d3]
    + ret
"""

# What lanes compare is in the trace where the lanes of every value are found, and nowhere else.
COMPARISONS = """
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %laneid
    + mul.wide.u32 %d2, %r1, 4
    + add.s64 %d2, %d1, %d2
    + ld.global.nc.u32 %r2, [%d2]
    & ld.global.u32 %r3, [%d2+128]
    + setp.lt.u32 %p1, %r1, 7
    + @%p1 match.any.sync.b32 %r4, %r2, 127
    - match.all.sync.b32 %r5|%p2, %r3, 0xffffffff
    - add.u32 %r6, %r4, %r5
    & st.global.u32 [%d2], %r6
    + ret
"""

# Only the counter of the loop matters, not the sum that is carried through it.
COUNTERS = """
    + mov.u32 %r1, 0
    - mov.u32 %r2, 0
    loop:
    - add.u32 %r2, %r2, %r1
    + add.u32 %r1, %r1, 1
    + setp.lt.u32 %p1, %r1, 10
    + @%p1 bra loop
    - mul.lo.u32 %r3, %r2, %r1
    & st.shared.u32 [tile], %r3
    + ret
"""

PREDICATES = """
    + mov.u32 %r1, %tid.x
    - mov.u32 %r2, %laneid
    + setp.lt.u32 %p1, %r1, 7
    + setp.gt.and.u32 %p2, %r1, 3, %p1
    + not.pred %p3, %p2
    - setp.eq.u32 %p4, %r2, 1
    - selp.u32 %r3, 1, 2, %p4
    & @%p3 st.shared.u32 [tile], %r3
    + exit
"""

# Where the guard is false, the value of the first move stays.
GUARDED_WRITES = """
    + mov.u32 %r1, %tid.x
    - mov.u32 %r2, tile
    + mov.u32 %r2, tile
    + setp.lt.u32 %p1, %r1, 7
    + @%p1 mov.u32 %r2, 4
    & ld.shared.u32 %r3, [%r2]
    - mov.u32 %r2, 9
    - @%p1 mov.u32 %r3, 5
    + mov.u32 %r4, tile
    & st.shared.u32 [%r4], %r3
    + ret
"""

# In the lanes that read an address, its last write was made under the same predicate.
SAME_PREDICATE = """
    + mov.u32 %r1, %tid.x
    + setp.lt.u32 %p1, %r1, 7
    - mul.lo.u32 %r2, %r1, 3
    + @%p1 mov.u32 %r2, tile
    - @!%p1 add.u32 %r2, %r2, 5
    + @%p1 add.u32 %r2, %r2, 4
    & @%p1 ld.shared.u32 %r3, [%r2]
    - mov.u32 %r4, 3
    + @%p1 mov.u32 %r4, 8
    + @!%p1 mov.u32 %r4, 12
    & ld.shared.u32 %r3, [%r4]
    - mov.u32 %r5, 7
    + @!%p1 mov.u32 %r5, 12
    + bar.sync 0
    & @!%p1 ld.shared.u32 %r3, [%r5]
    + ret
"""

# The predicate is not the one of the write any more.
CHANGED_PREDICATE = """
    + mov.u32 %r1, %tid.x
    + setp.lt.u32 %p1, %r1, 7
    + mov.u32 %r2, 4
    + @%p1 mov.u32 %r2, tile
    + setp.lt.u32 %p1, %r1, 9
    & @%p1 ld.shared.u32 %r3, [%r2]
    + mov.u32 %r4, 4
    + @!%p1 mov.u32 %r4, 12
    + bar.sync 0
    + setp.gt.u32 %p1, %r1, 3
    & @!%p1 ld.shared.u32 %r3, [%r4]
    + ret
"""

DIFFERENT_WRITES_BY_PATH = """
    + mov.u32 %r1, %tid.x
    + setp.lt.u32 %p1, %r1, 7
    - mov.u32 %r2, 4
    + @%p1 bra small
    + add.u32 %r2, %r1, 8
    + bra join
    small:
    + mov.u32 %r2, 12
    join:
    & ld.shared.u32 %r3, [%r2]
    + mov.u32 %r2, tile
    & ld.shared.u32 %r3, [%r2]
    + ret
"""

THROUGH_SHARED_MEMORY = """
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    + mul.lo.u32 %r2, %r1, 12
    + st.shared.u32 [tile+4], %r2
    - mul.lo.u32 %r5, %r1, 13
    & st.global.u32 [%d1], %r5
    & st.local.u32 [stack], %r5
    + bar.sync 0
    + ld.shared.u32 %r3, [tile]
    + cvt.u64.u32 %d2, %r3
    + add.s64 %d2, %d2, %d1
    & ld.global.u32 %r4, [%d2]
    & ld.local.u32 %r4, [stack]
    + ret
"""

THROUGH_GENERIC_MEMORY = """
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    + mul.lo.u32 %r2, %r1, 12
    + st.u32 [%d1], %r2
    - mul.lo.u32 %r5, %r1, 13
    & st.global.u32 [%d1], %r5
    & st.shared.u32 [tile], %r5
    + ld.local.u32 %r3, [stack]
    & ld.shared.u32 %r4, [%r3]
    + ret
"""

FROM_GENERIC_MEMORY = """
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    + st.global.u32 [%d1], %r1
    + st.shared.u32 [tile], %r1
    + atom.local.add.u32 %r2, [stack], %r1
    + ld.u32 %r3, [%d1]
    & ld.shared.u32 %r4, [%r3]
    + ret
"""

# An element's place among those that are kept is what an atomic gave.
COMPACTION = """
    + ld.param.u64 %d1, [a]
    + ld.param.u64 %d2, [b]
    - ld.param.u64 %d5, [c]
    + mov.u32 %r1, %tid.x
    + mul.wide.u32 %d3, %r1, 4
    + add.s64 %d3, %d3, %d1
    + ld.const.u32 %r2, [table]
    & ld.global.nc.f32 %f1, [%d3]
    + setp.ne.u32 %p1, %r2, 0
    + @!%p1 bra end
    + mov.u32 %r3, 1
    + atom.shared.add.u32 %r4, [tile], %r3
    + mul.wide.u32 %d4, %r4, 4
    + add.s64 %d4, %d2, %d4
    - mul.f32 %f2, %f1, %f1
    & st.global.f32 [%d4], %f2
    & red.global.add.f32 [%d2], %f2
    end:
    + ret
"""

# The ballot chooses a way; the sum by shuffles is only stored.
CROSS_LANE = """
    + mov.u32 %r1, %tid.x
    + and.b32 %r7, %r1, 5
    + setp.lt.u32 %p1, %r7, 4
    + vote.sync.ballot.b32 %r2, %p1, 0xffffffff
    + popc.b32 %r3, %r2
    + shfl.sync.idx.b32 %r4, %r3, 0, 31, 0xffffffff
    + redux.sync.add.s32 %r8, %r4, 0xffffffff
    - cvt.rn.f32.u32 %f1, %r1
    - mov.b32 %r5, %f1
    - shfl.sync.down.b32 %r6, %r5, 1, 31, 0xffffffff
    & st.shared.u32 [%r8], %r6
    + ret
"""

BARRIERS = """
    + mov.u32 %r1, 1
    + mov.u32 %r2, 64
    + mov.u32 %r3, %tid.x
    + setp.lt.u32 %p1, %r3, 7
    + bar.red.popc.u32 %r4, %r1, %r2, %p1
    - mov.u32 %r5, %laneid
    & st.shared.u32 [tile], %r5
    + ret
"""

INDEXED_BRANCH = """
    + mov.u32 %r1, %tid.x
    + and.b32 %r2, %r1, 1
    - mov.u32 %r3, 7
    targets: .branchtargets one, two;
    + brx.idx %r2, targets
    one:
    - add.u32 %r3, %r3, 1
    two:
    & st.shared.u32 [tile], %r3
    + ret
"""

# The upper half of a sum takes the carry of the lower half.
CARRY = """
    + mov.u32 %r1, %tid.x
    + add.cc.u32 %r2, %r1, %r1
    - add.u32 %r3, %r1, 3
    + addc.u32 %r4, %r1, 0
    - add.cc.u32 %r5, %r1, %r1
    & ld.shared.u32 %r6, [%r4]
    + ret
"""

MATRICES = """
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    & ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2, %r3}, [%r1]
    - mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1, %f2}, {%r2}, {%r3}, {%f1, %f2}
    & stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%f1, %f2}
    & cp.async.ca.shared.global [%r1], [%d1], 16
    - cp.async.wait_all
    & st.global.f32 [%d1], %f1
    + ret
"""

# What a copy brings to shared memory comes from global memory.
INDICES_FROM_MATRICES = """
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    + ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2, %r3}, [%r1]
    + mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1, %f2}, {%r2}, {%r3}, {%f1, %f2}
    + stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%f1, %f2}
    + cp.async.ca.shared.global [%r1], [%d1], 16
    + st.global.f32 [%d1], %f3
    & ld.local.u32 %r6, [stack]
    + ld.shared.u32 %r4, [%r1]
    + add.u32 %r5, %r4, 4
    & ld.shared.u32 %r6, [%r5]
    + ret
"""

# Two places of the frame, of which one holds an index and the other a number.
SPILLS = """
    + mov.u64 %d8, stack
    + add.s64 %d8, %d8, 16
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    - cvt.rn.f32.u32 %f1, %r1
    & st.local.f32 [%d8], %f1
    + st.local.u32 [%d8+4], %r1
    & ld.local.f32 %f2, [%d8]
    + ld.local.u32 %r2, [%d8+4]
    + mul.wide.u32 %d2, %r2, 4
    + add.s64 %d3, %d1, %d2
    & st.global.f32 [%d3], %f2
    + ret
"""

# Half of eight bytes is written by the one store, half by the other.
SPILLS_THAT_OVERLAP = """
    + mov.u64 %d8, stack
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    + mov.u32 %r2, 0
    - mov.u32 %r3, 7
    + st.local.u32 [%d8+8], %r1
    + st.local.u32 [%d8+12], %r2
    & st.local.u32 [%d8+16], %r3
    + ld.local.u64 %d2, [%d8+8]
    + add.s64 %d3, %d1, %d2
    & ld.global.u32 %r5, [%d3]
    + ret
"""

# Where the pointer goes elsewhere, or changes later, any access may be to any place.
ANY_PLACE_BY_AN_INDEX = """
    + mov.u64 %d8, stack
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    + mul.wide.u32 %d4, %r1, 4
    + add.s64 %d5, %d8, %d4
    + st.local.u32 [%d8], %r1
    + st.local.u32 [%d8+4], %r1
    + ld.local.u32 %r2, [%d5]
    + mul.wide.u32 %d2, %r2, 4
    + add.s64 %d3, %d1, %d2
    & ld.global.u32 %r5, [%d3]
    + ret
"""
ANY_PLACE_BY_A_POINTER_THAT_CHANGES = """
    + mov.u64 %d8, stack
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    + st.local.u32 [%d8], %r1
    + st.local.u32 [%d8+4], %r1
    + add.s64 %d8, %d8, 4
    + ld.local.u32 %r2, [%d8]
    + mul.wide.u32 %d2, %r2, 4
    + add.s64 %d3, %d1, %d2
    & ld.global.u32 %r5, [%d3]
    + ret
"""
ANY_PLACE_BY_A_POINTER_THAT_IS_KEPT = """
    + mov.u64 %d8, stack
    + ld.param.u64 %d1, [a]
    + mov.u32 %r1, %tid.x
    + st.local.u64 [%d8], %d8
    + st.local.u32 [%d8+8], %r1
    + ld.local.u32 %r2, [%d8+8]
    + mul.wide.u32 %d2, %r2, 4
    + add.s64 %d3, %d1, %d2
    & ld.global.u32 %r5, [%d3]
    + ret
"""

KERNELS = {
    name.lower(): text
    for name, text in dict(globals()).items()
    if name.isupper() and isinstance(text, str) and name != "HEADER"
}


def read(text: str) -> Kernel:
    """The kernel of a marked text, which stands behind the header."""
    body = re.sub(r"^( *)[+&-] (.*)$", r"\1\2;", text, flags=re.MULTILINE)
    return parse_ptx(f"{HEADER}{body}}}", "marked.ptx").kernel("k")


def mark(needed: Needed, index: int) -> str:
    return "+" if index in needed.in_full else "&" if index in needed.address_only else "-"


@pytest.mark.parametrize("text", KERNELS.values(), ids=KERNELS)
def test_what_a_trace_needs(text: str) -> None:
    kernel = read(text)
    needed = needed_for_trace(kernel)
    assert not needed.in_full & needed.address_only
    found = (HEADER + text).splitlines()
    for i in kernel.instructions:
        line = found[i.line - 1]
        at = len(line) - len(line.lstrip())
        found[i.line - 1] = line[:at] + mark(needed, i.index) + line[at + 1 :]
    assert found == (HEADER + text).splitlines()


@pytest.mark.parametrize(("register", "needed"), [("%r1", []), ("%r2", ["st", "ld"])])
def test_what_a_trace_without_shared_memory_needs(register: str, needed: list[str]) -> None:
    """Accesses to it are no part of it, but an address may depend on what they load."""
    kernel = read(
        "mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4;"
        "st.shared.u32 [%d1], %r1; ld.shared.u32 %r2, [%d1+128];"
        f"mul.wide.u32 %d2, {register}, 4; ld.global.u32 %r3, [%d2]; ret;".replace(";", ";\n")
    )
    shared = [i for i in kernel.instructions if i.space is Space.SHARED]
    found = needed_for_trace(kernel, untraced=[Space.SHARED])
    assert [i.opcode for i in shared if i.index in found.in_full] == needed
    assert len(found.address_only) == 1


def opcodes(kernel: Kernel, chain: tuple[int, ...]) -> str:
    return " ".join(kernel.instructions[at].opcode for at in chain)


@pytest.mark.parametrize(
    ("text", "line", "chain"),
    [
        (SAXPY, "mov.u32 %r2", "mov setp bra"),
        (SAXPY, "mul.wide.s32 %d3", "mul add ld"),
        (SAXPY, "@%p1 bra end", "bra"),
        (SAXPY, "ld.global.f32 %f2", "ld"),
        (SAXPY, "fma", ""),
        (COMPARISONS, "ld.global.nc.u32 %r2", "ld match"),
        (COMPARISONS, "setp.lt.u32 %p1", "setp match"),
        (COMPARISONS, "@%p1 match.any", "match"),
        (SPMV, "ld.global.nc.u32 %r2", "ld setp bra"),  # the guard is nearer than the address
        (SPMV, "ld.global.nc.u32 %r4", "ld mul add ld"),
        (SPMV, "add.s32 %r2", "add setp bra"),
        (POINTER_CHASE, "ld.global.u64", "ld ld"),  # the address of its own next round
        (HISTOGRAM, "mov.u32 %r5", "mov red ld mul add ld"),
        (THROUGH_SHARED_MEMORY, "mul.lo.u32 %r2", "mul st ld cvt add ld"),
        (THROUGH_SHARED_MEMORY, "mul.lo.u32 %r5", ""),
        (COMPACTION, "mov.u32 %r3", "mov atom mul add st"),
        (COMPACTION, "red", "red"),
        (CARRY, "add.cc.u32 %r2", "add addc ld"),
        (INDICES_FROM_MATRICES, "mma", "mma stmatrix ld add ld"),
        (INDICES_FROM_MATRICES, "st.global", "st cp cp ld add ld"),  # a copy: a load and a store
    ],
)
def test_why_an_instruction_is_needed(text: str, line: str, chain: str) -> None:
    kernel = read(text)
    lines = (HEADER + text).splitlines()
    (index,) = (i.index for i in kernel.instructions if lines[i.line - 1][6:].startswith(line))
    assert opcodes(kernel, needed_for_trace(kernel).why(index)) == chain


def test_a_load_that_may_see_a_store_needs_its_value() -> None:
    kernel = read(SPMV.replace("global.nc.u32 %r3", "global.u32 %r3"))
    needed = needed_for_trace(kernel)
    assert needed.in_full == {i.index for i in kernel.instructions}


def test_what_a_later_launch_reads_is_needed() -> None:
    kernel = read(SAXPY)
    needed = needed_for_trace(kernel, keeps_global=True)
    assert needed.in_full == {i.index for i in kernel.instructions}
    fma, store = 12, 13
    assert needed.why(fma) == (fma, store)
    assert needed.why(store) == (store,)


GUARD_REGISTERS = tuple(Register(name, "pred") for name in "pq")
REGISTERS = (*(Register(name, "b32") for name in "abc"), *GUARD_REGISTERS)
GUARDS = tuple(Guard(p, negated) for p in GUARD_REGISTERS for negated in (False, True))
ACCESSES = (
    *((OpClass.LOAD, space) for space in Space),
    *((OpClass.STORE, space) for space in (Space.GLOBAL, Space.SHARED, Space.GENERIC)),
    *((OpClass.ATOMIC, space) for space in (Space.GLOBAL, Space.SHARED, Space.GENERIC)),
)
REACH = {
    **{space: {space} for space in (Space.GLOBAL, Space.SHARED, Space.LOCAL)},
    **{space: set() for space in (Space.CONST, Space.PARAM)},
    Space.GENERIC: {Space.GLOBAL, Space.SHARED, Space.LOCAL},
}


def random_kernel(rng: random.Random) -> Kernel:
    """Up to five blocks of random instructions with random edges."""
    count = rng.randrange(1, 6)
    instructions: list[Instruction] = []
    blocks = []
    for at in range(count):
        start = len(instructions)
        instructions += [random_instruction(rng, start + n) for n in range(rng.randrange(1, 5))]
        successors = tuple(rng.sample(range(count), min(count, rng.randrange(3))))
        blocks.append(BasicBlock(at, start, len(instructions), successors))
    return Kernel("k", "ptx", "sm_90", (), tuple(instructions), tuple(blocks))


def random_instruction(rng: random.Random, index: int) -> Instruction:
    """Arithmetic in half of the cases, else an access or a branch."""
    op_class, space = OpClass.INT, None
    choice = rng.randrange(8)
    if choice > 4:
        op_class, space = rng.choice(ACCESSES)
    elif choice == 4:
        op_class = OpClass.BRANCH
    guard = rng.choice((None, *GUARDS)) if rng.randrange(2) else None
    address = tuple(rng.sample(REGISTERS, space is not None))
    sources = tuple(rng.sample(REGISTERS, rng.randrange(3)))
    gives = op_class in (OpClass.INT, OpClass.LOAD, OpClass.ATOMIC)
    return Instruction(
        index=index,
        opcode="op",
        modifiers=(),
        operands=(),
        op_class=op_class,
        guard=guard,
        reads=(*((guard.register,) if guard else ()), *address, *sources),
        writes=tuple(rng.sample(REGISTERS, rng.randrange(3))) if gives else (),
        space=space,
        address_reads=address,
    )


def preceding(kernel: Kernel, index: int) -> list[int]:
    """Instructions that may be executed right before another, by the lanes that execute that."""
    block = next(b for b in kernel.blocks if b.start <= index < b.end)
    if index > block.start:
        return [index - 1]
    return [b.end - 1 for b in kernel.blocks if block.index in b.successors]


def reads_result(
    kernel: Kernel, writer: int, register: Register, reader: int, most_known: int
) -> bool:
    """Whether a lane may read at one instruction what it wrote at another.

    The lane goes back from the reader. A predicate that is known to hold in it, or not to, is
    known until it comes to where that was written; of so many at the most.
    """
    guard = kernel.instructions[reader].guard
    first = frozenset([guard] if guard else ())
    pending = [(at, first) for at in preceding(kernel, reader)]
    seen: set[tuple[int, frozenset[Guard]]] = set()
    while pending:
        state = pending.pop()
        if state in seen:
            continue
        seen.add(state)
        at, known = state
        instruction = kernel.instructions[at]
        guard = instruction.guard
        known = frozenset(one for one in known if one.register not in instruction.writes)
        if register in instruction.writes:
            others = guard and Guard(guard.register, not guard.negated)
            if others not in known:
                if at == writer:
                    return True
                if others is None or guard in known:
                    continue
                if len(known) < most_known:
                    known |= {others}
        pending += [(above, known) for above in preceding(kernel, at)]
    return False


def reached(access: Instruction) -> set[Space]:
    """The memories that an access may touch."""
    assert access.space is not None
    return REACH[access.space]


def uses(kernel: Kernel, writer: Instruction, reader: Instruction, most_known: int) -> bool:
    """Whether an instruction, done in full, uses a result of another."""
    changes = writer.op_class in (OpClass.STORE, OpClass.ATOMIC)
    loads = reader.op_class is OpClass.LOAD and bool(reader.writes)
    through_memory = changes and (loads or reader.op_class is OpClass.ATOMIC)
    return (through_memory and bool(reached(writer) & reached(reader))) or any(
        reads_result(kernel, writer.index, register, reader.index, most_known)
        for register in {*writer.writes}.intersection(reader.reads)
    )


def is_traced(instruction: Instruction) -> bool:
    return instruction.space not in (None, Space.PARAM)


def locates(kernel: Kernel, writer: Instruction, access: Instruction, most_known: int) -> bool:
    """Whether an access has its address or guard from an instruction."""
    guard = [access.guard.register] if access.guard else []
    return is_traced(access) and any(
        reads_result(kernel, writer.index, register, access.index, most_known)
        for register in {*access.address_reads, *guard}.intersection(writer.writes)
    )


def distances(kernel: Kernel, most_known: int) -> dict[int, int]:
    """Links from every needed instruction to what needs it, by relaxation until nothing changes."""
    code = kernel.instructions
    links = [(w.index, r.index) for w in code for r in code if uses(kernel, w, r, most_known)]
    found = {
        w.index: 1 for w in code if any(locates(kernel, w, access, most_known) for access in code)
    }
    found |= {i.index: 0 for i in code if i.op_class is OpClass.BRANCH}
    changed = True
    while changed:
        changed = False
        for writer, reader in links:
            if reader in found and found[reader] + 1 < found.get(writer, len(code) + 1):
                found[writer] = found[reader] + 1
                changed = True
    return found


@settings(deadline=None, max_examples=300)
@given(st.randoms(use_true_random=False))
def test_it_is_the_least_set_and_the_shortest_chains(rng: random.Random) -> None:
    """By one predicate that is known of a lane at a time; where the walk that needs it first knows
    more than the one that comes second, what is known of both may leave out more."""
    kernel = random_kernel(rng)
    needed = needed_for_trace(kernel)
    coarse, fine = (distances(kernel, most_known) for most_known in (1, len(GUARDS)))
    assert fine.keys() <= needed.in_full <= coarse.keys()
    for index in needed.in_full:
        assert coarse[index] <= len(needed.why(index)) - 1 <= fine.get(index, len(coarse))
    accesses = {i.index for i in kernel.instructions if is_traced(i)}
    assert needed.address_only == accesses - needed.in_full
