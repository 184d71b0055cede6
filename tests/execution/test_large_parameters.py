"""Parameters of more than 4 KiB: where they lie, and that no read leaves them."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcast.errors import ExecutionError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.loading import load_bytes
from kernelcast.ir import Array, Fill, Launch
from tests.kept import CACHE

THREADS = 64
SOURCE = """
struct Values {{ int of[{count}]; }};
extern "C" __global__ void k(const __grid_constant__ Values values, int* found, int step) {{
    found[threadIdx.x] = values.of[threadIdx.x * step];
}}
"""


@pytest.mark.parametrize("architecture", ["sm_75", "sm_86", "sm_90", "sm_100"])
@pytest.mark.parametrize("count", [1000, 1100, 8000])
def test_every_word_is_where_code_looks_for_it(architecture: str, count: int) -> None:
    """Those behind 4 KiB have a place of their own, and from 32 KiB on of the bank code names it by
    an offset that is printed as if it were negative."""
    step = (count - 1) // (THREADS - 1)
    memory = run(architecture, count, step)
    assert memory.array("found").tolist() == [at * step for at in range(THREADS)]


@pytest.mark.parametrize("architecture", ["sm_86", "sm_90"])
def test_what_lies_behind_them_is_not_read(architecture: str) -> None:
    with pytest.raises(ExecutionError, match="outside"):
        run(architecture, 8000, 200)


def run(architecture: str, count: int, step: int) -> Memory:
    source = SOURCE.format(count=count).encode()
    module = load_bytes(source, name="k.cu", architecture=architecture, cache=CACHE)
    kernel = module.machine_kernel()
    values = Array("s32", (count,), Fill("arange", ()))
    launch = Launch(1, THREADS, {"values": values, "found": Array("s32", (THREADS,)), "step": step})
    memory = Memory.build(kernel, launch)
    execute(kernel, launch, memory)
    assert memory.array("found").dtype == np.int32
    return memory


@pytest.mark.parametrize("offset", [-400, -4, 6, 8, 1 << 20])
def test_a_place_outside_the_parameters_is_not_read(offset: int) -> None:
    """That of a constant, which is known while code is made, as any other."""
    text = f"""
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry k(.param .u64 found) {{
        .reg .b32 %r<2>; .reg .b64 %d<2>;
        ld.param.u64 %d1, [found];
        ld.param.u32 %r1, [found+{offset}];
        st.global.u32 [%d1], %r1;
        ret;
        }}
    """
    kernel = load_bytes(text.encode(), name="k.ptx", cache=CACHE).kernel()
    launch = Launch(1, 1, {"found": Array("u32", (1,))})
    with pytest.raises(ExecutionError, match="outside the kernel's parameters"):
        execute(kernel, launch, Memory.build(kernel, launch))
