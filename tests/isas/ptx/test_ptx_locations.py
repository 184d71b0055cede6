"""Source locations: PTX ISA 9.0, section 11.5."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernelcast.errors import ParseError
from kernelcast.ir import Kernel, Location
from kernelcast.isas.ptx import PtxModule, parse_ptx

Build = Callable[..., Kernel]

TEXT = """.version 9.0
.target sm_90
.address_size 64
.entry k() {
.reg .b32 %r<9>;
add.s32 %r1, %r1, 1;
.loc 1 7 3
add.s32 %r2, %r1, 1;
add.s32 %r3, %r1, 1;
.loc 2 90 1, function_name $L__info_string0, inlined_at 1 8 5
add.s32 %r4, %r1, 1;
.loc 3 50 1, function_name $L__info_string0+4, inlined_at 1 9 5
add.s32 %r5, %r1, 1;
.loc 3 60 1, function_name $L__info_string0, inlined_at 3 50 1
add.s32 %r6, %r1, 1;
.loc 1 0 5
add.s32 %r7, %r1, 1;
ret;
}
.file 1 "/home/me/k.cu"
.file 2 "/home/me/helper.cuh", 1700000000, 512
.file 3 "/opt/cuda-13.0/targets/x86_64-linux/include/cuda_fp16.hpp"
.section .debug_str
{
$L__info_string0:
.b8 95,90,52,0
}
"""


def test_location_is_the_innermost_line_of_a_file_of_the_user() -> None:
    kernel = parse_ptx(TEXT).kernel()
    locations = {i.writes[0].name: i.location for i in kernel.instructions if i.writes}
    assert locations == {
        "r1": None,
        "r2": Location("/home/me/k.cu", 7),
        "r3": Location("/home/me/k.cu", 7),
        "r4": Location("/home/me/helper.cuh", 90),
        "r5": Location("/home/me/k.cu", 9),  # the toolkit's header is passed over
        "r6": Location("/home/me/k.cu", 9),  # through two levels
        "r7": None,  # line 0 is no line
    }
    assert [i.line for i in kernel.instructions] == [6, 8, 9, 11, 13, 15, 17, 18]


def test_header_without_a_caller_is_its_own_location() -> None:
    text = TEXT.replace(", function_name $L__info_string0+4, inlined_at 1 9 5", "")
    fifth = parse_ptx(text).kernel().instructions[4]
    assert fifth.location is not None
    assert fifth.location.line == 50


def test_malformed_location(build: Build) -> None:
    with pytest.raises(ParseError, match=r"test.ptx:8: expected file, line and column"):
        build(".loc somewhere")


def test_inlined_function_keeps_its_lines_and_the_caller_gets_its_own_back(
    sample: PtxModule,
) -> None:
    kernel = sample.kernel("calls")
    lines = [i.location.line for i in kernel.instructions if i.location]
    assert {i.location.file for i in kernel.instructions if i.location} == {"calls.cu"}
    assert set(lines) <= {7, 10, 11, 14, 15, 16, 17, 20, *range(22, 34)}
    tests = [i for i in kernel.instructions if i.opcode == "setp" and i.location]
    assert {i.location.line for i in tests if i.location} == {10, 28, 31, 32}
    store = next(i for i in kernel.instructions if i.name.startswith("st.global"))
    assert store.location == Location("calls.cu", 30)
