"""Reading listings: what is read prints as it was written, and nothing is passed over."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.isas.sass.listings import control, listing

from kernelcast.errors import InputError, KernelcastError, NotFoundError, ParseError
from kernelcast.ir import Location
from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.operands import (
    AddressOperand,
    ConstantOperand,
    Decoration,
    FloatOperand,
    IndirectOperand,
    IntegerOperand,
    LabelOperand,
    NameOperand,
    RegisterFile,
    RegisterOperand,
    SassRegister,
    SetOperand,
    SymbolOperand,
    parse_operand,
)

R, UR, P = RegisterFile.GENERAL, RegisterFile.UNIFORM, RegisterFile.PREDICATE
WRITTEN = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;?\s*/\* 0x[0-9a-f]{16} \*/$", re.MULTILINE)


def squeezed(text: str) -> str:
    return "".join(text.split()).replace(";", "")


def instructions(code):
    return [i for f in code.module.functions.values() for i in f.instructions]


def test_every_instruction_prints_as_nvdisasm_wrote_it(code):
    written = [squeezed(text) for text in WRITTEN.findall(code.listing)]
    printed = [squeezed(str(i)) for i in instructions(code)]
    assert len(printed) > 2000
    assert printed == written


def test_reuse_bits_agree_with_the_text(code):
    for instruction in instructions(code):
        marked = str(instruction).count(".reuse")
        assert instruction.control.reuse_mask.bit_count() == marked, instruction


def test_the_bits_above_the_control_code_are_never_set(code):
    assert all(i.encoding >> 126 == 0 for i in instructions(code))


def test_kernels_are_told_from_the_rest(code):
    names = code.module.kernel_names
    assert {"shared_tile", "calls", "saxpy"} <= set(names)
    assert "_Z12matmul_tiledILi16EEviPKfS1_Pf" in names
    assert len(names) >= 30


def test_functions_that_a_kernel_calls_begin_in_its_section(code):
    function = code.module.function("calls")
    callees = [name for name in function.functions if name != "calls"]
    assert any("called" in name for name in callees)
    assert all(function.functions[name] > 0 for name in callees)


def test_every_source_line_comes_from_the_source(code):
    files = Counter(i.location.file for i in instructions(code) if i.location)
    assert {f.rpartition("/")[2] for f in files} >= {"corpus.cu", "saxpy.cu"}
    (store,) = [
        i for i in code.module.function("fp64_arithmetic").instructions if i.opcode == "STG"
    ]
    assert store.location is not None and store.ptx_line is not None
    assert store.location.line == 8


OPERANDS = [
    ("R2", RegisterOperand(SassRegister(R, 2))),
    ("RZ", RegisterOperand(SassRegister(R, None))),
    ("UR63", RegisterOperand(SassRegister(UR, 63))),
    ("!PT", RegisterOperand(SassRegister(P, None), Decoration("!"))),
    ("UP3", RegisterOperand(SassRegister(RegisterFile.UNIFORM_PREDICATE, 3))),
    ("B6", RegisterOperand(SassRegister(RegisterFile.CONVERGENCE, 6))),
    ("SB0", RegisterOperand(SassRegister(RegisterFile.SCOREBOARD, 0))),
    ("-|R17|.reuse", RegisterOperand(SassRegister(R, 17), Decoration("-", True, ("reuse",)))),
    ("~R5", RegisterOperand(SassRegister(R, 5), Decoration("~"))),
    (
        "R14.reuse.F32",
        RegisterOperand(SassRegister(R, 14), Decoration("", False, ("reuse", "F32"))),
    ),
    ("R0.H1_H1", RegisterOperand(SassRegister(R, 0), Decoration("", False, ("H1_H1",)))),
    ("0x1f", IntegerOperand(31)),
    ("-0x1d", IntegerOperand(-29)),
    ("1.175494350822287508e-38", FloatOperand("1.175494350822287508e-38")),
    ("-23", FloatOperand("-23")),
    ("+INF", FloatOperand("+INF")),
    ("-QNAN", FloatOperand("-QNAN")),
    ("c[0x0][0x160]", ConstantOperand(0, None, 0x160)),
    ("-c[0x0][0x170]", ConstantOperand(0, None, 0x170, Decoration("-"))),
    ("|c[0x3][0x8]|", ConstantOperand(3, None, 8, Decoration("", True))),
    ("c[0x3][R14+0x40]", ConstantOperand(3, SassRegister(R, 14), 0x40)),
    ("c[0x0][RZ]", ConstantOperand(0, SassRegister(R, None), None)),
    ("cx[UR4][0x10]", ConstantOperand(SassRegister(UR, 4), None, 0x10)),
    (
        "desc[UR6][R2.64+-0x80]",
        AddressOperand(
            (RegisterOperand(SassRegister(R, 2), Decoration("", False, ("64",))),),
            -0x80,
            descriptor=RegisterOperand(SassRegister(UR, 6)),
        ),
    ),
    (
        "[R4+UR5+0x80]",
        AddressOperand(
            (RegisterOperand(SassRegister(R, 4)), RegisterOperand(SassRegister(UR, 5))), 0x80
        ),
    ),
    ("[0x4]", AddressOperand((), 4)),
    ("tmem[UR7]", AddressOperand((RegisterOperand(SassRegister(UR, 7)),), None, "tmem")),
    ("`(.L_x_3)", LabelOperand(".L_x_3")),
    ("`($__internal_0_$__cuda_sm20_div_s64)", LabelOperand("$__internal_0_$__cuda_sm20_div_s64")),
    ("32@lo((k + .L_x_5@srel))", SymbolOperand("32@lo((k + .L_x_5@srel))")),
    ("SR_TID.X", NameOperand("SR_TID.X")),
    ("2D", NameOperand("2D")),
    ("{5,4}", SetOperand((5, 4))),
    ("R8 `(f)", IndirectOperand(RegisterOperand(SassRegister(R, 8)), LabelOperand("f"))),
    ("R6 -0x2c0", IndirectOperand(RegisterOperand(SassRegister(R, 6)), IntegerOperand(-0x2C0))),
]


@pytest.mark.parametrize(("text", "operand"), OPERANDS, ids=[text for text, _ in OPERANDS])
def test_operands(text, operand):
    assert parse_operand(text) == operand
    assert str(operand) == text


def test_floats_have_values():
    assert FloatOperand("-INF").value == float("-inf")
    assert FloatOperand("1.5").value == 1.5
    assert FloatOperand("+QNAN").value != FloatOperand("+QNAN").value


def test_the_target_of_cubins_before_cuda_13():
    flags = '"EF_CUDA_64BIT_ADDRESS EF_CUDA_SM75 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM70)"'
    text = listing("NOP").replace("\t.target\tsm_90", f"\t.headerflags\t@{flags}")
    assert parse_sass(text).target == "sm_75"


def test_an_instruction_taken_apart():
    text = listing(
        '//## File "/home/me/k.cu", line 7',
        '//## File ".nv_debug_ptx_txt", line 31',
        ("@!P0 LDG.E.64.CONSTANT R2, desc[UR4][R2.64+0x8]", control(3, write=1, waits=[0, 5])),
    )
    module = parse_sass(text)
    assert module.target == "sm_90"
    (instruction,) = module.function("k").instructions
    assert instruction.guard == RegisterOperand(SassRegister(P, 0), Decoration("!"))
    assert (instruction.opcode, instruction.modifiers) == ("LDG", ("E", "64", "CONSTANT"))
    assert instruction.name == "LDG.E.64.CONSTANT"
    assert len(instruction.operands) == 2
    assert instruction.location == Location("/home/me/k.cu", 7)
    assert instruction.ptx_line == 31
    assert instruction.control.waits == (0, 5)
    assert instruction.line == 8


def test_code_inlined_from_the_toolkit_is_attributed_to_its_caller():
    text = listing(
        '//## File "/usr/local/cuda/include/cuda_fp16.hpp", line 99 inlined at "/me/k.cu", line 4',
        '//## File "/me/k.cu", line 4',
        "HADD2 R0, R0, R1",
        '//## File "/me/device.cuh", line 12 inlined at "/me/k.cu", line 5',
        '//## File "/me/k.cu", line 5',
        "IADD3 R0, R0, R1, RZ",
    )
    first, second = parse_sass(text).function("k").instructions
    assert first.location == Location("/me/k.cu", 4)
    assert second.location == Location("/me/device.cuh", 12)


def test_notes_are_kept_out_of_the_operands():
    text = listing('BRX R6 -0x2c0       (*"BRANCH_TARGETS .L_x_1,.L_x_2"*)')
    (instruction,) = parse_sass(text).function("k").instructions
    assert instruction.notes == ("BRANCH_TARGETS .L_x_1,.L_x_2",)
    assert len(instruction.operands) == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (listing("iadd R0"), r":6: not an instruction: 'iadd R0'"),
        (listing("NOP", "IADD3 R0, <R1>, R2"), r":8: not an operand: '<R1>'"),
        (listing("IADD3 R0, |R1, R2"), r":6: not an operand"),
        (listing("NOP", "NOP").replace("/*0010*/", "/*0030*/"), r":8: address 0x30"),
        (
            listing("NOP").partition(".text.k:")[0] + listing("NOP").partition(".text.k:")[2],
            "before",
        ),
    ],
)
def test_what_is_not_understood_is_named_with_its_line(text, what):
    with pytest.raises(ParseError, match=what):
        parse_sass(text, "k.sass")


def test_a_listing_without_encodings_says_how_to_make_one():
    text = re.sub(r"/\* 0x.*?\*/", "", listing("NOP"))
    with pytest.raises(ParseError, match="control code; make the listing with nvdisasm -c -hex"):
        parse_sass(text)


def test_no_instructions_at_all():
    with pytest.raises(InputError, match="no SASS instruction"):
        parse_sass("\t.target\tsm_90\n")


def test_unknown_functions_are_answered_with_near_ones():
    with pytest.raises(NotFoundError, match="did you mean saxpy"):
        parse_sass(listing("NOP", name="saxpy")).function("saxpi")


_SOUND = listing(
    ".L_x_0:",
    "@P0 LDG.E R2, desc[UR4][R2.64+0x8]",
    "FFMA R0, R0.reuse, 1.5, c[0x0][0x160]",
    "BRA `(.L_x_0)",
)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(_SOUND) - 1), st.characters(codec="ascii"), st.integers(0, len(_SOUND)))
def test_damaged_listings_only_raise_errors_of_ours(place, character, end):
    text = (_SOUND[:place] + character + _SOUND[place + 1 :])[: max(end, place)]
    try:
        parse_sass(text)
    except KernelcastError as error:
        assert "\n" not in str(error)
