"""Small kernels around the instructions under test, and samples that NVRTC wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernelcast.ir import Instruction, Kernel
from kernelcast.isas.ptx import PtxModule, parse_ptx

_TEMPLATE = """.version 8.0
.target sm_80
.address_size 64
{top}
.visible .entry k({parameters})
{{
.reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<19>; .reg .b64 %rd<19>; {floats}
{body}
}}
"""

_FLOATS = ".reg .f32 %f<9>; .reg .f64 %fd<9>;"

BuildKernel = Callable[..., Kernel]
ReadInstruction = Callable[[str], Instruction]


@pytest.fixture
def build() -> BuildKernel:
    """Make a kernel `k` of statements; the first one stands on line 8 where `top` is one line."""

    def make(body: str, parameters: str = "", top: str = "") -> Kernel:
        text = _TEMPLATE.format(body=body, floats=_FLOATS, parameters=parameters, top=top)
        return parse_ptx(text, "test.ptx").kernel("k", source="test.cu")

    return make


@pytest.fixture
def one(build: BuildKernel) -> ReadInstruction:
    """Read one instruction; `array` is a global variable, `parameter` the kernel's parameter."""

    def read(text: str) -> Instruction:
        kernel = build(text, ".param .u64 parameter", ".global .b8 array[64];")
        return kernel.instructions[0]

    return read


@pytest.fixture(params=["sm75", "sm120"])
def sample(request: pytest.FixtureRequest) -> PtxModule:
    """The module of samples/calls.cu, in the styles of NVRTC's older and newer back ends."""
    path = Path(__file__).parent / "samples" / f"calls_{request.param}.ptx"
    return parse_ptx(path.read_text(), path.name)
