"""Loads, stores and atomic operations, run in kernels."""

from __future__ import annotations

import numpy as np
import pytest
from tests.execution.reference.ptx_kernels import run

from kernelcast.errors import MemoryFaultError, UnsupportedError
from kernelcast.execution.address_map import GLOBAL_BASE, SHARED_WINDOW
from kernelcast.execution.trace import RecordKind

FIRST = "add.s64 %l3, %l0, {offset};"


@pytest.mark.parametrize(
    ("type_name", "expected"),
    [
        ("u8", 0x85),
        ("s8", 0xFFFF_FF85),
        ("b8", 0x85),
        ("u16", 0x8485),
        ("s16", 0xFFFF_8485),
        ("u32", 0x8283_8485),
    ],
)
def test_narrow_loads_fill_the_register_by_their_sign(type_name: str, expected: int) -> None:
    body = f"ld.global.{type_name} %r1, [%l0]; st.global.u32 [%l2], %r1;"
    assert run(body, words=[0x8283_8485]).words()[0] == expected


def test_sign_reaches_the_top_of_a_64_bit_register() -> None:
    body = "ld.global.s32 %l4, [%l0]; shr.u64 %l4, %l4, 32; st.global.u32 [%l2], %l4;"
    assert run(body, words=[0x8000_0000]).words()[0] == 0xFFFF_FFFF


def test_vectors_move_elements_in_order_of_address() -> None:
    body = """
        mul.wide.u32 %l3, %r0, 16;
        add.s64 %l4, %l0, %l3;
        add.s64 %l5, %l1, %l3;
        ld.global.v4.u32 {%r1, _, %r3, %r4}, [%l4];
        st.global.v2.u32 [%l5+8], {%r4, %r1};
    """
    result = run(body, threads=4)
    assert result.words()[:16] == [0, 0, 3, 0, 0, 0, 7, 4, 0, 0, 11, 8, 0, 0, 15, 12]


def test_narrow_stores_leave_their_neighbours_alone() -> None:
    body = "mov.u32 %r1, 0x11223344; @%p0 bra END; st.global.u8 [%l2+1], %r1; END:"
    assert run(body).words()[:2] == [0x4400, 0x4400]


def test_of_lanes_that_store_to_one_word_the_highest_wins() -> None:
    assert run("st.global.u32 [%l1], %r0;").words()[0] == 31


def test_shared_memory_is_zero_at_the_start_of_every_block() -> None:
    body = """
        mov.u32 %r1, tile;
        ld.shared.u32 %r2, [%r1];
        atom.shared.add.u32 %r3, [%r1], 1;
        st.global.u32 [%l2], %r3;
    """
    declarations = ".shared .align 4 .b32 tile[1];"
    assert run(body, blocks=2, declarations=declarations).words()[:32] == list(range(32))


def test_local_memory_belongs_to_a_thread() -> None:
    body = """
        mov.u64 %l3, mine;
        st.local.u32 [%l3+4], %r0;
        cvta.local.u64 %l4, %l3;
        ld.u32 %r1, [%l4+4];
        st.global.u32 [%l2], %r1;
    """
    result = run(body, declarations=".local .align 4 .b8 mine[8];")
    assert result.words()[:32] == list(range(32))


def test_dynamic_shared_memory_follows_the_static_one() -> None:
    body = "mov.u32 %r1, dynamic; st.shared.u32 [%r1], %r1; st.global.u32 [%l2], %r1;"
    result = run(
        body,
        declarations=".shared .align 4 .b8 fixed[20];\nmov.u32 %r9, fixed;",
        module=".extern .shared .align 16 .b8 dynamic[];",
        smem_bytes=4,
    )
    assert result.words()[0] == 32


def test_constants_and_globals_start_with_their_values() -> None:
    body = """
        mov.u64 %l3, table;
        ld.const.u32 %r1, [%l3+4];
        ld.global.u32 %r2, [counter];
        add.u32 %r3, %r1, %r2;
        st.global.u32 [%l2], %r3;
        st.global.u32 [counter], 5;
    """
    module = ".const .align 4 .b32 table[2] = {7, 8};\n.global .align 4 .u32 counter = 100;"
    result = run(body, module=module)
    assert result.words()[0] == 108
    assert result.memory.array("counter").tobytes() == b"\x05\0\0\0"


def test_a_store_to_constant_memory_is_a_fault() -> None:
    with pytest.raises(MemoryFaultError, match="table, which is constant"):
        run(
            "mov.u64 %l3, table; st.global.u32 [%l3], 1;",
            module=".const .align 4 .b32 table[2] = {7, 8};",
        )


@pytest.mark.parametrize(
    ("operation", "start", "expected_old", "expected"),
    [
        ("add.u32", 10, [10, 10, 11, 13], 16),
        ("min.s32", 2, [2, 0, 0, 0], 0),
        ("max.u32", 2, [2, 2, 2, 2], 3),
        ("or.b32", 4, [4, 4, 5, 7], 7),
        ("xor.b32", 4, [4, 4, 5, 7], 4),
        ("and.b32", 7, [7, 0, 0, 0], 0),
        ("exch.b32", 9, [9, 0, 1, 2], 3),
        ("inc.u32", 0, [0, 0, 1, 2], 3),
        ("dec.u32", 0, [0, 0, 1, 0], 3),
    ],
)
def test_atomics_act_lane_by_lane(
    operation: str, start: int, expected_old: list[int], expected: int
) -> None:
    # Lane t passes t, so that each operation sees its neighbours' results.
    body = f"atom.global.{operation} %r1, [%l0], %r0; st.global.u32 [%l2], %r1;"
    result = run(body, threads=4, words=[start])
    assert result.words()[:4] == expected_old
    assert result.memory.array("in")[0] == expected


def test_compare_and_swap_lets_one_lane_through() -> None:
    body = "atom.global.cas.b32 %r1, [%l0], 7, %r0; st.global.u32 [%l2], %r1;"
    result = run(body, threads=4, words=[7])
    assert result.words()[:4] == [7, 0, 0, 0]
    assert result.memory.array("in")[0] == 0


def test_reductions_of_floats_and_halves() -> None:
    body = """
        cvt.rn.f32.u32 %f1, %r0;
        red.global.add.f32 [%l1], %f1;
        mov.b32 %r1, 0x3C004000;
        red.global.add.noftz.f16x2 [%l1+4], %r1;
    """
    result = run(body, threads=4)
    assert result.out[:1].view(np.float32)[0] == 0 + 1 + 2 + 3
    assert result.out[1:2].view(np.float16).tolist() == [8.0, 4.0]


def test_generic_addresses_reach_shared_memory() -> None:
    body = """
        mov.u64 %l3, tile;
        cvta.shared.u64 %l3, %l3;
        atom.add.u32 %r1, [%l3], 2;
        ld.shared.u32 %r2, [tile];
        st.global.u32 [%l2], %r2;
    """
    result = run(body, declarations=".shared .align 4 .b32 tile[1];")
    assert result.words()[0] == 64
    generic = next(r for r in result.records if r.kind is not RecordKind.BLOCK)
    assert generic.addresses[0] == SHARED_WINDOW


def test_a_record_holds_the_addresses_of_the_active_lanes() -> None:
    body = "setp.lt.u32 %p1, %r0, 3; @%p1 st.global.u32 [%l2], %r0;"
    result = run(body)
    (access,) = [r for r in result.records if r.kind is not RecordKind.BLOCK]
    base = result.memory.region_at(access.addresses[0])
    assert base is not None
    assert base.label == "out"
    assert (access.kind, access.mask) == (RecordKind.AFFINE, 0b111)
    assert access.addresses == (base.address, base.address + 4, base.address + 8, *[0] * 29)


def test_irregular_addresses_are_recorded_one_by_one() -> None:
    body = """
        mul.lo.u32 %r1, %r0, %r0;
        and.b32 %r1, %r1, 15;
        mul.wide.u32 %l3, %r1, 4;
        add.s64 %l3, %l0, %l3;
        ld.global.u32 %r2, [%l3];
    """
    (access,) = [r for r in run(body).records if r.kind is not RecordKind.BLOCK]
    assert access.kind is RecordKind.ADDRESSES
    assert access.addresses == tuple(GLOBAL_BASE + 4 * (t * t & 15) for t in range(32))


def test_an_access_whose_guard_is_false_everywhere_leaves_no_record() -> None:
    result = run("@%p0 st.global.u32 [%l2], %r0;")
    assert all(r.kind is RecordKind.BLOCK for r in result.records)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("ld.global.u32 %r1, [%l0+256];", "nearest is in (256 bytes), 0 bytes past its end"),
        ("ld.global.u32 %r1, [%l0+-4];", "nearest is in (256 bytes), 4 bytes before its start"),
        ("ld.global.u64 %l4, [%l0+252];", "across its end"),
        ("ld.global.u32 %r1, [%l0+2];", "not aligned to 4 bytes"),
        ("ld.shared.u32 %r1, [4096];", "outside the block's shared memory (0 bytes)"),
        ("ld.local.u32 %r1, [0];", "outside the thread's local memory (0 bytes)"),
    ],
)
def test_faults_say_what_is_wrong(body: str, message: str) -> None:
    with pytest.raises(MemoryFaultError) as caught:
        run(body)
    assert message in str(caught.value)


def test_a_fault_names_the_lowest_faulting_thread() -> None:
    body = "mul.wide.u32 %l3, %r0, 32; add.s64 %l3, %l0, %l3; ld.global.u32 %r1, [%l3];"
    with pytest.raises(MemoryFaultError, match=r"block 0, thread \(8,0,0\): load of 4 bytes"):
        run(body)


def test_no_lane_stores_when_one_of_them_faults() -> None:
    with pytest.raises(MemoryFaultError):
        run("mul.wide.u32 %l3, %r0, 16; add.s64 %l3, %l1, %l3; st.global.u32 [%l3], 1;")


@pytest.mark.parametrize(
    "body", ["atom.global.min.f32 %f1, [%l1], %f1;", "ld.global.b128 %l3, [%l1];"]
)
def test_forms_without_a_definition_are_named(body: str) -> None:
    with pytest.raises(UnsupportedError):
        run(body)
