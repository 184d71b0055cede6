"""Conversions as machine code: the oracle is the PTX of the same source, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import pytest
from tests.execution.machine_code import ARCHITECTURES
from tests.isas.sass.float_kernels import Work, differences
from tests.isas.sass.integer_kernels import executors_on

INTEGERS = tuple(f"{kind}{bits}" for bits in (8, 16, 32, 64) for kind in "su")
TO_INTEGER = ("rni", "rzi", "rmi", "rpi")
TO_FLOAT = ("rn", "rz", "rm", "rp")


def held(type: str) -> str:
    """The type of a register that holds an integer: those of 8 bits live in 16."""
    return f"{type[0]}{max(int(type[1:]), 16)}"


def to_integer(type: str, source: str, modes: str) -> str:
    """A conversion to an integer type, extended to 64 bits."""
    wide = "mov.b64 %0, r;" if type.endswith("64") else f"cvt.{type[0]}64.{held(type)} %0, r;"
    return f".reg .{held(type)} r; cvt.{modes}.{type}.{source} r, %1; {wide}"


def from_integer(result: str, type: str, mode: str) -> str:
    """A conversion from the low bits of an integer of 64."""
    cut = "mov.b64 a, %1;" if type.endswith("64") else f"cvt.{held(type)}.u64 a, %1;"
    return f".reg .{held(type)} a; {cut} cvt.{mode}.{result}.{type} %0, a;"


def between_integers() -> Iterator[str]:
    """All pairs of integer types, saturating where that may change a number."""
    for type in INTEGERS:
        for source in INTEGERS:
            widens = int(type[1:]) > int(source[1:]) and not (type[0] == "u" > source[0])
            if type == source or widens:
                continue
            cut = "mov.b64 a, %1;" if source[1:] == "64" else f"cvt.{held(source)}.u64 a, %1;"
            wide = "mov.b64 %0, r;" if type[1:] == "64" else f"cvt.{type[0]}64.{held(type)} %0, r;"
            yield (
                f".reg .{held(source)} a; .reg .{held(type)} r; {cut}"
                f"cvt.sat.{type}.{source} r, a; {wide}"
            )


def of_floats(name: str) -> dict[str, Work]:
    """All conversions between integers and a float type, each type in two of the four modes."""
    flags = cycle(("", ".ftz")) if name == "f32" else cycle(("",))
    two_of_four = [(t, m) for n, t in enumerate(INTEGERS) for m in range(n // 2 % 2, 4, 2)]
    return {
        f"to_{name}": Work(
            [from_integer(name, t, TO_FLOAT[m]) for t, m in two_of_four], ("u64",), name
        ),
        f"from_{name}": Work(
            [
                to_integer(t, name, TO_INTEGER[m] + flag)
                for (t, m), flag in zip(two_of_four, flags, strict=False)
            ],
            (name,),
            "u64",
        ),
    }


WORKS = {
    **of_floats("f16"),
    **of_floats("f32"),
    **of_floats("f64"),
    "integers": Work(tuple(between_integers()), ("u64",), "u64"),
}
FLOATS = {
    "f32_of_f64": Work(
        (*(f"cvt.{m}.f32.f64 %0, %1;" for m in TO_FLOAT), "cvt.rn.sat.f32.f64 %0, %1;"),
        ("f64",),
        "f32",
    ),
    "f64_of_f32": Work(("cvt.f64.f32 %0, %1;", "cvt.ftz.f64.f32 %0, %1;"), ("f32",), "f64"),
    "f64_of_f16": Work(("cvt.f64.f16 %0, %1;",), ("f16",), "f64"),
    "f32_of_f16": Work(("cvt.f32.f16 %0, %1;", "cvt.sat.f32.f16 %0, %1;"), ("f16",), "f32"),
    "f16_of_f64": Work(("cvt.rn.f16.f64 %0, %1;", "cvt.rz.f16.f64 %0, %1;"), ("f64",), "f16"),
    "f16_of_f32": Work(
        (
            *(f"cvt.{m}.f16.f32 %0, %1;" for m in TO_FLOAT),
            *("cvt.rn.ftz.f16.f32 %0, %1;", "cvt.rn.sat.f16.f32 %0, %1;"),
        ),
        ("f32",),
        "f16",
    ),
    **{
        f"integral_{t}": Work([f"cvt.{m}.{t}.{t} %0, %1;" for m in TO_INTEGER], (t,), t)
        for t in ("f16", "f32", "f64")
    },
}
TO_PAIR = ("rn", "rz", "rn.relu", "rz.relu")
PAIRS = {
    **{
        f"{t}x2": Work([f"cvt.{m}.{t}x2.f32 %0, %1, %2;" for m in TO_PAIR], ("f32",) * 2, f"{t}x2")
        for t in ("f16", "bf16")
    },
    "bf16": Work([f"cvt.{m}.bf16.f32 %0, %1;" for m in TO_PAIR], ("f32",), "bf16"),
}
BF16 = {
    "from_integers": Work(
        [from_integer("bf16", t, m) for t in INTEGERS[2:] for m in ("rn", "rz")], ("u64",), "bf16"
    ),
    "to_integers": Work(
        [to_integer(t, "bf16", m) for t in INTEGERS[2:] for m in ("rzi", "rni")], ("bf16",), "u64"
    ),
    "integral": Work([f"cvt.{m}.bf16.bf16 %0, %1;" for m in TO_INTEGER], ("bf16",), "bf16"),
    "of_f64": Work(("cvt.rn.bf16.f64 %0, %1;",), ("f64",), "bf16"),
    "to_f64": Work(("cvt.f64.bf16 %0, %1;",), ("bf16",), "f64"),
}
"""From sm_90 on."""
PARTS = Work(
    (
        *("cvt.pack.sat.s16.s32 %0, %1, %2;", "cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"),
        *("__float_as_uint((unsigned char)(x >> 8))", "__float_as_uint((signed char)(x >> 24))"),
        *("__float_as_uint((short)(x >> 16))", "__float_as_uint((unsigned short)(x >> 16))"),
        ".reg .b16 p, q; mov.b32 {p, q}, %1; cvt.rzi.s32.f16 %0, q;",
        ".reg .b16 p, q; mov.b32 {p, q}, %1; cvt.rpi.f16.f16 q, q; mov.b32 %0, {q, p};",
    ),
    ("u32", "u32", "u32"),
    "u32",
)
"""Conversions of a part of a register, and of integers into parts."""


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_conversions_of_integers_are_those_of_ptx(architecture: str, name: str) -> None:
    assert not differences(WORKS, name, architecture)


def test_the_reference_converts_integers_as_well() -> None:
    for name in ("to_f32", "from_f64", "integers"):
        assert not differences(WORKS, name, "sm_90", executors=("reference",))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("architecture", ("sm_75", "sm_86", "sm_120"))
def test_conversions_of_floats_are_those_of_ptx(architecture: str, name: str) -> None:
    assert not differences(FLOATS, name, architecture)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("architecture", ("sm_80", "sm_89", "sm_90", "sm_120"))
def test_conversions_to_pairs_of_halves(architecture: str, name: str) -> None:
    assert not differences(PAIRS, name, architecture, executors=executors_on(architecture))


@pytest.mark.parametrize("name", BF16)
@pytest.mark.parametrize("architecture", ("sm_90", "sm_120"))
def test_conversions_of_bfloat16(architecture: str, name: str) -> None:
    assert not differences(BF16, name, architecture, executors=executors_on(architecture))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_conversions_of_parts_of_registers(architecture: str) -> None:
    assert not differences({"k": PARTS}, "k", architecture)
