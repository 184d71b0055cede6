"""Declarations, variables, parameters, the choice of a kernel: PTX ISA 9.0, sections 5 and 11."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcast.errors import (
    InputError,
    KernelcastError,
    NotFoundError,
    ParseError,
    UnsupportedError,
)
from kernelcast.ir import Kernel, Space, Variable
from kernelcast.isas.ptx import PtxModule, parse_ptx

Build = Callable[..., Kernel]

HEAD = ".version 8.3\n.target sm_90a, texmode_independent\n.address_size 64\n"
SAMPLES = [p.read_text() for p in sorted((Path(__file__).parent / "samples").glob("*.ptx"))]


def test_kernel_carries_what_the_module_says(sample: PtxModule) -> None:
    assert sample.kernel_names == ("calls", "saxpy")
    kernel = sample.kernel("saxpy", source="calls.cu")
    assert (kernel.isa, kernel.name, kernel.source, kernel.version) == (
        "ptx",
        "saxpy",
        "calls.cu",
        "9.5",
    )
    assert kernel.target in ("sm_75", "sm_120")


def test_target_is_the_architecture_alone() -> None:
    module = parse_ptx(HEAD + ".entry a() { ret; }")
    assert module.kernel().target == "sm_90a"


def test_the_only_kernel_needs_no_name() -> None:
    assert parse_ptx(HEAD + ".visible .entry a() { ret; }").kernel().name == "a"


def test_several_kernels_are_listed_where_none_is_named(sample: PtxModule) -> None:
    with pytest.raises(InputError, match=r"2 kernels here; name one of calls, saxpy"):
        sample.kernel()


def test_unknown_kernel_answers_with_the_nearest(sample: PtxModule) -> None:
    with pytest.raises(NotFoundError, match="did you mean saxpy"):
        sample.kernel("sapxy")


def test_a_device_function_is_no_kernel() -> None:
    module = parse_ptx(HEAD + ".func f() { ret; } .entry a() { ret; }")
    with pytest.raises(NotFoundError):
        module.kernel("f")


def test_module_without_a_kernel() -> None:
    with pytest.raises(InputError, match="no kernel here"):
        parse_ptx(HEAD, "empty.ptx").kernel()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int main() {}", "x.ptx:1: expected '.version' at the start"),
        ("", "x.ptx:1: expected '.version' at the start"),
        (HEAD + "add.s32 %r1, %r2, %r3;", "x.ptx:4: expected a directive or a function"),
        (HEAD + ".entry a() {\nret;\n", "x.ptx:4: expected '}' for this '{'"),
        (HEAD + ".entry a() {\nret\n}", "x.ptx:5: expected ';' at the end of 'ret'"),
        (HEAD + ".entry a() {\n= 3;\n}", "x.ptx:5: expected an instruction, a label"),
        (HEAD + ".entry a()\nret;", "x.ptx:4: expected a name, parameters and directives of"),
        (HEAD + ".entry a()\n", "x.ptx:4: expected '{' or ';' after the function's header"),
        (HEAD + ".entry () { ret; }", "x.ptx:4: expected a name, parameters and directives of"),
        (HEAD + ".entry a(.param u32 x) { ret; }", "x.ptx:4: expected a type in '.param u32 x'"),
        (HEAD + ".global .b8 x[4] = {1, 2;\n", "x.ptx:4: expected ';' at the end of"),
        (HEAD + ".global .b8 x = ?;\n", "x.ptx:4: expected a number, found '?'"),
        (HEAD + ".address_size many\n", "x.ptx:4: expected a number, found 'many'"),
        (HEAD + ".file k.cu\n", "x.ptx:4: expected an index and a path after '.file'"),
        (HEAD + "/* a\nb */ // c ; {\n.global .b8 3;", "x.ptx:6: expected a variable name"),
        (HEAD + ".entry a() {}\n.entry a() {}", "x.ptx:5: function 'a' is defined twice"),
    ],
)
def test_what_is_expected_is_said_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_ptx(text, "x.ptx")
    assert str(caught.value).startswith(message)


def test_32_bit_addresses_are_refused() -> None:
    text = ".version 6.0\n.target sm_50\n.address_size 32\n.entry a() { ret; }"
    with pytest.raises(UnsupportedError, match="32 bits"):
        parse_ptx(text).kernel()


def test_unknown_instruction_hurts_only_the_kernel_that_holds_it() -> None:
    module = parse_ptx(HEAD + ".entry a() { ret; }\n.entry b() { strange; }", "x.ptx")
    assert len(module.kernel("a").instructions) == 1
    with pytest.raises(UnsupportedError, match=r"x.ptx:5: instruction strange"):
        module.kernel("b")


def test_parameters_lie_at_multiples_of_their_alignment(build: Build) -> None:
    kernel = build(
        "ret;",
        ".param .u8 flag, .param .f64 x, .param .u16 h, .param .align 16 .b8 s[20],"
        " .param .u32 n, .param .u64 .ptr .global .align 1 p",
    )
    placed = [(p.name, p.type, p.size_bytes, p.offset_bytes) for p in kernel.parameters]
    assert placed == [
        ("flag", "u8", 1, 0),
        ("x", "f64", 8, 8),
        ("h", "u16", 2, 16),
        ("s", "b8", 20, 32),
        ("n", "u32", 4, 52),
        ("p", "u64", 8, 56),  # `.align` after `.ptr` is that of the array pointed to
    ]
    assert kernel.parameter_bytes == 64


def test_pointers_are_known_by_declaration_or_by_use(build: Build) -> None:
    kernel = build(
        "ld.param.u64 %rd1, [used];\n"
        "mov.u64 %rd2, %rd1;\n"
        "cvta.to.global.u64 %rd3, %rd2;\n"
        "ld.param.u64 %rd4, [count];\n"
        "add.s64 %rd5, %rd3, %rd4;\n"
        "ld.global.u32 %r1, [%rd5];\n"
        "ld.param.u64 %rd6, [based];\n"
        "ld.u32 %r2, [%rd6];\n"
        "mov.u64 %rd6, %rd5;\n"
        "ld.u32 %r2, [%rd6];",
        ".param .u64 used, .param .u64 count, .param .u64 based, .param .u64 .ptr declared",
    )
    assert [p.name for p in kernel.parameters if p.is_pointer] == ["used", "based", "declared"]


def test_pointers_of_a_compiled_kernel(sample: PtxModule) -> None:
    kernel = sample.kernel("saxpy")
    assert [(p.type, p.offset_bytes, p.is_pointer) for p in kernel.parameters] == [
        ("u32", 0, False),
        ("f32", 4, False),
        ("u64", 8, True),
        ("u64", 16, True),
    ]


@pytest.mark.parametrize(
    ("declaration", "size_bytes", "align_bytes", "initial"),
    [
        (".global .align 8 .b8 x[5]", 5, 8, b""),
        (".global .u32 x = 258", 4, 4, b"\x02\x01\0\0"),
        (".global .s32 x[3] = {-1, 0x10}", 12, 4, b"\xff\xff\xff\xff\x10" + bytes(7)),
        (".const .f32 x[2] = {0f3F800000, 1.0}", 8, 4, b"\0\0\x80\x3f" * 2),
        (".const .f64 x = 0d3FF0000000000000", 8, 8, b"\0\0\0\0\0\0\xf0\x3f"),
        (".const .u16 x[] = {1, 2, 3}", 6, 2, b"\1\0\2\0\3\0"),
        (".global .u8 x[2][2] = {{1, 2}, {3, 4}}", 4, 1, b"\1\2\3\4"),
        (".global .v4 .f32 x[2]", 32, 16, b""),
        (".visible .global .attribute(.managed) .u32 x = 1", 4, 4, b"\1\0\0\0"),
        (".weak .const .align 4 .b8 x[4] = {0, 0, 128, 63}", 4, 4, b"\0\0\x80\x3f"),
    ],
)
def test_variables_of_a_module(
    build: Build, declaration: str, size_bytes: int, align_bytes: int, initial: bytes
) -> None:
    kernel = build("mov.u64 %rd1, x;", top=f"{declaration};")
    space = Space.CONST if ".const" in declaration else Space.GLOBAL
    assert kernel.variables == (Variable("x", space, size_bytes, align_bytes, initial),)


def test_only_variables_that_the_kernel_names_belong_to_it(build: Build) -> None:
    kernel = build(
        "mov.u64 %rd1, c; ld.global.u32 %r1, [a];",
        top=".global .u32 a; .global .u32 b = {f}; .const .u32 c; .func f() { ret; }",
    )
    assert [v.name for v in kernel.variables] == ["a", "c"]


@pytest.mark.parametrize(
    ("top", "message"),
    [
        (".global .u64 x[2] = {f, f}; .func f() { ret; }", "variable x starts with addresses"),
        (".global .u32 y; .global .u64 x = generic(y);", "variable x starts with addresses"),
        (".extern .global .u32 x;", "variable x is defined in another module"),
        (".func x() { ret; }", "the address of function x is not supported"),
    ],
)
def test_variables_that_cannot_be_filled(build: Build, top: str, message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        build("ret;\nmov.u64 %rd1, x;", top=top)
    assert str(caught.value) == f"test.ptx:9: {message}"


def test_shared_and_local_memory_are_laid_out_by_alignment(build: Build) -> None:
    kernel = build(
        ".shared .align 4 .b8 a[6]; .shared .align 16 .b8 b[32];"
        ".local .align 8 .b8 depot[20];\n"
        "mov.u32 %r1, dynamic; mov.u32 %r2, a; mov.u64 %rd1, depot;",
        top=".extern .shared .align 16 .b8 dynamic[];",
    )
    assert [(v.name, v.space, v.size_bytes) for v in kernel.variables] == [
        ("dynamic", Space.SHARED, 0),
        ("a", Space.SHARED, 6),
        ("b", Space.SHARED, 32),
        ("depot", Space.LOCAL, 20),
    ]
    assert kernel.resources.static_shared_bytes == 16 + 32
    assert kernel.resources.local_bytes == 20
    assert kernel.resources.registers is None


@pytest.mark.parametrize(
    ("directives", "threads"),
    [
        ("", None),
        (".maxntid 128, 1, 1", 128),
        (".reqntid 16, 8, 2\n.minnctapersm 2", 256),
        (".maxntid 64\n.maxnreg 32", 64),
    ],
)
def test_bounds_of_the_block(directives: str, threads: int | None) -> None:
    kernel = parse_ptx(f"{HEAD}.entry a()\n{directives}\n{{ ret; }}").kernel()
    assert kernel.resources.max_threads_per_block == threads


def test_compiled_kernel_has_all_its_variables(sample: PtxModule) -> None:
    kernel = sample.kernel("calls")
    by_name = {v.name: v for v in kernel.variables}
    assert by_name["weights"].initial == bytes.fromhex("0000803f 00000040 00004040 00008040")
    assert by_name["counter"].initial == b"\7\0\0\0"
    assert (by_name["dynamic"].space, by_name["dynamic"].size_bytes) == (Space.SHARED, 0)
    assert kernel.resources.static_shared_bytes == 64 * 4
    assert kernel.resources.max_threads_per_block == 128
    assert len(by_name) == len(kernel.variables)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(SAMPLES))
def test_damaged_text_gives_an_error_of_ours_or_a_kernel(rng: random.Random, text: str) -> None:
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text))
        piece = rng.choice(["", "{", "}", "[", ")", ";", ",", ".", "%", "@", '"', "|", "\n", "0"])
        text = text[:at] + piece + text[at + rng.randrange(4) :]
    try:
        module = parse_ptx(text)
        for name in module.kernel_names:
            module.kernel(name)
    except KernelcastError as error:
        assert str(error)
