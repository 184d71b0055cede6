"""An instruction without a known meaning does no harm until an address or branch needs its result.

The meaning of an opcode is taken away. Were the rule too strict, kernels that could be traced would
be refused; were it too lax, addresses would be made up.
"""

from __future__ import annotations

import pytest
from tests.execution.machine_code import compile_together, kernels
from tests.tracing import by_warp, traced

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.errors import UnsupportedError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.ir import Array, Fill, Kernel, Launch
from kernelcast.isas.sass.meaning import MEANINGS

ARCHITECTURES = ("sm_75", "sm_90", "sm_120")
WORDS = Array("f32", (64,))
PLACES = Array("s32", (64,), Fill("arange"))

HEAD = 'extern "C" __global__ void k(int* idx, float* a, float* out) {\n  int t = threadIdx.x;\n'

STORED_ELSEWHERE = {
    "another array": "out[idx[t]] = a[t] * 1.5f; out[idx[t + 1]] = 2.0f;",
    "by way of shared memory": """
        __shared__ float tile[64];
        tile[t] = a[t] * 1.5f;
        __syncthreads();
        out[idx[t]] = tile[t ^ 1];
        __syncthreads();
        out[idx[t + 1]] = 2.0f;""",
    "in a loop over several arrays": """
        for (int i = 0; idx[i] < 20; i++) {
          out[idx[i] + t] = a[i] * 1.5f;
          a[idx[t]] = 1.0f;
        }""",
}
"""What is loaded for addresses and branches, and what is unknown, lie in different arrays."""

REACHES = {
    "an address": "float x = a[t] * 1.5f;\n  out[(int)x] = 2.0f;",
    "a branch": "float x = a[t] * 1.5f;\n  if (x < 1.0f) { __syncthreads(); out[t] = idx[t]; }",
    "an address by way of its array": "idx[t + 1] = (int)(a[t] * 1.5f);\n  out[idx[t]] = 2.0f;",
}


def source(body: str) -> str:
    return f"{HEAD}  {body}\n}}"


compile_together(map(source, (STORED_ELSEWHERE | REACHES).values()), *ARCHITECTURES)


def machine_kernel(body: str, architecture: str, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    monkeypatch.delitem(MEANINGS, "FMUL")
    _, machine = kernels(source(body), architecture)
    assert any(i.opcode == "FMUL" for i in machine.instructions)
    return machine


def launch() -> Launch:
    return Launch((1, 1, 1), (32, 1, 1), {"idx": PLACES, "a": WORDS, "out": WORDS})


@pytest.mark.parametrize("body", STORED_ELSEWHERE.values(), ids=STORED_ELSEWHERE)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_is_stored_where_no_address_comes_from_does_no_harm(
    body: str, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, whole = kernels(source(body), architecture)
    expected = traced(whole, launch(), Memory.build(whole, launch()))
    kernel = machine_kernel(body, architecture, monkeypatch)
    memory = Memory.build(kernel, launch())
    needed = needed_for_trace(kernel, pointers=memory.pointers(kernel))
    assert not needed_for_trace(kernel).in_full <= needed.in_full, "arrays make no difference"
    trace = traced(kernel, launch(), memory, needed=needed)
    assert by_warp(trace.records()) == by_warp(expected.records())


@pytest.mark.parametrize("body", REACHES.values(), ids=REACHES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_reaches_an_address_or_a_branch_is_refused_by_name(
    body: str, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = machine_kernel(body, architecture, monkeypatch)
    memory = Memory.build(kernel, launch())
    needed = needed_for_trace(kernel, pointers=memory.pointers(kernel))
    with pytest.raises(UnsupportedError) as refused:
        execute(kernel, launch(), memory, needed=needed)
    place, what = refused.value.where, refused.value.what
    assert "test.cu:3, SASS line" in place
    assert "FMUL is not supported" in what
    assert "test.cu:4, SASS line" in what, "who needs it"
