"""Engine against reference, bit for bit, for every form of instruction on hard operands."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.ir import Array, Kernel, Launch
from kernelcast.isas.ptx import parse_ptx
from tests.execution.opcode_forms import Form, all_forms, kernel_text

THREADS = 96
FORMS = all_forms()
PER_KERNEL = 40
GROUPS = [
    pytest.param(forms[at : at + PER_KERNEL], id=f"{family}-{at // PER_KERNEL}")
    for family, forms in FORMS.items()
    for at in range(0, len(forms), PER_KERNEL)
]

EDGES_32 = (0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFF, 0x100)
FLOATS_32: tuple[float, ...] = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    -2.5,
    1e-40,
    -1e-42,
    3e38,
    -3e38,
    127.5,
    65504.0,
)
FLOATS_32 += (np.inf, -np.inf, 2147483648.0, 4294967296.0, 1e19, 255.5, 65535.5, 1e-8)
FLOATS_64: tuple[float, ...] = (
    1e300,
    -1e300,
    1e-300,
    -1e-300,
    65519.999999999,
    2.0**-134,
    2.0**-134 + 2.0**-180,
)
FLOATS_64 += (1.5 * 2.0**-133 - 2.0**-185, 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-50, 3.4e38, -1e39)


def _operands(form: Form, column: int, random: np.random.Generator) -> NDArray[np.uint64]:
    """Hard values first, then random ones, in the low bits of 8-byte elements."""
    kind = form.operands[column]
    wide = np.zeros(THREADS, np.uint64)
    if kind in ("f32", "f64"):
        values = random.normal(size=THREADS) * 10.0 ** random.integers(-12, 12, THREADS)
        values[:44] = random.permutation(np.array(FLOATS_32 * 2))
        values[44:46] = np.nan
        if kind == "f64":
            values[46:58] = random.permutation(np.array(FLOATS_64))
        with np.errstate(over="ignore"):
            typed = values.astype(np.float32 if kind == "f32" else np.float64)
        wide[:] = typed.view(np.uint32 if kind == "f32" else np.uint64)
        return wide
    if "f16" in kind:
        with np.errstate(over="ignore"):
            halves = np.array([*FLOATS_32, *random.normal(size=THREADS * 2 - 22)]).astype("f4")
            halves = random.permutation(halves)
            bits = halves.astype(np.float16).view(np.uint16)
        if kind.startswith("bf"):
            bits = (halves.view(np.uint32) >> 16).astype(np.uint16)
        return (bits[::2].astype(np.uint64) << np.uint64(16)) | bits[1::2]
    wide[:] = random.integers(0, 1 << 63, THREADS, dtype=np.uint64) * np.uint64(2)
    wide[:48] = random.permutation(np.array(EDGES_32 * 4, np.uint64))
    wide[48:60] = wide[48:60] << np.uint64(32) | np.uint64(7)
    wide[60:64] = (0x8000000000000000, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 1 << 32)
    wide[64:72] = random.integers(0, 70, 8)
    return wide


def _results(kernel: Kernel, inputs: list[NDArray[np.uint64]], executor: str) -> NDArray[np.uint64]:
    size = inputs[0].size
    arrays = {f"p{n}": Array("b64", (size,)) for n in range(4)}
    launch = Launch((1, 1, 1), (THREADS, 1, 1), arrays)
    memory = Memory.build(kernel, launch)
    for n, values in enumerate(inputs):
        memory.array(f"p{n + 1}")[:] = values
    execute(kernel, launch, memory, executor=executor)
    return memory.array("p0").copy().reshape(-1, THREADS)


def _canonical(form: Form, bits: NDArray[np.uint64]) -> NDArray[np.generic]:
    """Values in which all NaN are equal."""
    kind = form.result
    if kind in ("f32", "f64"):
        typed = np.ascontiguousarray(bits.astype(np.uint32 if kind == "f32" else np.uint64))
        values = typed.view(np.float32 if kind == "f32" else np.float64)
        return np.where(np.isnan(values), typed.dtype.type(0x7FC00001), typed)
    if "f16" in kind:
        halves = np.ascontiguousarray(bits).view(np.uint16)
        limit = 0x7F80 if kind.startswith("bf") else 0x7C00
        return np.where((halves & 0x7FFF) > limit, np.uint16(0x7FFF), halves)
    return bits


@pytest.mark.parametrize("forms", GROUPS)
def test_engine_computes_what_the_reference_defines(forms: list[Form]) -> None:
    random = np.random.default_rng(len(forms) + len(str(forms[0])))
    inputs = []
    for column in range(3):
        parts = [
            _operands(f, column, random) if column < len(f.operands) else np.zeros(THREADS, "u8")
            for f in forms
        ]
        inputs.append(np.concatenate(parts))
    kernel = parse_ptx(kernel_text(forms, THREADS)).kernel("k")
    engine = _results(kernel, inputs, "engine")
    reference = _results(kernel, inputs, "reference")
    wrong = []
    for n, form in enumerate(forms):
        if form.approximate:
            a, b = (r[n].astype(np.uint32).view(np.float32) for r in (engine, reference))
            same = np.isclose(a, b, rtol=1e-6, atol=1e-37, equal_nan=True)
        else:
            same = _canonical(form, engine[n]) == _canonical(form, reference[n])
        if not same.all():
            lane = int(np.argmin(same.reshape(THREADS, -1).all(axis=1)))
            given = [hex(int(i.reshape(-1, THREADS)[n, lane])) for i in inputs]
            got = (hex(int(engine[n, lane])), hex(int(reference[n, lane])))
            wrong.append(f"{form.text} on {given}: engine {got[0]}, reference {got[1]}")
    assert not wrong, "\n".join(wrong)
