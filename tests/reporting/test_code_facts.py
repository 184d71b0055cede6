"""What `explain` says of code alone: arrays, addresses, parallelism."""

from __future__ import annotations

import pytest

import kernelcast as kc
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.ir import Space
from kernelcast.machines.loader import load_machine
from kernelcast.reporting.documents.code_facts import (
    accesses_by_code,
    code_facts,
    requests_by_code,
)

TRANSPOSE = """/* kernelcast
[[launch]]
grid = [2, 64]
block = 32
args = { n = 64, x = "f32[4096]", y = "f32[4096]" }
*/
extern "C" __global__ void naive(int n, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y;
    y[i * n + k] = x[k * n + i];
}
"""


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_a_transpose_by_code_alone(tmp_path, isa):
    """Rows are read, a sector for eight lanes, and columns written, each lane to its own."""
    file = tmp_path / "naive.cu"
    file.write_text(TRANSPOSE)
    work = kc.workload(file)
    (case,) = cases_of_workload(work, [load_machine("a100-sxm-80gb")], build=Build(isa=isa))
    accesses = accesses_by_code(case.profile)
    facts = code_facts(case.profile, accesses)
    assert (facts.reads, facts.writes) == ({"x": 16384}, {"y": 16384})
    assert (facts.evaluated, facts.accesses) == (2, 2)
    assert not facts.unknown_sizes and not facts.may_lead_anywhere
    assert facts.ilp >= 1
    assert sorted(requests_by_code(a, Space.GLOBAL) or 0 for a in accesses.values()) == [4, 32]
    assert all(requests_by_code(a, Space.SHARED) is None for a in accesses.values())
