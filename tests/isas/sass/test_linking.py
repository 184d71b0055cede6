"""Kernels whose functions stand in sections of their own, as relocatable code has them."""

from __future__ import annotations

import struct

import pytest
from tests.execution.machine_code import ARCHITECTURES, disagreements, image, kernels
from tests.isas.sass.listings import listing

from kernelcast.errors import ExecutionError
from kernelcast.ir import Array, Launch
from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.launch_state import NO_BANKS
from kernelcast.isas.sass.linking import ADDRESS_BANK, linked
from kernelcast.isas.sass.operands import ConstantOperand, IntegerOperand, SymbolOperand

SOURCE = """
__device__ int table[4] = {3, 1, 4, 1};
extern "C" __device__ __noinline__ int steps(int n) {
    int s = 0;
    while (n != 1 && s < 50) { n = n % 2 ? 3 * n + 1 : n / 2; ++s; }
    return s + table[n & 3];
}
extern "C" __device__ __noinline__ int twice(int n) { return steps(n) + steps(n + 1); }
extern "C" __global__ void two(int* y) {
    int i = threadIdx.x;
    y[i] = i % 3 ? twice(i + 1) + steps(i + 2) : -1;
}
"""
RELOCATABLE = ("--relocatable-device-code=true",)
LAUNCH = Launch((1, 1, 1), (64, 1, 1), {"y": Array("s32", (64,))})


def steps(n: int) -> int:
    taken = 0
    while n != 1 and taken < 50:
        n = 3 * n + 1 if n % 2 else n // 2
        taken += 1
    return taken + (3, 1, 4, 1)[n & 3]


def twice(n: int) -> int:
    return steps(n) + steps(n + 1)


EXPECTED = [twice(i + 1) + steps(i + 2) if i % 3 else -1 for i in range(64)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_functions_of_other_sections_are_called(architecture: str) -> None:
    """Functions that call functions, out of branches, with addresses of variables in the code."""
    _, machine = kernels(SOURCE, architecture, "", RELOCATABLE)
    for executor in ("engine", "reference"):
        assert list(struct.unpack("<64i", image(machine, LAUNCH, executor)["y"])) == EXPECTED


def test_ptx_of_it_agrees() -> None:
    assert not disagreements(SOURCE, LAUNCH, architectures=["sm_90"], extra=RELOCATABLE)


def test_addresses_become_numbers_and_words_of_a_bank() -> None:
    text = listing(
        "MOV R2, 32@lo((k + .L_x_1@srel))",
        "MOV R3, 32@hi((k + .L_x_1@srel))",
        "MOV R4, 32@lo(known)",
        "MOV R5, 32@hi(known)",
        "MOV R6, 32@lo(strange)",
        ".L_x_1:",
        "EXIT",
    )
    code = linked("k", parse_sass(text), NO_BANKS, ["known"])
    assert [i.operands[-1] for i in code.function.instructions[:5]] == [
        IntegerOperand(0x50),
        IntegerOperand(0),
        ConstantOperand(ADDRESS_BANK, None, 0),
        ConstantOperand(ADDRESS_BANK, None, 4),
        SymbolOperand("32@lo(strange)"),
    ]
    assert code.banks.addresses == ((ADDRESS_BANK, 0, "known", 0),)
    assert len(code.banks.data[ADDRESS_BANK]) == 8


def test_a_function_that_needs_no_linking_is_left_alone() -> None:
    module = parse_sass(listing("NOP", "EXIT"))
    assert linked("k", module, NO_BANKS, ()).function == module.function("k")


SYSTEM_CALLS = """
#include <assert.h>
#include <stdio.h>
extern "C" __global__ void k(int n, int* y) {
    int i = threadIdx.x;
    assert(n > i);
    if (i % 4 == 1) printf("%d\\n", i);
    if (n == 1000) __trap();
    y[i] = 2 * i;
}
"""


def calling(n: int) -> Launch:
    return Launch((1, 1, 1), (64, 1, 1), {"n": n, "y": Array("s32", (64,))})


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("extra", [(), RELOCATABLE], ids=["whole", "relocatable"])
def test_calls_of_the_system(architecture: str, extra: tuple[str, ...]) -> None:
    """printf comes back; assertions that fail, and traps, end the kernel."""
    _, machine = kernels(SYSTEM_CALLS, architecture, "", extra)
    for executor in ("engine", "reference"):
        found = struct.unpack("<64i", image(machine, calling(64), executor)["y"])
        assert list(found) == [2 * i for i in range(64)]
        # Relocatable code knows the lines of its PTX alone.
        place = "" if extra else "test.cu:8, "
        for n, words in (
            (63, "`n > i` of .* failed at test.cu:6"),
            (1000, f"{place}.*stopped itself"),
        ):
            with pytest.raises(ExecutionError, match=words):
                image(machine, calling(n), executor)
