"""Exports of compiled kernels against a strict reader: they hold nothing that stops Accel-Sim, and
all addresses of the words that they are made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.execution.machine_code import kernels
from tests.traces.accel_sim_rules import read_strictly
from tests.traces.machine_code import HEAD, stream

from kernelcast.execution.consumers import Keep
from kernelcast.execution.trace import RecordKind, decode
from kernelcast.forecasting.runs import head_of, run_of_last
from kernelcast.ir import Array, Fill, Launch, Space
from kernelcast.profiling.run import Sampling
from kernelcast.profiling.stored import profile_of
from kernelcast.traces.accel_sim.export import export_trace
from kernelcast.traces.open import open_trace

# Early and late ends under guards, loops, divergence, accesses of 1 to 16 bytes to all spaces,
# atomics, barriers with a number and a count, and from sm_80 on copies past the registers.
SOURCE = """
extern "C" __global__ void mixed(float* y, const float4* x, const double* d,
                                 unsigned long long* counters, int* bins, int n) {
  extern __shared__ float tile[];
  int tid = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int threads = blockDim.x * blockDim.y * blockDim.z;
  int i = (blockIdx.x + gridDim.x * blockIdx.y) * threads + tid;
  if (i >= n) return;
  float own[24];
  for (int k = 0; k < 24; k++) own[(k * 7 + tid) % 24] = k + tid;
  ((float4*)tile)[tid] = x[i];
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::
      "r"((unsigned)__cvta_generic_to_shared(tile + 4 * tid)), "l"(x + i));
  asm volatile("cp.async.wait_all;");
#endif
  if (tid < 64) asm volatile("bar.sync 1, 64;");
  float* either = tid & 1 ? tile + tid : y + i;
  asm volatile("" : "+l"(either));
  float sum = *either;
  for (int k = 0; k < i % 7; k++) sum = sum * sum + own[(k + tid) % 24];
  if (i % 3 == 0) atomicAdd(counters + (i & 7), (unsigned long long)i);
  atomicAdd((int*)tile + (tid & 15), atomicAdd(bins + (tid & 3), 1));
  if (tid & 2) { y[i] = sum + (float)d[i]; return; }
  unsigned char c = ((unsigned char*)y)[4 * i + 1];
  if (c > 3) ((short*)y)[2 * i] = c;
}
"""
THREADS, BLOCKS = 160, 4
LAUNCH = Launch(
    (2, 2, 1),
    (8, 4, 5),
    {
        "y": Array("f32", (THREADS * BLOCKS,), Fill("random", (1.0,))),
        "x": Array("f32", (4 * THREADS * BLOCKS,), Fill("random", (2.0,))),
        "d": Array("f64", (THREADS * BLOCKS,), Fill("random", (3.0,))),
        "counters": Array("u64", (8,)),
        "bins": Array("s32", (4,)),
        "n": 600,
    },
    smem_bytes=16 * THREADS,
)
SEEN = {Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC}


@pytest.mark.parametrize(
    ("target", "version"),
    [("sm_75", 75), ("sm_80", 80), ("sm_89", 86), ("sm_90", 90), ("sm_120", 90)],
)
def test_what_is_exported_is_accepted_and_whole(tmp_path: Path, target, version):
    _, kernel = kernels(SOURCE, target)
    run = run_of_last([(kernel, LAUNCH)], sampling=Sampling(exact=True))
    wanted, lines = 0, 0
    remarks: list[str] = []
    parts = {
        after.index
        for before, after in zip(kernel.instructions, kernel.instructions[1:], strict=False)
        if before.code_offset == after.code_offset
    }
    keep = Keep()
    with export_trace(tmp_path / "t", head_of(run), remarks.append) as writer:
        run.execute(writer, keep)
    for record in decode(keep.words):
        if record.kind is RecordKind.BLOCK:
            block = kernel.blocks[record.id]
            lines += len(set(range(block.start, block.end)) - parts)
        elif kernel.instructions[record.id].space in SEEN and record.id not in parts:
            wanted += sum(a for n, a in enumerate(record.addresses) if record.mask >> n & 1)
    trace = read_strictly(tmp_path / "t")
    assert trace.addresses == wanted
    assert trace.head["binary version"] == str(version)
    assert len(trace.copies) == 3  # what starts as zeros is copied nowhere
    assert trace.lines == lines
    assert profile_of(open_trace(tmp_path / "t" / "kernelslist.g")).total.warp == trace.lines
    assert bool(remarks) == (target in {"sm_89", "sm_120"})


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "", ""),
        ("version = 80", "version = 89", "unsupported binary version"),
        (" FADD ", " FADDX ", "undefined instruction: FADDX"),
        ("0080 0000ffff 0 EXIT", "0080 00007fff 0 EXIT", "lanes 8000 never end"),
        ("0060 0000ffff 1 R9 LD.E", "0060 0001ffff 1 R9 LD.E", "lanes that are not there"),
        ("LD.E 1 R2 4 1 0x100000010 4 0", "LD.E 1 R2 0 0", "no width"),
        ("(2,2,1)", "(2,1,1)", "more blocks than the grid has"),
    ],
)
def test_the_reader_is_strict(tmp_path: Path, old, new, told):
    with export_trace(tmp_path / "t", HEAD) as writer:
        writer.consume(stream())
    path = tmp_path / "t" / "kernel-1.traceg"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    if not told:
        assert read_strictly(tmp_path / "t").lines == 4 * 2 * 13
        return
    with pytest.raises(AssertionError, match=told):
        read_strictly(tmp_path / "t")
