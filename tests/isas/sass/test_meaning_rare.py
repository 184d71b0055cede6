"""Forms of machine code that compiled C++ hardly ever needs; the oracle is PTX of the source."""

from __future__ import annotations

import pytest
from tests.isas.sass.listings import listing
from tests.isas.sass.rare_kernels import BEYOND_PTX, RARE
from tests.isas.sass.small_checks import cases, check_by_numpy, check_by_ptx

from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.kernel import meaning_of
from kernelcast.isas.sass.meaning.lift import LiftContext


@pytest.mark.parametrize(("name", "architecture"), cases(RARE))
def test_a_rare_form_does_what_its_ptx_does(name: str, architecture: str) -> None:
    """Wrong if one of the opcodes that it holds is executed wrongly."""
    check_by_ptx(RARE[name], architecture)


@pytest.mark.parametrize(("name", "architecture"), cases(BEYOND_PTX))
def test_what_ptx_does_not_define_is_what_numpy_says(name: str, architecture: str) -> None:
    """Wrong if an atomic operation that the hardware leaves to code is done twice or not at all."""
    check_by_numpy(BEYOND_PTX[name], architecture)


def meaning(text: str) -> list[str]:
    """The steps of one instruction."""
    native = parse_sass(listing(text)).function("k").instructions[0]
    code = LiftContext(parse_sass(listing(text)).function("k"), 90, {0: 0}, {0: 0}, returns=(0,))
    return [str(step).replace("#0.", "t") for step in meaning_of(native, 0, code)]


def test_a_word_is_kept_beside_the_registers() -> None:
    """Only code that spills needs it, which no small kernel does."""
    assert meaning("RPCMOV.32 Rpc.LO, R2") == ["mov.b32 RPC.LO, R2"]
    assert meaning("@P1 RPCMOV.32 R2, Rpc.LO") == ["@P1 mov.b32 R2, RPC.LO"]


def test_bytes_are_packed_above_the_half_that_a_suffix_selects() -> None:
    assert meaning("I2IP.S8.S32.SAT R1, R2, R3, R4.H1") == [
        "shr.u32 t1, R4, 16",
        "cvt.pack.sat.s8.s32.b32 R1, R2, R3, t1",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "FMNMX.XORSIGN R1, |R2|, R3, PT",
        "FMNMX.XORSIGN R1, |R2|, -|R3|, PT",
        "VIADD.S32.ISAT R1, -R2, -R3",
        "LDG.E.256 R8, desc[UR4][R2.64]",
        "STG.E.256 desc[UR4][R2.64], R8",
        "ATOMG.E.ADD.STRONG.GPU P0, R5, desc[UR4][R2.64], R7",
        "RPCMOV.64 Rpc, R2",
    ],
)
def test_what_is_not_known_is_refused(text: str) -> None:
    (step,) = meaning(text)
    assert step.startswith("unknown")


def test_the_words_of_the_shared_window() -> None:
    """Compilers before CUDA 12 read both of them; the lower one differs from the upper."""
    low, high = (meaning(f"S2UR UR4, {name}") for name in ("SR_SWINLO", "SR_SWINHI"))
    assert low[:2] == high[:2], "the same address is taken apart"
    assert "cvta.shared.u64" in low[0]
    assert low[-1] != high[-1]
