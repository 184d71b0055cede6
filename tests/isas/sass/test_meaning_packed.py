"""Arithmetic on bytes and halves that share a register, and what PTX has only in forms that the
executors do not know: against the definitions of CUDA's intrinsics in plain Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.execution.machine_code import ARCHITECTURES
from tests.isas.sass.integer_kernels import THREADS, fill, launch, source
from tests.kept import CACHE

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cubin import read_cubin
from kernelcast.frontends.machine_kernel import machine_kernel
from kernelcast.ir import Kernel
from kernelcast.toolchain.nvrtc import compile_cuda

Definition = Callable[[int, int, int], int]


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (value >> (bits - 1) << bits)


def parts(width: int, function: Callable[..., int]) -> Definition:
    """A function of fields of that width, field by field."""

    def whole(x: int, y: int, z: int) -> int:
        fields = (
            function(*(w >> at & (1 << width) - 1 for w in (x, y, z))) & (1 << width) - 1
            for at in range(0, 32, width)
        )
        return sum(field << width * n for n, field in enumerate(fields))

    return whole


def halves(function: Callable[..., int]) -> Definition:
    """A function of signed halves."""
    return parts(16, lambda *h: function(*(signed(part, 16) for part in h)))


LOGIC = (
    "{{.reg .pred p,q; setp.lt.s32 q,%1,%2; "
    "lop3.{join}.b32 %0|p,%1,%2,%3,{table},q; @p add.u32 %0,%0,1;}}"
)
"""PTX: any function of three bits, plus one where it is not zero (and, or) x < y."""

DEFINITIONS: dict[str, Definition] = {
    "__viaddmax_s32(x, y, z)": lambda x, y, z: max(signed(x + y), signed(z)),
    "__viaddmin_u32(x, y, z)": lambda x, y, z: min(x + y & 0xFFFFFFFF, z),
    "__viaddmax_s32_relu(x, y, z)": lambda x, y, z: max(signed(x + y), signed(z), 0),
    "__vimax3_s32(x, y, z)": lambda x, y, z: max(signed(x), signed(y), signed(z)),
    "__vimin3_u32(x, y, z)": min,
    "__vimin3_s32_relu(x, y, z)": lambda x, y, z: max(min(map(signed, (x, y, z))), 0),
    "__vimax_s32_relu(x, y)": lambda x, y, z: max(signed(x), signed(y), 0),
    "__vimin_s32_relu(x, y)": lambda x, y, z: max(min(signed(x), signed(y)), 0),
    "__viaddmax_s16x2(x, y, z)": halves(lambda a, b, c: max(signed(a + b, 16), c)),
    "__viaddmin_s16x2_relu(x, y, z)": halves(lambda a, b, c: max(min(signed(a + b, 16), c), 0)),
    "__viaddmax_u16x2(x, y, z)": parts(16, lambda a, b, c: max(a + b & 0xFFFF, c)),
    "__vimax3_s16x2(x, y, z)": halves(max),
    "__vimin3_u16x2(x, y, z)": parts(16, min),
    "__vimin3_s16x2_relu(x, y, z)": halves(lambda a, b, c: max(min(a, b, c), 0)),
    "__vimax_s16x2_relu(x, y)": halves(lambda a, b, c: max(a, b, 0)),
    "(r = __vibmax_s16x2(x, y, &high, &low), r * 4 + high * 2 + low)": lambda x, y, z: (
        halves(lambda a, b, c: max(a, b))(x, y, z) * 4
        + (signed(x >> 16, 16) >= signed(y >> 16, 16)) * 2
        + (signed(x, 16) >= signed(y, 16))
    ),
    "(r = __vibmin_u16x2(x, y, &high, &low), r * 4 + high * 2 + low)": lambda x, y, z: (
        parts(16, lambda a, b, c: min(a, b))(x, y, z) * 4
        + (x >> 16 <= y >> 16) * 2
        + (x & 0xFFFF <= y & 0xFFFF)
    ),
    "__vadd2(x, y)": parts(16, lambda a, b, c: a + b),
    "__vsub2(x, y)": parts(16, lambda a, b, c: a - b),
    "__vneg2(x)": parts(16, lambda a, b, c: -a),
    "__vadd4(x, y)": parts(8, lambda a, b, c: a + b),
    "__vsub4(x, y)": parts(8, lambda a, b, c: a - b),
    "__vmaxs2(x, y)": halves(lambda a, b, c: max(a, b)),
    "__vminu2(x, y)": parts(16, lambda a, b, c: min(a, b)),
    "__vmaxu4(x, y)": parts(8, lambda a, b, c: max(a, b)),
    "__vminu4(x, y)": parts(8, lambda a, b, c: min(a, b)),
    "__vabsdiffu4(x, y)": parts(8, lambda a, b, c: abs(a - b)),
    "__vsadu4(x, y) + z": lambda x, y, z: (
        z + sum(abs((x >> at & 0xFF) - (y >> at & 0xFF)) for at in range(0, 32, 8))
    ),
    "__dp4a(x, y, z)": lambda x, y, z: (
        z + sum((x >> at & 0xFF) * (y >> at & 0xFF) for at in range(0, 32, 8))
    ),
    "__dp2a_hi(x, y, z)": lambda x, y, z: (
        z + (x & 0xFFFF) * (y >> 16 & 0xFF) + (x >> 16) * (y >> 24)
    ),
    LOGIC.format(join="and", table=0x96): (
        lambda x, y, z: (x ^ y ^ z) + ((x ^ y ^ z) != 0 and signed(x) < signed(y))
    ),
    LOGIC.format(join="or", table=0xC8): (
        lambda x, y, z: (y & (x | z)) + ((y & (x | z)) != 0 or signed(x) < signed(y))
    ),
}  # fmt: skip


def made(architecture: str) -> Kernel:
    text = source(tuple(DEFINITIONS), before="  bool high, low; unsigned r;")
    compiled = compile_cuda(text, name="test.cu", architecture=architecture, cache=CACHE)
    cubin = read_cubin(compiled.cubin, name="test.cu")
    return machine_kernel(compiled.cubin, cubin, "k", name="test.cu", cache=CACHE)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_packed_arithmetic_does_what_the_intrinsics_say(architecture):
    kernel, where = made(architecture), launch(tuple(DEFINITIONS))
    memory = Memory.build(kernel, where)
    fill(memory)
    execute(kernel, where, memory)
    x, y, z = (memory.array(name).tolist() for name in "abc")
    results = memory.array("o").reshape(-1, THREADS)
    for (text, definition), found in zip(DEFINITIONS.items(), results, strict=True):
        expected = [definition(*lane) & 0xFFFFFFFF for lane in zip(x, y, z, strict=True)]
        assert found.tolist() == expected, text
