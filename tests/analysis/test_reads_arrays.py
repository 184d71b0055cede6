"""Whether a trace depends on what arrays hold, and what is made of arrays where it does not."""

from __future__ import annotations

import pytest
from tests.execution.machine_code import compile_together, kernel_in
from tests.tracing import by_warp, traced

from kernelcast.analysis.slicing import needed_for_trace, reads_arrays
from kernelcast.execution.memory import Memory
from kernelcast.ir import Array, Fill, Launch

HEAD = 'extern "C" __global__ void k(int* a, int* b, int n) { int t = threadIdx.x;'
BODIES = {
    "b[t] = a[t] * n;": False,
    "__shared__ int s[64]; s[t] = a[t]; __syncthreads(); b[t] = s[63 - t];": False,
    "for (int i = t; i < n; i += 64) atomicAdd(&b[i & 63], a[i & 63]);": False,
    "b[a[t] & 63] = n;": True,
    "if (a[t] > 0) b[t] = n;": True,
    "if (atomicAdd(b, 1) == n) b[1] = n;": True,
    "b[__ldg(a + t) & 63] = n;": True,
    "__shared__ int s[64]; s[t] = a[t]; __syncthreads(); b[s[63 - t] & 63] = n;": True,
}
SOURCES = {f"{HEAD}{body}}}": reads for body, reads in BODIES.items()}
ISAS = ("ptx of sm_90", "sass of sm_75", "sass of sm_120")
for isa in ISAS:
    compile_together(SOURCES, isa.partition(" of ")[2])

RANDOM = Array("s32", (64,), Fill("random", (3,)))
LAUNCH = Launch((2, 1, 1), (64, 1, 1), {"a": RANDOM, "b": RANDOM, "n": 100})


@pytest.mark.parametrize(("source", "reads"), SOURCES.items(), ids=BODIES)
@pytest.mark.parametrize("isa", ISAS)
def test_addresses_and_branches_depend_on_what_is_loaded_or_not(
    isa: str, source: str, reads: bool
) -> None:
    kernel = kernel_in(source, isa)
    needed = needed_for_trace(kernel)
    assert reads_arrays(kernel, needed) is reads
    if not reads:
        zeros, random = (Memory.build(kernel, LAUNCH, is_read=r) for r in (False, True))
        one, other = (traced(kernel, LAUNCH, memory) for memory in (zeros, random))
        assert by_warp(one.records()) == by_warp(other.records())


def test_only_what_is_random_is_left_out() -> None:
    """Other fills may be wrong, which is to be said."""
    counted = Array("s32", (64,), Fill("arange"))
    kernel = kernel_in(next(iter(SOURCES)), "ptx of sm_90")
    launch = Launch((1, 1, 1), (64, 1, 1), {"a": RANDOM, "b": counted, "n": 1})
    memory = Memory.build(kernel, launch, is_read=False)
    assert not memory.array("a").any()
    assert memory.array("b").tolist() == list(range(64))
