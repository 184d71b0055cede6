"""Small PTX kernels around a body, run by the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.memory import Memory
from kernelcast.execution.reference import run_reference
from kernelcast.execution.trace import TraceRecord, decode
from kernelcast.ir import Array, Dim3, Kernel, Launch
from kernelcast.isas.ptx.reader import parse_ptx

_HEAD = """
.version 8.8
.target sm_90
.address_size 64
{module}
.visible .entry k(.param .u64 .ptr .global in, .param .u64 .ptr .global out, .param .u32 n)
{{
    .reg .b16 %h<8>;
    .reg .b32 %r<32>;
    .reg .b64 %l<16>;
    .reg .f32 %f<8>;
    .reg .f64 %d<8>;
    .reg .pred %p<8>;
    {declarations}
    ld.param.u64 %l0, [in];
    ld.param.u64 %l1, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %l2, %r0, 4;
    add.s64 %l2, %l1, %l2;
"""
"""%l0 and %l1 are the arrays, %r0 the thread, %l2 the address of the thread's word of `out`."""

_TAIL = """
    ret;
}
"""


@dataclass(frozen=True)
class Result:
    """What a run left behind."""

    kernel: Kernel
    memory: Memory
    records: list[TraceRecord]
    warp_instructions: int
    thread_instructions: int

    @property
    def out(self) -> NDArray[np.uint32]:
        return self.memory.array("out")

    def words(self) -> list[int]:
        """The array `out`."""
        return [int(w) for w in self.out]


def kernel_of(body: str, *, declarations: str = "", module: str = "") -> Kernel:
    """The kernel with this body, between loads of its parameters and its end."""
    head = _HEAD.format(declarations=declarations, module=module)
    return parse_ptx(head + body + _TAIL, "test.ptx").kernel()


def run(
    body: str,
    *,
    threads: int | Dim3 = 32,
    blocks: int | Dim3 = 1,
    words: list[int] | None = None,
    out_words: int = 64,
    declarations: str = "",
    module: str = "",
    smem_bytes: int = 0,
    budget: int = 100_000,
    n: int = 0,
) -> Result:
    """Run a body; `words` starts the array `in`."""
    kernel = kernel_of(body, declarations=declarations, module=module)
    given = words or list(range(64))
    launch = Launch(
        blocks if isinstance(blocks, tuple) else (blocks, 1, 1),
        threads if isinstance(threads, tuple) else (threads, 1, 1),
        {"in": Array("u32", (len(given),)), "out": Array("u32", (out_words,)), "n": n},
        smem_bytes=smem_bytes,
    )
    memory = Memory.build(kernel, launch)
    memory.array("in")[:] = np.array(given, np.uint32)
    trace, warps, lanes = run_reference(kernel, launch, memory, range(launch.blocks), budget=budget)
    return Result(kernel, memory, list(decode(trace)), warps, lanes)
