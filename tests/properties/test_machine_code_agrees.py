"""Machine code leaves the memory that its PTX leaves: on random kernels with one result.

Few programs of each architecture; `scripts/agree` does thousands.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.properties.agree import checked, main, program_of
from tests.properties.agreement import NAME, agree, reduced, unequal
from tests.properties.ptx_operations import (
    APPROXIMATIONS,
    OPERATIONS,
    POOLS,
    PREDICATES,
    SELECTIONS,
    Operation,
)
from tests.properties.ptx_unique import ARCHITECTURES, unique_program
from tests.properties.ptx_writer import Program

from kernelcast.errors import CompileError
from kernelcast.ir import Array, Launch
from kernelcast.isas.ptx import parse_ptx
from kernelcast.toolchain.ptxas import NEWEST, assemble
from kernelcast.toolchain.wheels import find_in_wheels

pytestmark = pytest.mark.skipif(
    not find_in_wheels(NEWEST), reason="needs ptxas: pip install nvidia-cuda-nvcc"
)

EACH = 4
NAMES = [f"sm_{architecture}" for architecture in ARCHITECTURES]


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("number", range(EACH))
def test_machine_code_does_what_its_ptx_does(number: int, architecture: str) -> None:
    found = checked(number, seed=0, architectures=[architecture], executors=None)[architecture]
    again = f"scripts/agree --seed 0 --first {number} --programs 1 --arch {architecture} --reduce"
    assert not found.differences, f"{found.differences[0]}\nshorter by: {again}"


@pytest.mark.parametrize("architecture", NAMES)
def test_the_assembler_takes_every_operation_of_the_tables(architecture: str) -> None:
    """A name that nobody takes would make every program that holds it useless."""
    known = int(architecture.removeprefix("sm_"))
    rows = [row for row in (*OPERATIONS, *PREDICATES, *SELECTIONS) if row.since <= known]
    assemble(_all_of(rows, architecture), architecture, name=NAME)


def _all_of(rows: list[Operation], architecture: str) -> str:
    kinds = {"p": "pred", **{pool: kind for pool, (kind, _, _) in POOLS.items()}}
    registers = [f".reg .{kind} %{pool}<4>;" for pool, kind in kinds.items()]
    lines = [
        f"{row.name} {', '.join(f'%{pool}{at % 4}' for at, pool in enumerate(row[1] + row[2]))};"
        for row in rows
    ]
    head = f".version 8.8\n.target {architecture}\n.address_size 64\n.visible .entry k() {{"
    return "\n".join([head, *registers, *lines, "ret;", "}"])


def test_a_seed_gives_the_same_program_and_another_one_a_different() -> None:
    first, second = program_of(3, 1, "sm_90"), program_of(3, 1, "sm_90")
    assert (first.text, str(first.launch.args)) == (second.text, str(second.launch.args))
    assert program_of(4, 1, "sm_90").text != first.text != program_of(3, 2, "sm_90").text


def test_products_and_sums_that_may_be_fused_do_not_occur() -> None:
    """Whether an assembler fuses them is its own choice, and so the result is not defined."""
    texts = [unique_program(Random(seed), 90).text for seed in range(30)]
    lines = [line for text in texts for line in text.splitlines()]
    names = {line.split()[-1 - line.count(",") - 1] for line in lines if line.startswith("\tmul")}
    assert any(".rn" in name for name in names)
    assert not [name for name in names if name.endswith(".f32") and ".r" not in name]


SUM = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .b64 %a<2>; .reg .b32 %r<3>;
ld.param.u64 %a0, [in];
ld.param.u64 %a1, [out];
mov.u32 %r0, %tid.x;
mad.wide.u32 %a0, %r0, 4, %a0;
mad.wide.u32 %a1, %r0, 4, %a1;
ld.global.u32 %r1, [%a0];
//+
add.u32 %r1, %r1, 1;
//-
//+
xor.b32 %r1, %r1, 5;
//-
st.global.u32 [%a1], %r1;
ret;
}
"""


@pytest.fixture
def program() -> Program:
    args = {"in": Array("u32", (32,)), "out": Array("u32", (32,))}
    return Program(SUM, Launch(1, 32, args), np.arange(32, dtype=np.uint32), 90)


def test_a_wrong_meaning_is_noticed_and_right_ones_are_not(program: Program) -> None:
    assert agree(program, ["sm_90"]).differences == ()
    other = parse_ptx(SUM.replace("xor.b32", "or.b32"), NAME).kernel()
    found = agree(program, ["sm_90"], kernel_of=lambda cubin, ptx, cache: other)
    assert [(d.where, d.kind) for d in found.differences] == [("sm_90 by reference", "memory")]
    assert "out: 24 of 32 elements: [0] 5 for 4" in found.differences[0].what


def test_code_for_older_architectures_than_the_program_is_not_made(program: Program) -> None:
    assert list(agree(program, ["sm_75", "sm_100"]).spelt) == ["sm_100"]


def test_refused_ptx_is_a_difference(program: Program) -> None:
    text = SUM.replace("ret;", ".pragma 5;\nret;")
    found = agree(replace(program, text=text), ["sm_90"])
    assert [d.kind for d in found.differences] == ["CompileError"]


def test_a_crash_of_the_assembler_is_no_difference(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*arguments: object, **options: object) -> bytes:
        raise CompileError("it ended with status -11")

    monkeypatch.setattr("tests.properties.agreement.assemble", crash)
    found = agree(program, ["sm_90"])
    assert not found.differences
    assert not found.is_executed
    assert [str(crash) for crash in found.crashes] == [
        "sm_90: CompileError: it ended with status -11"
    ]


def test_what_a_difference_does_not_need_is_left_out(program: Program) -> None:
    small = reduced(program, lambda shorter: "xor" in shorter.text)
    assert "xor" in small.text
    assert "add.u32" not in small.text


def test_nans_are_equal_and_only_named_arrays_have_a_tolerance() -> None:
    args = {"exact": Array("f32", (3,)), "near": Array("f32", (3,))}
    program = Program("", Launch(1, 32, args), np.zeros(1, np.uint32), 90, {"near": 1e-3})
    nan = np.uint32(0xFFC00001).view(np.float32)
    wanted = np.array([np.nan, 1.0, 2000.0], np.float32)
    got = np.array([nan, 1.0005, 2001.0], np.float32)
    found = unequal({"exact": wanted, "near": wanted}, {"exact": got, "near": got}, program)
    assert len(found) == 1
    assert found[0].startswith("exact: 2 of 3 elements: [1] 1.0004")


def test_the_command_line_counts_programs_and_says_what_was_met(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["--programs", "1", "--arch", "sm_90", "--out", str(tmp_path), "--seed", "5"])
    printed = capsys.readouterr().out
    assert status == (0 if " 0 with differences" in printed else 1)
    assert "sm_90: " in printed
    assert " LDG " in printed


def test_approximate_results_stay_apart() -> None:
    """Nothing reads the registers they are in, or an exact result would depend on them."""
    targets = {row.target for row in APPROXIMATIONS}
    assert targets == {"v", "z"}
    assert not targets & {s for row in (*OPERATIONS, *PREDICATES, *SELECTIONS) for s in row.sources}
