"""Which arrays an address may lead into, from the pointers it is made of.

Were an array missed, stores that a path depends on would be left out of the slice.
"""

from __future__ import annotations

import pytest

from kernelcast.analysis.arrays import _KnownRegisters, _Origins, arrays_of_accesses
from kernelcast.ir import BasicBlock
from kernelcast.isas.ptx.reader import parse_ptx

HEAD = """
.version 8.8
.target sm_90
.address_size 64
.global .align 4 .b8 table[64];
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 at) {
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    .reg .pred %p<4>;
    ld.param.u64 %d0, [a];
    ld.param.u64 %d1, [b];
    ld.param.u64 %d2, [at];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d3, %r0, 4;
    setp.gt.u32 %p0, %r0, 7;
"""

POINTERS = {0: "A", 8: "B"}

KNOWN = {
    "a pointer": ("mov.u64 %d4, %d0;", {"A"}),
    "an element": ("cvta.to.global.u64 %d4, %d1; add.s64 %d4, %d4, %d3;", {"B"}),
    "an offset out of memory": (
        "ld.global.u32 %r1, [%d1]; mul.wide.u32 %d4, %r1, 4; add.s64 %d4, %d4, %d0;",
        {"A"},
    ),
    "halves": ("mov.b64 {%r1, %r2}, %d1; add.u32 %r1, %r1, 4; mov.b64 %d4, {%r1, %r2};", {"B"}),
    "a choice": ("selp.b64 %d4, %d0, %d1, %p0;", {"A", "B"}),
    "a move in some lanes": ("mov.u64 %d4, %d0; @%p0 mov.u64 %d4, %d1;", {"A", "B"}),
    "a variable": ("mov.u64 %d4, table; add.s64 %d4, %d4, %d3;", {"&table"}),
    "one that walks": (
        "mov.u64 %d4, %d0; L: add.s64 %d4, %d4, 4; setp.lt.u64 %p1, %d4, %d2; @%p1 bra L;",
        {"A"},
    ),
    "two ways": ("mov.u64 %d4, %d0; @%p0 bra L; mov.u64 %d4, %d1; L:", {"A", "B"}),
    "a register used before for something else": ("mov.u64 %d4, %d0; mov.u64 %d4, %d1;", {"B"}),
}

UNKNOWN = {
    "a pointer out of memory": "ld.global.u64 %d4, [%d0];",
    "a pointer out of memory and an offset": "ld.global.u64 %d4, [%d0]; add.s64 %d4, %d4, %d3;",
    "an address given as a number": "add.s64 %d4, %d2, %d3;",
    "a choice with one out of memory": "ld.global.u64 %d5, [%d0]; selp.b64 %d4, %d5, %d1, %p0;",
    "in some lanes one out of memory": "mov.u64 %d4, %d1; @%p0 ld.global.u64 %d4, [%d0];",
    "two ways, one out of memory": """
        ld.global.u64 %d4, [%d0]; @%p0 bra L; mov.u64 %d4, %d1; L:""",
}


def of_last_access(body: str) -> frozenset[str] | None:
    text = f"{HEAD}{body}\nst.global.u32 [%d4], %r0;\nret;\n}}"
    kernel = parse_ptx(text).kernel()
    last = max(i.index for i in kernel.instructions if i.opcode == "st")
    return arrays_of_accesses(kernel, POINTERS).get(last)


@pytest.mark.parametrize(("body", "arrays"), KNOWN.values(), ids=KNOWN)
def test_an_address_stays_in_the_arrays_of_its_pointers(body: str, arrays: set[str]) -> None:
    assert of_last_access(body) == arrays


@pytest.mark.parametrize("body", UNKNOWN.values(), ids=UNKNOWN)
def test_an_address_without_a_known_pointer_may_lead_anywhere(body: str) -> None:
    assert of_last_access(body) is None


GUARDED = {
    "what one predicate guards": """
        @%p0 ld.param.u64 %d4, [a];
        @%p0 add.s64 %d4, %d4, %d3;
        @%p0 st.global.u32 [%d4], %r0;""",
    "what a branch guards": """
        @%p0 ld.param.u64 %d4, [a];
        @!%p0 bra END;
        st.global.u32 [%d4], %r0;
        END:""",
    "what is left after an exit": """
        @!%p0 ld.param.u64 %d4, [a];
        @%p0 exit;
        st.global.u32 [%d4], %r0;""",
}

NOT_GUARDED = {
    "another predicate": "@%p0 ld.param.u64 %d4, [a]; @%p1 st.global.u32 [%d4], %r0;",
    "the other lanes": "@%p0 ld.param.u64 %d4, [a]; @!%p0 st.global.u32 [%d4], %r0;",
    "the predicate has changed": """
        @%p0 ld.param.u64 %d4, [a]; setp.lt.u32 %p0, %r0, 9; @%p0 st.global.u32 [%d4], %r0;""",
    "the other way": """
        @%p0 ld.param.u64 %d4, [a]; @%p0 bra END; st.global.u32 [%d4], %r0; END:""",
}


@pytest.mark.parametrize("body", GUARDED.values(), ids=GUARDED)
def test_a_pointer_is_known_in_the_lanes_that_have_it(body: str) -> None:
    assert of_first_store(body) == {"A"}


@pytest.mark.parametrize("body", NOT_GUARDED.values(), ids=NOT_GUARDED)
def test_in_other_lanes_it_is_not(body: str) -> None:
    assert of_first_store(body) is None


def of_first_store(body: str) -> frozenset[str] | None:
    kernel = parse_ptx(f"{HEAD}{body}\nret;\n}}").kernel()
    first = min(i.index for i in kernel.instructions if i.opcode == "st")
    return arrays_of_accesses(kernel, POINTERS).get(first)


def test_work_grows_with_the_code_and_not_with_what_is_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A loop over many choices, each of which leaves a pointer in a register of its own."""
    choices = 200
    parts = "".join(
        f"""
        setp.eq.u32 %p1, %r1, {n};
        @%p1 bra skip{n};
        add.s64 %e{n}, %d1, {n};
        st.global.u32 [%e{n}], %r1;
        skip{n}:
        """
        for n in range(choices)
    )
    text = f"""
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry k(.param .u64 a) {{
        .reg .pred %p<3>; .reg .b32 %r<3>; .reg .b64 %d<3>; .reg .b64 %e<{choices}>;
        ld.param.u64 %d1, [a];
        mov.u32 %r1, 0;
        loop:
        {parts}
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p2, %r1, 9;
        @%p2 bra loop;
        ret;
        }}
    """
    kernel = parse_ptx(text, "choices.ptx").kernel("k")
    known_at_starts = []

    def after(
        self: _Origins, block: BasicBlock, state: _KnownRegisters, *, note: bool = False
    ) -> _KnownRegisters:
        known_at_starts.append(len(state.all))
        return read(self, block, state, note=note)

    read = _Origins.after
    monkeypatch.setattr(_Origins, "after", after)
    found = arrays_of_accesses(kernel, {0: "a"})
    assert len(found) == choices and set(found.values()) == {frozenset(("a",))}
    assert len(known_at_starts) <= 3 * len(kernel.blocks)
    assert max(known_at_starts) == 1
