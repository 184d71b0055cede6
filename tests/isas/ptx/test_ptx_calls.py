"""Calls of device functions: inlined, their parameters in registers or in local memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernelcast.errors import ParseError, UnsupportedError
from kernelcast.ir import Address, BlockRef, Kernel, OpClass, Register, Space, Symbol
from kernelcast.isas.ptx import PtxModule

Build = Callable[..., Kernel]

TWICE = """.func (.param .b32 result) twice (.param .b32 x) {
.reg .f32 %f<3>; ld.param.f32 %f1, [x]; add.f32 %f2, %f1, %f1;
st.param.f32 [result+0], %f2; ret; }"""


def call(callee: str, argument: str, result: str) -> str:
    """A call sequence as compilers write it."""
    return (
        f"{{ .param .b32 param0; st.param.f32 [param0+0], {argument}; .param .b32 retval0;"
        f" call.uni (retval0), {callee}, (param0); ld.param.f32 {result}, [retval0+0]; }}"
    )


def dataflow(kernel: Kernel) -> dict[str, set[str]]:
    """For every register, the registers that its value may come from."""
    sources: dict[str, set[str]] = {}
    for instruction in kernel.instructions:
        for written in instruction.writes:
            sources.setdefault(written.name, set()).update(r.name for r in instruction.reads)
    for _ in sources:
        for known in sources.values():
            known.update(*(sources.get(name, set()) for name in set(known)))
    return sources


def test_call_becomes_moves_and_the_body(build: Build) -> None:
    kernel = build(call("twice", "%f1", "%f2") + "add.f32 %f3, %f2, %f2;", top=TWICE)
    opcodes = " ".join(i.opcode for i in kernel.instructions)
    assert opcodes == "mov mov add mov bra mov add ret"
    assert not any(i.space is Space.PARAM for i in kernel.instructions)
    assert kernel.instructions[4].operands == (BlockRef(1),)
    assert "f1" in dataflow(kernel)["f3"]


def test_two_calls_share_no_register(build: Build) -> None:
    kernel = build(call("twice", "%f1", "%f2") + call("twice", "%f3", "%f4"), top=TWICE)
    sources = dataflow(kernel)
    assert ("f1" in sources["f2"], "f3" in sources["f2"]) == (True, False)
    assert ("f1" in sources["f4"], "f3" in sources["f4"]) == (False, True)


def test_calls_nest(build: Build) -> None:
    outer = (
        ".func (.param .b32 result) outer (.param .b32 x) { .reg .f32 %f<3>;"
        f" ld.param.f32 %f1, [x]; {call('twice', '%f1', '%f2')}"
        " st.param.f32 [result], %f2; ret; }"
    )
    kernel = build(call("outer", "%f7", "%f8"), top=outer + TWICE)
    assert "f7" in dataflow(kernel)["f8"]
    assert sum(i.opcode == "add" for i in kernel.instructions) == 1


def test_early_return_skips_the_rest_of_the_function_only(build: Build) -> None:
    early = (
        ".func early (.reg .pred %c) { .reg .b32 %r<2>;"
        " @%c ret; mov.u32 %r1, 1; ret; mov.u32 %r1, 2; }"
    )
    kernel = build("call early, (%p1); mov.u32 %r5, 5;", top=early)
    last = kernel.blocks[-1]
    first, second = (i for i in kernel.instructions if i.opcode == "bra")
    assert first.guard is not None
    assert second.guard is None
    assert first.operands == second.operands == (BlockRef(last.index),)
    assert kernel.instructions[last.start].operands[0] == Register("r5", "b32")


def test_guarded_call_is_jumped_over(build: Build) -> None:
    kernel = build("@%p1 call f; ret;", top=".func f () { .reg .b32 %r<2>; mov.u32 %r1, 1; }")
    jump = kernel.instructions[0]
    assert (jump.opcode, jump.guard and jump.guard.negated) == ("bra", True)
    assert kernel.blocks[0].successors == (1, 2)


def test_formals_and_results_in_registers(build: Build) -> None:
    plus = (
        ".func (.reg .u32 %sum) plus (.reg .u32 %a, .param .u32 b)"
        " { .reg .u32 %t; ld.param.u32 %t, [b]; add.u32 %sum, %a, %t; ret; }"
    )
    kernel = build("call (%r1), plus, (%r2, 7); ret;", top=plus)
    assert "r2" in dataflow(kernel)["r1"]
    assert any(str(o) == "7" for i in kernel.instructions for o in i.operands)


def test_vectors_are_moved_element_by_element(build: Build) -> None:
    kernel = build(
        "{ .param .align 16 .b8 q[16]; st.param.v2.f32 [q+8], {%f1, %f2}; call f, (q); }",
        top=".func f (.param .align 16 .b8 s[16]) { .reg .f32 %x<4>;"
        " ld.param.f32 %x1, [s+12]; add.f32 %x2, %x1, %x1; }",
    )
    assert dataflow(kernel)["x2.2"] & {"f1", "f2"} == {"f2"}


@pytest.mark.parametrize(
    ("access", "why"),
    [
        ("mov.u64 %a, s; ld.param.b32 %x, [%a+4];", "its address is taken"),
        ("ld.param.v4.b16 {%h, %h, %h, %h}, [s+0];", "widths differ"),
        ("ld.param.b32 %x, [s+2];", "accesses overlap"),
        ("ld.param.u8 %h, [s+4];", "the register is wider than the access"),
    ],
)
def test_other_accesses_put_the_parameter_in_local_memory(
    build: Build, access: str, why: str
) -> None:
    kernel = build(
        "{ .param .align 8 .b8 q[8]; st.param.b32 [q], %r1; st.param.b32 [q+4], %r2;"
        " call f, (q); }",
        top=f".func f (.param .align 8 .b8 s[8])"
        f" {{ .reg .b64 %a; .reg .b32 %x; .reg .b16 %h; {access} ret; }}",
    )
    (variable,) = kernel.variables
    assert (variable.space, variable.size_bytes, variable.align_bytes) == (Space.LOCAL, 8, 8), why
    accesses = [i for i in kernel.instructions if i.op_class.is_memory]
    assert [i.space for i in accesses] == [Space.LOCAL] * 3
    assert accesses[1].name == "st.local.b32"
    assert accesses[1].operands[0] == Address(Symbol(variable.name), 4)
    assert kernel.resources.local_bytes == 8


def test_local_variables_exist_once_per_call_shared_ones_once(build: Build) -> None:
    body = ".local .b32 mine; .shared .b32 ours; .reg .b32 %r<2>;"
    kernel = build(
        "call f; call f;",
        top=f".func f () {{ {body} st.local.b32 [mine], %r1; st.shared.b32 [ours], %r1; }}",
    )
    assert sorted(v.space for v in kernel.variables) == [Space.LOCAL, Space.LOCAL, Space.SHARED]
    stores = [i.operands[0] for i in kernel.instructions if i.op_class is OpClass.STORE]
    assert len(set(map(str, stores))) == 3
    assert kernel.resources.local_bytes == 8


def test_names_of_variables_are_unique(build: Build) -> None:
    kernel = build(
        "{ .shared .b32 x; st.shared.b32 [x], %r1; call f; mov.u64 %rd1, y; }",
        top=".func f () { .shared .b8 x[2]; .shared .b32 y; .reg .b16 %h;"
        " st.shared.b8 [x], %h; st.shared.b32 [y], 0; } .global .b32 y;",
    )
    assert len(kernel.variables) == len({v.name for v in kernel.variables}) == 4
    assert sorted(v.size_bytes for v in kernel.variables) == [2, 4, 4, 4]


PRINTF = ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);"
PRINTING = (
    "{ .param .b64 a; .param .b64 b; .param .b32 v;\nst.param.b64 [a], %rd1;"
    "st.param.b64 [b], %rd2; call.uni (v), vprintf, (a, b); ld.param.b32 %r1, [v]; }"
)


def test_printf_is_left_out_with_a_warning(build: Build) -> None:
    kernel = build(PRINTING, top=PRINTF)
    assert kernel.warnings == ("printf at test.ptx:9 is left out",)
    assert dataflow(kernel)["r1"] & {"rd1", "rd2"} == set()
    assert str(kernel.instructions[0].operands[1]) == "0"


def test_failed_assertion_traps(build: Build) -> None:
    kernel = build(
        "@%p1 call __assertfail, (a); mov.u32 %r1, 1;",
        top=".extern .func __assertfail (.param .b64 a);",
    )
    trap = kernel.instructions[0]
    assert (trap.opcode, trap.guard is not None) == ("trap", True)
    assert kernel.blocks[0].successors == (1,)


@pytest.mark.parametrize(
    ("body", "top", "message"),
    [
        (
            "call (%rd1), malloc, (%rd2);",
            ".extern .func (.param .b64 r) malloc (.param .b64 n);",
            "the call of the external function malloc",
        ),
        (
            "proto: .callprototype _ (); call %rd1, (), proto;",
            "",
            "a call through a function pointer is not supported",
        ),
        ("call f;", ".func f () { ret; }", ""),
    ],
)
def test_calls_that_cannot_be_inlined(build: Build, body: str, top: str, message: str) -> None:
    if not message:
        assert build(body, top=top).instructions
        return
    with pytest.raises(UnsupportedError) as caught:
        build(body, top=top)
    assert str(caught.value) == f"test.ptx:8: {message}"


def test_recursion_is_named_with_its_line(build: Build) -> None:
    top = ".func g (); .func f () { call g; } .func g () { call f; }"
    with pytest.raises(UnsupportedError, match=r"test.ptx:4: the recursive call of f"):
        build("call f;", top=top)


def test_calls_that_do_not_fit(build: Build) -> None:
    with pytest.raises(ParseError, match="unknown function 'f'"):
        build("call f;")
    with pytest.raises(ParseError, match="does not fit the parameters of 'twice'"):
        build("call twice, (%f1);", top=TWICE)


def test_exponential_inlining_is_stopped(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelcast.isas.ptx.inlining._MAX_INSTRUCTIONS", 1000)
    chain = ".func f0 () { .reg .b32 %r<2>; mov.u32 %r1, 1; }\n" + "\n".join(
        f".func f{n} () {{ {f'call f{n - 1};' * 8} }}" for n in range(1, 9)
    )
    with pytest.raises(UnsupportedError, match="exceeds 1000 instructions with f0 inlined"):
        build("call f8;", top=chain)


def test_compiled_calls(sample: PtxModule) -> None:
    kernel = sample.kernel("calls")
    assert not any(i.opcode == "call" for i in kernel.instructions)
    assert kernel.warnings == ("printf at calls.cu:28 is left out",)
    assert sum(i.opcode == "trap" for i in kernel.instructions) == 1
    loops = [b for b in kernel.blocks if b.index in b.successors]
    assert len(loops) == 2  # `triangle` is called twice
    from_entry = {
        o.base.name
        for i in kernel.instructions
        if i.space is Space.PARAM
        for o in i.operands
        if isinstance(o, Address) and isinstance(o.base, Symbol)
    }
    assert from_entry == {p.name for p in kernel.parameters}
