"""Conversions to and from floats of eight bits, in PTX and in machine code, by both executors: the
numbers are those of the formats' definitions, written down here once more."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.execution.machine_code import compile_together, image, kernels

from kernelcast.execution.memory import Memory
from kernelcast.ir import Array, Launch

ARCHITECTURES = ("sm_89", "sm_90", "sm_120")
FORMATS = ("e4m3", "e5m2")
NAN = 0x7F
BYTES = np.arange(256)

DECODE = """
extern "C" __global__ void k(const unsigned short *x, unsigned *y) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm("cvt.rn.f16x2.{0}x2 %0, %1;" : "=r"(y[i]) : "h"(x[i]));
}}
"""
ENCODE = """
extern "C" __global__ void k(const float *x, unsigned short *y) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm("cvt.rn.satfinite.{0}x2.f32 %0, %1, %2;" : "=h"(y[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
}}
"""
ENCODE_HALVES = """
extern "C" __global__ void k(const unsigned *x, unsigned short *y) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm("cvt.rn.satfinite.{0}x2.f16x2 %0, %1;" : "=h"(y[i]) : "r"(x[i]));
}}
"""
MERGE = """
extern "C" __global__ void k(const float *x, unsigned *y) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned short low, high;
  asm("cvt.rn.satfinite.{0}x2.f32 %0, %1, %2;" : "=h"(low) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
  asm("cvt.rn.satfinite.{0}x2.f32 %0, %1, %2;" : "=h"(high) : "f"(x[2 * i]), "f"(x[2 * i + 1]));
  y[i] = low | high << 16;
}}
"""


def numbers(name: str) -> NDArray[np.float64]:
    """What the 256 bytes stand for."""
    mantissa_bits, bias = (3, 7) if name == "e4m3" else (2, 15)
    exponent, mantissa = (BYTES & 0x7F) >> mantissa_bits, BYTES & (1 << mantissa_bits) - 1
    part = mantissa / (1 << mantissa_bits)
    small = part * 2.0 ** (1 - bias)
    size = np.where(exponent, (1 + part) * 2.0 ** (exponent - bias), small)
    if name == "e4m3":
        size[BYTES & 0x7F == 0x7F] = np.nan
    else:
        size[BYTES & 0x7F == 0x7C] = np.inf
        size[BYTES & 0x7F > 0x7C] = np.nan
    return np.where(BYTES & 0x80, -size, size)


def nearest(values: NDArray[np.float32], name: str) -> NDArray[np.uint8]:
    """The byte of the nearest number, an even one of two; the largest where it is too large."""
    table = numbers(name)[:128]
    (finite,) = np.nonzero(np.isfinite(table))
    with np.errstate(invalid="ignore"):  # NaN that signals
        sizes = np.abs(values.astype(np.float64))
    above = np.clip(np.searchsorted(table[finite], sizes), 1, len(finite) - 1)
    low, high = table[above - 1], table[above]
    middle = (low + high) / 2
    is_high = (sizes > middle) | ((sizes == middle) & (above % 2 == 0))
    found = np.where(is_high, above, above - 1) | np.signbit(values) * 0x80
    return np.where(np.isnan(values), NAN, found).astype(np.uint8)


def halves() -> NDArray[np.float32]:
    """All numbers of half precision, in the order of their bits."""
    with np.errstate(invalid="ignore"):  # NaN that signals
        return np.arange(1 << 16).astype(np.uint16).view(np.float16).astype(np.float32)


def floats() -> NDArray[np.float32]:
    """All numbers of half precision, numbers midway between two of each format, and any others."""
    tables = [numbers(name)[:128] for name in FORMATS]
    middles = np.concatenate([(t[1:] + t[:-1]) / 2 for t in tables]).astype(np.float32)
    beside = [np.nextafter(middles, np.float32(to)) for to in (0, np.inf)]
    words = np.random.default_rng(1).integers(0, 1 << 32, 1 << 14, np.uint32).view(np.float32)
    found = np.concatenate([halves(), middles, -middles, *beside, words])
    return np.resize(found, -(-len(found) // 512) * 512)


def results(source: str, inputs: NDArray[np.generic], output: str, architecture: str):
    """What PTX leaves and what machine code does, by both executors."""
    per_thread = 2 if inputs.dtype == np.float32 else 1
    threads = inputs.size // per_thread
    type = {"float32": "f32", "uint16": "u16", "uint32": "u32"}[inputs.dtype.name]
    args = {"x": Array(type, (inputs.size,)), "y": Array(output, (threads,))}
    launch = Launch(threads // 256, 256, args)

    def fill(memory: Memory) -> None:
        memory.array("x")[:] = inputs

    for kernel in kernels(source, architecture):
        for executor in ("engine", "reference"):
            data = image(kernel, launch, executor, fill)["y"]
            yield np.frombuffer(data, output.replace("u16", "u2").replace("u32", "u4"))


@pytest.fixture(autouse=True, scope="module")
def _compiled():
    texts = (DECODE, ENCODE, ENCODE_HALVES, MERGE)
    sources = [text.format(name) for text in texts for name in FORMATS]
    compile_together(sources, *ARCHITECTURES)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", FORMATS)
def test_every_byte_becomes_its_half(name, architecture):
    pairs = (BYTES | np.roll(BYTES, 7) << 8).astype(np.uint16)
    expected = numbers(name).astype(np.float16)
    for found in results(DECODE.format(name), pairs, "u32", architecture):
        low, high = found.view(np.float16).reshape(-1, 2).T
        np.testing.assert_array_equal(low, expected)
        np.testing.assert_array_equal(high, np.roll(expected, 7))
        np.testing.assert_array_equal(np.signbit(low), np.signbit(expected) & ~np.isnan(expected))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", FORMATS)
def test_floats_become_the_nearest_byte(name, architecture):
    values = floats()
    expected = nearest(values, name).view(np.uint16)
    for found in results(ENCODE.format(name), values, "u16", architecture):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", FORMATS)
def test_halves_become_the_nearest_byte(name, architecture):
    words = np.arange(1 << 16).astype(np.uint16).view(np.uint32)
    expected = nearest(halves(), name).view(np.uint16)
    for found in results(ENCODE_HALVES.format(name), words, "u16", architecture):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", FORMATS)
def test_a_pair_of_bytes_stands_above_another(name, architecture):
    values = floats()[-1024:]
    low, high = nearest(values, name).reshape(-1, 2).astype(np.uint32).T
    expected = low | high << 8 | high << 16 | low << 24
    for found in results(MERGE.format(name), values, "u32", architecture):
        np.testing.assert_array_equal(found, expected)
