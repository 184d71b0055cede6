"""Device memory: layout, parameters, symbols, sharing between launches."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import LaunchError, NotFoundError
from kernelcast.execution.address_map import ARRAY_ALIGN_BYTES, GLOBAL_BASE, GUARD_BYTES
from kernelcast.execution.memory import Memory
from kernelcast.ir import Array, Fill, Kernel, Launch, Parameter, Space, Variable

SIZES = {"u16": 2, "u32": 4, "s32": 4, "f32": 4, "b32": 4, "u64": 8, "f64": 8}


def kernel_of(*types: str, variables: tuple[Variable, ...] = ()) -> Kernel:
    """A kernel with parameters p0, p1, ... of these types; `type*` is a pointer."""
    parameters: list[Parameter] = []
    end = 0
    for at, name in enumerate(types):
        pointee = name.removesuffix("*") if name.endswith("*") else ""
        stored = "u64" if pointee else name
        size = SIZES[stored] if stored in SIZES else int(stored.removeprefix("b8x"))
        align = size if stored in SIZES else 4
        end = -(-end // align) * align
        parameters.append(
            Parameter(
                f"k_param_{at}",
                stored if stored in SIZES else "b8",
                size,
                end,
                f"p{at}",
                bool(pointee),
                "" if pointee == "void" else pointee,
            )
        )
        end += size
    return Kernel("k", "ptx", "sm_90", tuple(parameters), (), (), variables)


def build(kernel: Kernel, *values: object, names: str = "", **more: object) -> Memory:
    labels = names.split() or [f"p{at}" for at in range(len(values))]
    launch = Launch((1, 1, 1), (32, 1, 1), dict(zip(labels, values, strict=True)))  # type: ignore[arg-type]
    return Memory.build(kernel, launch, **more)  # type: ignore[arg-type]


def test_arrays_are_aligned_and_guarded() -> None:
    memory = build(kernel_of("f32*", "void*"), Array("f32", (3,)), Array("u8", (1000,)))
    first, second = memory.regions
    assert (first.address, first.size_bytes) == (GLOBAL_BASE, 12)
    assert second.address % ARRAY_ALIGN_BYTES == 0
    assert second.address - first.end >= GUARD_BYTES


def test_a_host_pointer_is_the_device_address_plus_the_delta() -> None:
    memory = build(
        kernel_of("u32*", "u32*"), Array("u32", (4,)), Array("u32", (2,), Fill("arange"))
    )
    memory.array("p0")[3] = 77
    for region, at, expected in ((memory.regions[0], 12, 77), (memory.regions[1], 4, 1)):
        pointer = region.address + at + memory.host_delta
        assert ctypes.c_uint32.from_address(pointer).value == expected


def test_scalars_take_their_parameters_type_and_place() -> None:
    kernel = kernel_of("u16", "f32", "f64", "s32", "f32*")
    memory = build(kernel, -2, 3, 0.1, -5, Array("f32", (4,)))
    expected = struct.pack("<Hxxfdixxxx", 0xFFFE, 3.0, 0.1, -5)
    expected += struct.pack("<Q", memory.regions[0].address)
    assert memory.parameters.tobytes() == expected


def test_untyped_words_take_floats_by_their_bits() -> None:
    assert build(kernel_of("b32"), 1.0).parameters.tobytes() == struct.pack("<f", 1.0)


def test_a_struct_by_value_is_given_as_an_array_of_its_size() -> None:
    memory = build(kernel_of("u32", "b8x12"), 1, Array("s32", (3,), Fill("arange")))
    assert memory.parameters.tobytes() == struct.pack("<4i", 1, 0, 1, 2)
    assert memory.regions == ()


def test_views_have_the_arrays_type() -> None:
    kernel = kernel_of("void*", "void*", "void*")
    memory = build(kernel, Array("f16", (2,)), Array("bf16", (2,)), Array("b64", (2,)))
    assert [memory.array(f"p{at}").dtype for at in range(3)] == [np.float16, np.uint16, np.uint64]
    with pytest.raises(NotFoundError, match="unknown array"):
        memory.array("q")


def test_a_null_pointer_may_be_given() -> None:
    assert build(kernel_of("f32*"), 0).parameters.tobytes() == bytes(8)


@pytest.mark.parametrize(
    ("types", "values", "message"),
    [
        (("u32", "f32*"), (1,), "argument 1 (p1) is missing: 1 given, 2 needed"),
        (("u32",), (1, 2), "argument p1 is one too many"),
        (("f32*",), (5,), "argument 0 (p0) is a pointer, but a number is given"),
        (("u32",), (Array("f32", (4,)),), "argument 0 (p0) is a u32, but an array is given"),
        (("u32",), (2.5,), "is a u32, but 2.5 is not an integer"),
        (("u32",), (1 << 32,), "is 4294967296, out of range for u32"),
        (("s32",), (1 << 31,), "out of range for s32"),
        (("u16",), (-32769,), "out of range for u16"),
        (("f32*",), (Array("f64", (4,)),), "points to f32, but an array of f64"),
        (("f32*",), (Array("s32", (4,)),), "points to f32, but an array of s32"),
        (("b8x12",), (5,), "is a struct of 12 bytes passed by value, not a number"),
        (("b8x12",), (Array("u8", (8,)),), "but an array of 8 bytes is given"),
    ],
)
def test_an_argument_that_does_not_fit_is_named_with_the_parameter_list(
    types: tuple[str, ...], values: tuple[object, ...], message: str
) -> None:
    with pytest.raises(LaunchError) as caught:
        build(kernel_of(*types), *values)
    assert message in str(caught.value)
    assert str(caught.value).startswith("k(")


def test_the_name_of_one_parameter_may_not_stand_in_anothers_place() -> None:
    kernel = kernel_of("u32", "u32")
    with pytest.raises(LaunchError, match="argument 0 is called p1, but parameter 0 is p0"):
        build(kernel, 1, 2, names="p1 p0")
    assert build(kernel, 1, 2, names="width height").parameters.tolist()[::4] == [1, 2]


@pytest.mark.parametrize("element", ("f32", "b32", "u32", "s32"))
def test_pointers_take_arrays_of_like_elements(element: str) -> None:
    for pointee in {"f32": ("f32", "b32", "u8"), "b32": ("f32", "u32")}.get(element, ("u32",)):
        build(kernel_of(f"{pointee}*"), Array(element, (4,)))


def test_arrays_named_alike_are_the_same_memory_in_later_launches() -> None:
    kernel = kernel_of("f32*", "f32*")
    x, y, z = (Array("f32", (4,), Fill(k)) for k in ("ones", "zeros", "zeros"))
    first = build(kernel, x, y, names="x y")
    first.array("y")[:] = 5
    second = build(kernel, y, z, names="y z", earlier=first)
    assert second.array("y").tolist() == [5] * 4
    second.array("y")[0] = 6
    assert first.array("y")[0] == 6
    assert second.host_delta == first.host_delta
    assert [r.label for r in second.regions] == ["y", "z"]


def test_an_array_that_changes_its_size_between_launches_is_refused() -> None:
    kernel = kernel_of("f32*")
    first = build(kernel, Array("f32", (4,)), names="x")
    with pytest.raises(LaunchError, match="16 bytes in an earlier launch"):
        build(kernel, Array("f32", (8,)), names="x", earlier=first)


def test_a_pointer_points_to_an_element_of_its_array() -> None:
    args = {"p0": Array("f64", (8,)), "p1": Array("f64", (8,), of="p0", start=3)}
    kernel = kernel_of("f64*", "f64*")
    memory = Memory.build(kernel, Launch(1, 32, args))
    first, second = memory.parameters.view(np.uint64)[:2]
    assert (second - first, len(memory.regions)) == (24, 1)
    assert set(memory.pointers(kernel).values()) == {"p0"}


def test_an_array_given_twice_is_one_region() -> None:
    kernel = kernel_of("f32*")
    first = build(kernel, Array("f32", (4,)), names="x")
    assert build(kernel, Array("f32", (4,)), names="x", earlier=first).regions == first.regions


VARIABLES = (
    Variable("a", Space.SHARED, 5, 1),
    Variable("b", Space.SHARED, 8, 8),
    Variable("tail", Space.SHARED, 0, 16),
    Variable("end", Space.SHARED, 0, 4),
    Variable("depot", Space.LOCAL, 12, 8),
    Variable("more", Space.LOCAL, 4, 4),
    Variable("table", Space.CONST, 8, 4, b"\1\2\3"),
    Variable("counter", Space.GLOBAL, 4, 4, b"\7\0\0\0"),
)


def test_variables_lie_in_their_spaces() -> None:
    kernel = kernel_of("u32", variables=VARIABLES)
    launch = Launch((1, 1, 1), (32, 1, 1), {"p0": 1}, smem_bytes=100)
    memory = Memory.build(kernel, launch)
    offsets = {n: memory.symbols[n] for n in ("a", "b", "tail", "end", "depot", "more")}
    assert offsets == {"a": 0, "b": 8, "tail": 16, "end": 16, "depot": 0, "more": 12}
    assert (memory.shared_bytes, memory.local_bytes) == (116, 16)
    assert memory.symbols["k_param_0"] == 0


def test_module_variables_are_regions_that_start_with_their_values() -> None:
    memory = build(kernel_of(variables=VARIABLES))
    table, counter = memory.regions
    assert (table.label, table.writable, table.is_argument) == ("table", False, False)
    assert (counter.label, counter.writable) == ("counter", True)
    assert memory.image() == {"table": b"\1\2\3\0\0\0\0\0", "counter": b"\7\0\0\0"}
    assert memory.symbols["counter"] == counter.address


def test_module_variables_keep_their_values_between_launches() -> None:
    kernel = kernel_of(variables=VARIABLES)
    first = build(kernel)
    first.array("counter")[0] = 99
    assert build(kernel, earlier=first).array("counter")[0] == 99


@given(st.integers(-5, 40))
def test_region_at_finds_exactly_the_bytes_of_an_array(offset: int) -> None:
    memory = build(kernel_of("void*"), Array("u8", (32,)))
    (region,) = memory.regions
    found = memory.region_at(region.address + offset)
    assert found is (region if 0 <= offset < 32 else None)


def test_nearest_measures_to_the_closer_edge() -> None:
    memory = build(kernel_of("void*", "void*"), Array("u8", (512,)), Array("u8", (512,)))
    first, second = memory.regions
    assert memory.nearest(first.end + 100) is first
    assert memory.nearest(second.address - 100) is second
    assert memory.nearest(0) is first
    assert build(kernel_of()).nearest(0) is None


def test_an_array_larger_than_memory_costs_nothing_until_it_is_touched() -> None:
    memory = build(kernel_of("f32*"), Array("f32", (1 << 36,)))
    memory.array("p0")[-1] = 1
    assert memory.array("p0")[-1] == 1
