"""A run can be followed again and again: memory is put back."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.errors import LaunchError, MemoryFaultError
from kernelcast.execution import run as run_module
from kernelcast.execution.blocks import all_blocks, these_blocks
from kernelcast.execution.consumers import Keep
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.ir import Array, Fill, Kernel, Launch
from kernelcast.isas.ptx import parse_ptx


def kernel_of(body: str) -> Kernel:
    text = f""".version 8.5
.target sm_90
.address_size 64
.visible .global .u32 counter;
.visible .entry k(.param .u64 to, .param .u64 from) {{
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<8>;
mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; ld.param.u64 %rd0, [to]; ld.param.u64 %rd2, [from];
add.s64 %rd3, %rd0, %rd1; add.s64 %rd4, %rd2, %rd1;
{body}
ret;
}}"""
    return parse_ptx(text).kernel("k")


ROUNDS = """ld.global.u32 %r1, [%rd3];
AGAIN: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 20; @%p1 bra AGAIN;
st.global.u32 [%rd3], %r1; red.global.add.u32 [counter], 1;"""
"""The more has been added before, the fewer rounds are left."""


def run_of(body: str, blocks: int = 3) -> Run:
    kernel = kernel_of(body)
    arrays = {name: Array("u32", (32,), Fill("arange")) for name in ("to", "from")}
    launch = Launch((blocks, 1, 1), (32, 1, 1), arrays)
    return Run(kernel, launch, Memory.build(kernel, launch), all_blocks(blocks))


def test_it_is_the_same_every_time() -> None:
    run = run_of(ROUNDS)
    before = run.memory.image()
    seen = [Keep(), Keep(), Keep()]
    assert run.follow(*seen[:2]).executor == "engine"
    assert run.memory.image() == before
    run.follow(seen[2])
    assert run.memory.image() == before
    assert seen[0].words.size > 50
    for one in seen[1:]:
        assert np.array_equal(one.words, seen[0].words)


def test_executing_it_leaves_what_it_does() -> None:
    run = run_of(ROUNDS)
    first, second = Keep(), Keep()
    run.execute(first)
    assert run.memory.array("to").tolist() == [max(20, t + 1) + 2 for t in range(32)]
    assert run.memory.bytes_at(run.memory.symbols["counter"], 4).view(np.uint32)[0] == 96
    run.execute(second)
    assert second.words.size < first.words.size


def test_memory_is_put_back_after_an_error() -> None:
    run = run_of("st.global.u32 [%rd3], 77; st.global.u32 [%rd3+64], 1;")
    before = run.memory.image()
    with pytest.raises(MemoryFaultError):
        run.follow(Keep())
    assert run.memory.image() == before


def test_only_what_may_change_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "MOST_SAVED_BYTES", 4 * 32)
    run = run_of("ld.global.u32 %r1, [%rd4]; st.global.u32 [%rd3], %r1;")
    run.follow(Keep())
    both = run_of("ld.global.u32 %r1, [%rd4]; st.global.u32 [%rd3], %r1; st.global.u32 [%rd4], 1;")
    with pytest.raises(LaunchError, match=r"kernel k.*writes arrays of 0 MiB"):
        both.follow(Keep())
    monkeypatch.setattr(run_module, "MOST_SAVED_BYTES", 0)
    traced = Run(
        both.kernel,
        both.launch,
        both.memory,
        both.blocks,
        needed_for_trace(both.kernel),
    )
    traced.follow(Keep())
    assert both.memory.array("from").tolist() == list(range(32)), "of its trace, no store is part"


def test_other_blocks_of_the_same_launch() -> None:
    run = run_of("st.global.u32 [%rd3], 1;", blocks=8)
    done = run.over(these_blocks(8, [5, 2])).execute()
    assert done.blocks == (2, 5)
    assert done.warp_instructions * 4 == run.execute().warp_instructions


def test_what_was_followed_is_given_back_at_once() -> None:
    """Memory reserves 1 TiB of addresses: they cannot wait until Python looks for cycles."""
    run = run_of(ROUNDS)
    run.follow(Keep())
    memory = weakref.ref(run.memory)
    gc.disable()
    try:
        del run
        assert memory() is None
    finally:
        gc.enable()
