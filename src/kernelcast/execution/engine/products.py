"""Products of matrices as functions of LLVM IR, made of those in `products.ll`.

A module has each of them once, however many instructions call it. Registers come and go through
memory: all lanes of one register, then those of the next.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from kernelcast.ir.sizes import WARP_LANES
from kernelcast.isas.ptx.descriptors import (
    ADDRESS_BITS,
    BASE_SHIFT,
    LEADING_SHIFT,
    MODE_SHIFT,
    ROW_SHIFT,
    STRIDE_SHIFT,
    UNIT_BYTES,
)
from kernelcast.isas.ptx.products import (
    GROUP_DEPTH_BYTES,
    LANES_OF_ROW,
    NUMBER_BYTES,
    GroupProduct,
    Product,
)

Functions = Mapping[str, str]
"""Definitions by name."""

_NAME = re.compile(r"\$([A-Z_]+)")
_HEADER = re.compile(r"define internal \S+ @([a-z]+)")

_DECODE = {
    "f16": "%i = load half, ptr %p\n%x = fpext half %i to float",
    "bf16": "%i = load i16, ptr %p\n%w = zext i16 %i to i32\n%s = shl i32 %w, 16\n"
    "%x = bitcast i32 %s to float",
    # The last 13 bits are not looked at.
    "tf32": "%i = load i32, ptr %p\n%s = and i32 %i, -8192\n%x = bitcast i32 %s to float",
    # Its bits are those of a half with a larger exponent, but for one magnitude that is NaN.
    "e4m3": "%i = load i8, ptr %p\n%w = zext i8 %i to i16\n%sign = and i16 %w, 128\n"
    "%size = and i16 %w, 127\n%high = shl i16 %sign, 8\n%low = shl i16 %size, 7\n"
    "%bits = or i16 %high, %low\n%half = bitcast i16 %bits to half\n"
    "%small = fpext half %half to float\n%scaled = fmul float %small, 2.56e+02\n"
    "%is_nan = icmp eq i16 %size, 127\n"
    "%x = select i1 %is_nan, float 0x7FF8000000000000, float %scaled",
    # The upper half of a half.
    "e5m2": "%i = load i8, ptr %p\n%w = zext i8 %i to i16\n%bits = shl i16 %w, 8\n"
    "%half = bitcast i16 %bits to half\n%x = fpext half %half to float",
    "s8": "%i = load i8, ptr %p\n%x = sext i8 %i to i32",
    "u8": "%i = load i8, ptr %p\n%x = zext i8 %i to i32",
    "f64": "%x = load double, ptr %p",
}
"""The number %x at %p."""

_SUM_KIND = {"f16": "float", "f32": "float", "s32": "i32", "f64": "double"}
"""In what sums are added up, by their type."""

_KIND_BYTES = {"float": 4, "i32": 4, "double": 8}
_FUSED = "%new = call <8 x $KIND> @llvm.fma.{0}(<8 x $KIND> %xs, <8 x $KIND> %ys, <8 x $KIND> %sum)"
_ADD = {
    "float": _FUSED.format("v8f32"),
    "double": _FUSED.format("v8f64"),
    "i32": "%product = mul <8 x i32> %xs, %ys\n%new = add <8 x i32> %product, %sum",
}
DECLARATIONS = tuple(
    f"declare <8 x {kind}> @llvm.fma.v8{name}(<8 x {kind}>, <8 x {kind}>, <8 x {kind}>)"
    for kind, name in (("float", "f32"), ("double", "f64"))
) + tuple(
    f"declare <{count} x i32> @llvm.sadd.sat.v{count}i32(<{count} x i32>, <{count} x i32>)"
    for count in (64, 128)
)


def warp_function(kind: Product) -> tuple[str, Functions]:
    """The name of `void (ptr a, ptr b, ptr sums)` for a product in registers, and what it needs."""
    functions = dict((*_reading("fragment", kind), *_adding(kind)))
    name = f"mma.{_key(kind)}"
    right = f"ptr %b, ptr %b.n, i64 1, i64 {kind.depth}, i64 1, i64 {kind.columns}"
    body = (
        *_numbers(kind),
        _a_from_registers(kind),
        f"call void @fragment.{kind.b}({right})",
        *(_clamped_sum_calls(kind) if kind.is_clamped else _sum_calls(kind)),
        "ret void",
    )
    functions[name] = _function(f"void @{name}(ptr %a, ptr %b, ptr %sums)", body)
    return name, functions


def group_function(found: GroupProduct) -> tuple[str, Functions]:
    """The name of a function for the share of a warp in a product of its group, and what it needs.

    `i64 (ptr shared, i64 bytes, i64 first row, ptr a, i64 descriptor of a, i64 descriptor of b,
    ptr sums)` returns -1, or the first address that lies outside shared memory.
    """
    kind = found.product
    functions = dict((*_reading("matrix", kind), *_adding(kind)))
    flags = "".join(
        letter
        for letter, holds in (
            ("r", found.a_in_registers),
            ("a", found.a_across),
            ("b", found.b_across),
            ("n", found.is_negated),
        )
        if holds
    )
    name = f"wgmma.{_key(kind)}.{flags or 'm'}"
    left: tuple[str, ...] = (_a_from_registers(kind),)
    if found.a_in_registers:
        functions.update(_reading("fragment", kind))
    else:
        left = _a_from_memory(kind, across=found.a_across)
    negation: tuple[str, ...] = ()
    if found.is_negated:
        functions["negate"] = _templates()["negate"]
        negation = (f"call void @negate(ptr %a.n, i64 {kind.rows * kind.depth})",)
    body = (
        *_numbers(kind),
        *left,
        *_checked(_matrix(kind, "b", kind.columns, found.b_across, "0", "0"), "b"),
        *negation,
        *_sum_calls(kind),
        "ret i64 -1",
    )
    parameters = "ptr %shared, i64 %limit, i64 %first, ptr %a, i64 %a.d, i64 %b.d, ptr %sums"
    functions[name] = _function(f"i64 @{name}({parameters})", body)
    return name, functions


def _key(kind: Product) -> str:
    shape = f"m{kind.rows}n{kind.columns}k{kind.depth}"
    return f"{shape}.{kind.sums}.{kind.a}.{kind.b}{'.clamped' * kind.is_clamped}"


def _function(head: str, body: tuple[str, ...]) -> str:
    return f"define internal {head} {{\n" + "\n".join(body) + "\n}\n"


def _numbers(kind: Product) -> tuple[str, ...]:
    """Room for the numbers of all three matrices."""
    sizes = {
        "a": kind.rows * kind.depth,
        "b": kind.depth * kind.columns,
        "sums": kind.rows * kind.columns,
    }
    element = _SUM_KIND[kind.sums]
    return tuple(f"%{m}.n = alloca [{n} x {element}], align 64" for m, n in sizes.items())


def _a_from_registers(kind: Product) -> str:
    shape = f"i64 {kind.groups}, i64 {kind.depth}, i64 {kind.depth}, i64 1"
    return f"call void @fragment.{kind.a}(ptr %a, ptr %a.n, {shape})"


def _a_from_memory(kind: Product, *, across: bool) -> tuple[str, ...]:
    numbers = UNIT_BYTES // NUMBER_BYTES[kind.a]
    unit = f"%first.unit = udiv i64 %first, {numbers}"
    first = ("0", "%first.unit") if across else ("%first", "0")
    return (unit, *_checked(_matrix(kind, "a", kind.rows, across, *first), "a"))


def _matrix(kind: Product, name: str, count: int, across: bool, line: str, unit: str) -> str:
    """The call that reads a matrix of `count` rows or columns."""
    type_ = kind.a if name == "a" else kind.b
    size = NUMBER_BYTES[type_]
    lines, units = count, GROUP_DEPTH_BYTES // UNIT_BYTES
    steps = (kind.depth, 1) if name == "a" else (1, kind.columns)
    if across:
        lines, units = kind.depth, count * size // UNIT_BYTES
        steps = (steps[1], steps[0])
    return (
        f"call i64 @matrix.{type_}(ptr %shared, i64 %limit, i64 %{name}.d, i64 {line}, "
        f"i64 {lines}, i64 {unit}, i64 {units}, i1 {int(across)}, ptr %{name}.n, "
        f"i64 {steps[0]}, i64 {steps[1]})"
    )


def _checked(call: str, name: str) -> tuple[str, ...]:
    return (
        f"%{name}.bad = {call}",
        f"%{name}.fine = icmp eq i64 %{name}.bad, -1",
        f"br i1 %{name}.fine, label %{name}.go, label %{name}.stop",
        f"{name}.stop:",
        f"ret i64 %{name}.bad",
        f"{name}.go:",
    )


def _sum_calls(kind: Product) -> tuple[str, ...]:
    sums = f"call void @sums.{kind.sums}(ptr %sums, ptr %sums.n, i64 {kind.groups}, "
    shape = f"i64 {kind.rows}, i64 {kind.columns}, i64 {kind.depth}"
    return (
        f"{sums}i64 {kind.columns}, i1 0)",
        f"call void @multiply.{_SUM_KIND[kind.sums]}(ptr %a.n, ptr %b.n, ptr %sums.n, {shape})",
        f"{sums}i64 {kind.columns}, i1 1)",
    )


def _clamped_sum_calls(kind: Product) -> tuple[str, ...]:
    """What is added fits 32 bits, so that it is the difference of the sums that wrap around."""
    vector = f"<{kind.rows * kind.columns} x i32>"
    clamp = f"@llvm.sadd.sat.v{kind.rows * kind.columns}i32"
    return (
        f"%old = load {vector}, ptr %sums, align 4",
        *_sum_calls(kind),
        f"%wrapped = load {vector}, ptr %sums, align 4",
        f"%added = sub {vector} %wrapped, %old",
        f"%clamped = call {vector} {clamp}({vector} %old, {vector} %added)",
        f"store {vector} %clamped, ptr %sums, align 4",
    )


def _reading(what: str, kind: Product) -> list[tuple[str, str]]:
    """The functions that read numbers of a and b."""
    found = []
    for type_ in (kind.a, kind.b):
        size = NUMBER_BYTES[type_]
        words: dict[str, str | int] = {
            "TYPE": type_,
            "KIND": _SUM_KIND[kind.sums],
            "DECODE": _DECODE[type_],
            "NUMBER_BYTES": size,
            "PART_BYTES": LANES_OF_ROW * kind.word_bytes,
            "PART_NUMBERS": LANES_OF_ROW * kind.word_bytes // size,
            "REGISTER_BYTES": WARP_LANES * kind.word_bytes,
            "UNIT_BYTES": UNIT_BYTES,
            "UNIT_NUMBERS": UNIT_BYTES // size,
            "FIELD": (1 << ADDRESS_BITS) - 1,
            "LEADING_SHIFT": LEADING_SHIFT,
            "STRIDE_SHIFT": STRIDE_SHIFT,
            "BASE_SHIFT": BASE_SHIFT,
            "MODE_SHIFT": MODE_SHIFT,
            "ROW_SHIFT": ROW_SHIFT,
        }
        found.append((f"{what}.{type_}", _filled(what, words)))
    return found


def _adding(kind: Product) -> list[tuple[str, str]]:
    """The functions that take, add and give sums."""
    element = _SUM_KIND[kind.sums]
    narrow = kind.sums == "f16"
    stored = "half" if narrow else element
    widen, shorten = (
        ("fpext half %in to float", "fptrunc float %out to half")
        if narrow
        else (f"bitcast {stored} %in to {stored}", f"bitcast {stored} %out to {stored}")
    )
    words: dict[str, str | int] = {
        "SUMS": kind.sums,
        "STORED": stored,
        "WIDEN": f"%wide = {widen}",
        "NARROW": f"%narrow = {shorten}",
        "ODD_STEP": 1 if narrow else WARP_LANES,
        "LANE_STEP": 2 if narrow else 1,
        "ADD": _ADD[element],
        "KIND": element,
        "KIND_BYTES": _KIND_BYTES[element],
    }
    return [
        (f"multiply.{element}", _filled("multiply", words)),
        (f"sums.{kind.sums}", _filled("sums", words)),
    ]


def _filled(name: str, words: Mapping[str, str | int]) -> str:
    text = _templates()[name]
    while _NAME.search(text):
        text = _NAME.sub(lambda found: str(words[found[1]]), text)
    return text


@cache
def _templates() -> Functions:
    """The functions of `products.ll` by name, without what stands for their types."""
    text = Path(__file__).with_suffix(".ll").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(";")]
    bodies = "\n".join(lines).strip().split("\n\n")
    headers = [_HEADER.match(body) for body in bodies]
    return {header[1]: body + "\n" for header, body in zip(headers, bodies, strict=True) if header}
