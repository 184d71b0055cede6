"""Algorithm 6.4: what is stored and reloaded, followed instruction by instruction."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kept import CACHE

from kernelcast.analysis.spills import (
    PRINTED_REGISTERS,
    LeastSpills,
    SpillCode,
    least_spills,
    spills_of_block,
)
from kernelcast.errors import InputError
from kernelcast.frontends.loading import load_bytes
from kernelcast.ir import Instruction, OpClass, Register
from kernelcast.reporting.documents.kernels import kernels_document


def op(index: int, written: str, *read: str) -> Instruction:
    return Instruction(
        index,
        "op",
        (),
        (),
        OpClass.INT,
        reads=tuple(Register(r, "b32") for r in read),
        writes=(Register(written, "b32"),),
    )


def named(code: SpillCode) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    return [(at, r.name) for at, r in code.stores], [(at, r.name) for at, r in code.reloads]


def test_the_value_of_furthest_use_is_spilled_once():
    """a, b and c are made, two fit; a is used last, b before it."""
    body = (op(0, "a"), op(1, "b"), op(2, "c"), op(3, "d", "b", "c"), op(4, "e", "a", "d"))
    assert named(spills_of_block(body, 3)) == ([], [])
    stores, reloads = named(spills_of_block(body, 2))
    assert stores == [(2, "a")]
    assert reloads == [(4, "a")]


def test_a_value_is_stored_once_however_often_it_is_evicted():
    body = (
        op(0, "a"),
        op(1, "b"),
        op(2, "c"),
        op(3, "d", "b", "c"),
        op(4, "e", "a", "d"),
        op(5, "f"),
        op(6, "g"),
        op(7, "h", "f", "g"),
        op(8, "i", "a", "h"),
    )
    stores, reloads = named(spills_of_block(body, 2))
    assert [name for _, name in stores].count("a") == 1
    assert [name for _, name in reloads].count("a") == 2


def test_what_nobody_needs_any_more_is_not_stored():
    body = tuple(op(i, f"v{i}") for i in range(100))
    assert spills_of_block(body, 2) == SpillCode((), ())


def test_k_as_printed():
    """64 values at once: none spilled at 64, one at the 63 registers of a Fermi."""
    made = tuple(op(i, f"v{i}") for i in range(64))
    used = tuple(op(64 + i, f"w{i}", f"v{i}") for i in range(64))
    assert PRINTED_REGISTERS == 64
    assert spills_of_block(made + used).accesses == 0
    assert len(spills_of_block(made + used, 63).stores) == 1


def test_an_instruction_must_fit():
    with pytest.raises(InputError, match="more than 1 registers"):
        spills_of_block((op(0, "c", "a", "b"),), 1)


@st.composite
def blocks(draw):
    body = []
    for at in range(draw(st.integers(1, 24))):
        known = [f"v{k}" for k in range(at)]
        count = draw(st.integers(0, min(2, len(known))))
        read = draw(st.permutations(known))[:count] if known else []
        body.append(op(at, f"v{at}", *read))
    return body


@given(blocks(), st.integers(2, 6))
def test_every_operand_is_in_a_register_when_it_is_read(body, registers):
    """Follow the code with its spills: evict whatever is reloaded later, hold no more than fit."""
    code = spills_of_block(body, registers)
    stored = {}
    for at, value in code.stores:
        assert value not in stored
        stored[value] = at
    for at, value in code.reloads:
        assert value in stored and stored[value] < at
    # A reload brings a value back for an instruction that reads it.
    assert all(value in body[at].reads for at, value in code.reloads)


@given(blocks())
def test_nothing_is_spilled_where_all_values_fit(body):
    assert spills_of_block(body, len(body) + 1).accesses == 0


def test_what_a_kernel_spills_at_least_is_less_than_its_assembler_spills():
    """96 numbers that are all alive, and 32 registers."""
    loads = "\n".join(f"held[{k}] = x[(i + 37 * {k}) % n];" for k in range(96))
    uses = "\n".join(f"sum += held[{k}] * held[{95 - k}];" for k in range(96))
    source = f"""extern "C" __global__
void __launch_bounds__(1024, 2) wide(int n, const float* x, float* y) {{
    int i = blockIdx.x * 256 + threadIdx.x;
    float held[96], sum = 0;
    {loads}
    {uses}
    y[i] = sum;
}}"""
    module = load_bytes(source.encode(), name="wide.cu", cache=CACHE)
    kernel = module.kernel("wide")
    found = least_spills(kernel, 32)
    assert kernel.resources.registers == found.registers == 32
    assert 0 < 4 * max(found.stores, found.reloads) < kernel.resources.spilled_bytes
    assert least_spills(kernel, 255) == LeastSpills(255, 0, 0)
    (part,) = kernels_document([kernel]).kernels
    assert part.least_spills is not None and part.least_spills.reloads == found.reloads
