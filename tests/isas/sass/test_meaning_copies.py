"""Copies: asynchronous ones, also in PTX, and those of matrices, against NumPy.

The oracle is what the PTX manual says they do, written with NumPy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.execution.machine_code import compile_together, kernel_in
from tests.tracing import Trace, traced

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.errors import UnsupportedError
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import RecordKind
from kernelcast.ir import Array, Kernel, Launch, Space

Words = NDArray[np.uint32]

EXECUTORS = ("engine", "reference")
COPYING = ("sm_80", "sm_90", "sm_120")
"""A chip of every generation that has `cp.async`."""
STORING = ("sm_90", "sm_100", "sm_120")
"""Chips that have `stmatrix`."""
ISAS = ("ptx of sm_80", *(f"sass of {a}" for a in COPYING))
COPIES = ("cp", "LDGSTS")
"""What PTX and machine code call it."""

HEAD = """
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
"""

COPY = (
    HEAD
    + """
extern "C" __global__ void k(unsigned* in, unsigned* out, int* sizes, int whole) {
  __shared__ __align__(16) unsigned s[128];
  int t = threadIdx.x;
  for (int i = 0; i < 4; i++) s[4 * t + i] = 0xdeadbeef;
  __syncthreads();
  unsigned to = shared_address(&s[4 * t]);
  BODY
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < 4; i++) out[4 * t + i] = s[4 * t + i];
}
"""
)

MATRICES = (
    HEAD
    + """
extern "C" __global__ void k(unsigned* in, unsigned* out, int row_bytes) {
  extern __shared__ __align__(16) unsigned char s[];
  int t = threadIdx.x;
  for (int i = 0; i < 4; i++)
    *(unsigned*)(s + (8 * (t / 8) + t % 8) * row_bytes + 4 * i) = in[4 * t + i];
  __syncthreads();
  unsigned at = shared_address(s + t * row_bytes);
  unsigned r0 = 0, r1 = 0, r2 = 0, r3 = 0;
  BODY
  out[t] = r0; out[32 + t] = r1; out[64 + t] = r2; out[96 + t] = r3;
}
"""
)


def launched(
    kernel: Kernel,
    executor: str,
    arrays: Mapping[str, NDArray[np.generic]],
    *,
    threads: int = 32,
    smem: int = 0,
    sliced: bool = False,
    **numbers: int,
) -> tuple[Words, Trace]:
    """The array `out` and the trace of one block; `sliced` computes what the trace needs only."""
    types = {"uint32": "u32", "int32": "s32"}
    described = {n: Array(types[a.dtype.name], (a.size,)) for n, a in arrays.items()}
    launch = Launch((1, 1, 1), (threads, 1, 1), {**described, **numbers}, smem_bytes=smem)
    memory = Memory.build(kernel, launch)
    for name, array in arrays.items():
        memory.array(name)[:] = array
    needed = needed_for_trace(kernel) if sliced else None
    trace = traced(kernel, launch, memory, executor=executor, needed=needed)
    return memory.array("out").copy(), trace


def accesses(trace: Trace, *opcodes: str) -> list[tuple[Space | None, int, int, tuple[int, ...]]]:
    """Space, width, mask and addresses of the accesses of some opcodes, in order."""
    return [
        (i.space, i.access_bytes, r.mask, r.addresses)
        for r in trace.records()
        if r.kind is not RecordKind.BLOCK
        and (i := trace.kernel.instructions[r.id]).opcode in opcodes
    ]


def start_of(trace: Trace, name: str) -> int:
    return next(r.address for r in trace.memory.regions if r.label == name)


BODIES = {
    "whole": 'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"'
    ' :: "r"(to), "l"(in + 4 * t));',
    "size": 'asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" '
    ':: "r"(to), "l"(in + 4 * t), "r"(sizes[t] < whole ? 16 : 0));',
    "ignore": 'asm volatile("{.reg .pred p; setp.ge.s32 p, %2, %3; '
    'cp.async.cg.shared.global [%0], [%1], 16, p;}" '
    ':: "r"(to), "l"(in + 4 * t), "r"(sizes[t]), "r"(whole));',
    **{
        f"part of {n}": f'asm volatile("cp.async.ca.shared.global [%0], [%1], {n}, %2;" '
        ':: "r"(to), "l"(in + 4 * t), "r"(sizes[t]));'
        for n in (4, 8, 16)
    },
}
COPIES_OF = {name: COPY.replace("BODY", body) for name, body in BODIES.items()}
LOADS = {
    transposed: MATRICES.replace(
        "BODY",
        f'asm volatile("ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%0,%1,%2,%3}}, [%4];" '
        ': "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(at));',
    )
    for transposed, trans in ((False, ""), (True, ".trans"))
}
STORES = {
    transposed: MATRICES.replace(
        "BODY",
        f'asm volatile("stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%0], {{%1,%2,%3,%4}};" '
        ':: "r"(at), "r"(in[t]), "r"(in[32 + t]), "r"(in[64 + t]), "r"(in[96 + t]));'
        "__syncthreads(); unsigned* row = (unsigned*)(s + t * row_bytes);"
        "for (int i = 0; i < 4; i++) out[4 * t + i] = row[i]; return;",
    )
    for transposed, trans in ((False, ""), (True, ".trans"))
}
TRANSPOSITION = MATRICES.replace(
    "BODY",
    'asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r0) : "r"(in[t]));',
)
OF_MATRICES = (*LOADS.values(), TRANSPOSITION)
compile_together(OF_MATRICES, "sm_75")
compile_together((*COPIES_OF.values(), *OF_MATRICES), "sm_80")
compile_together((*COPIES_OF.values(), *OF_MATRICES, *STORES.values()), *STORING)

NUMBERS = np.arange(1, 129, dtype=np.uint32) * np.uint32(0x01010101)
SIZES = np.arange(32, dtype=np.int32)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_copy_is_a_load_and_a_store(isa: str, executor: str) -> None:
    """Wrong if bytes move elsewhere, or the trace tells another width, space or address."""
    kernel = kernel_in(COPIES_OF["whole"], isa)
    arrays = {"in": NUMBERS, "out": np.zeros(128, np.uint32), "sizes": SIZES}
    out, trace = launched(kernel, executor, arrays, whole=0)
    assert np.array_equal(out, NUMBERS)
    (load, store) = accesses(trace, *COPIES)
    lanes = tuple(start_of(trace, "in") + 16 * lane for lane in range(32))
    assert load == (Space.GLOBAL, 16, 0xFFFF_FFFF, lanes)
    assert store[:3] == (Space.SHARED, 16, 0xFFFF_FFFF)
    assert np.diff(store[3]).tolist() == [16] * 31


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("form", ["size", "ignore"])
def test_a_copy_of_nothing_writes_zeros_and_reads_nothing(
    isa: str, executor: str, form: str
) -> None:
    """Wrong if the predicate is taken the other way round, or needless in the trace."""
    kernel = kernel_in(COPIES_OF[form], isa)
    arrays = {"in": NUMBERS[:40], "out": np.zeros(128, np.uint32), "sizes": SIZES}
    for sliced in (False, True):
        if sliced and executor == "reference":
            continue
        out, trace = launched(kernel, executor, arrays, sliced=sliced, whole=10)
        load, store = accesses(trace, *COPIES)
        assert (load[2], store[2]) == (0x3FF, 0xFFFF_FFFF)
        if not sliced:
            assert np.array_equal(out, np.pad(NUMBERS[:40], (0, 88)))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("size_bytes", [4, 8, 16])
def test_a_copy_of_a_part_fills_up_with_zeros(isa: str, size_bytes: int) -> None:
    """Wrong if the size in the address is misread; a fault if bytes behind the array are read."""
    kernel = kernel_in(COPIES_OF[f"part of {size_bytes}"], isa)
    sizes = np.array([min((5 * n + size_bytes) % 17, size_bytes) for n in range(32)], np.int32)
    sizes[31] = size_bytes // 4
    inside = NUMBERS[: 4 * 31 + -(-int(sizes[31]) // 4)]
    source = np.pad(NUMBERS, 0).view(np.uint8).reshape(32, 16)
    expected = np.full((32, 16), 0, np.uint8)
    expected.view(np.uint32)[:] = 0xDEADBEEF
    expected[:, :size_bytes] = 0
    for lane, size in enumerate(sizes):
        expected[lane, :size] = source[lane, :size]
    arrays = {"in": inside, "out": np.zeros(128, np.uint32), "sizes": sizes}
    for executor in EXECUTORS:
        out, trace = launched(kernel, executor, arrays, whole=0)
        assert np.array_equal(out, expected.view(np.uint32).ravel()), executor
        widths = Counter(access[1] for access in accesses(trace, *COPIES))
        assert set(widths) == {1, size_bytes}
    full = sum(1 << lane for lane, size in enumerate(sizes) if size == size_bytes)
    wide = [a for a in accesses(trace, *COPIES) if a[:2] == (Space.GLOBAL, size_bytes)]
    assert [a[2] for a in wide] == [full]


def fragments(matrices: NDArray[np.uint16]) -> Words:
    """What 32 lanes hold of matrices of 8 x 8 halves, matrix by matrix."""
    return np.ascontiguousarray(matrices).view(np.uint32).ravel()


@pytest.mark.parametrize("architecture", ["sm_75", *COPYING])
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_are_loaded(architecture: str, executor: str, transposed: bool) -> None:
    """Wrong if a half reaches another lane; the trace has the bytes of the rows, once each."""
    kernel = kernel_in(LOADS[transposed], f"sass of {architecture}")
    arrays = {"in": NUMBERS * np.uint32(77), "out": np.zeros(128, np.uint32)}
    out, trace = launched(kernel, executor, arrays, smem=32 * 48, row_bytes=48)
    matrices = arrays["in"].view(np.uint16).reshape(4, 8, 8)
    expected = matrices.transpose(0, 2, 1) if transposed else matrices
    assert np.array_equal(out, fragments(expected))
    found = accesses(trace, "LDSM")
    assert {a[:3] for a in found} == {(Space.SHARED, 4, 0xFFFF_FFFF)}
    first = min(address for a in found for address in a[3])
    rows = [48 * (n // 4) + 4 * (n % 4) for n in range(128)]
    assert [address - first for a in found for address in a[3]] == rows


@pytest.mark.parametrize("architecture", STORING)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_are_stored(architecture: str, executor: str, transposed: bool) -> None:
    """Wrong if a half lands in another place than `ldmatrix` takes it from."""
    kernel = kernel_in(STORES[transposed], f"sass of {architecture}")
    arrays = {"in": NUMBERS * np.uint32(77), "out": np.zeros(128, np.uint32)}
    out, _ = launched(kernel, executor, arrays, smem=32 * 48, row_bytes=48)
    matrices = arrays["in"].view(np.uint16).reshape(4, 8, 8)
    expected = matrices.transpose(0, 2, 1) if transposed else matrices
    assert np.array_equal(out, fragments(expected))


@pytest.mark.parametrize("architecture", ["sm_75", *COPYING])
def test_a_matrix_in_registers_is_transposed(architecture: str) -> None:
    """Wrong if a half reaches another lane."""
    kernel = kernel_in(TRANSPOSITION, f"sass of {architecture}")
    arrays = {"in": NUMBERS * np.uint32(77), "out": np.zeros(128, np.uint32)}
    expected = arrays["in"][:32].view(np.uint16).reshape(8, 8).T
    for executor in EXECUTORS:
        out, _ = launched(kernel, executor, arrays, smem=32 * 48, row_bytes=48)
        assert np.array_equal(out[:32], fragments(expected)), executor


BULK_REDUCTION = (
    HEAD
    + """
extern "C" __global__ void k(unsigned* in, unsigned* out, int* sizes, int whole) {
  __shared__ __align__(16) unsigned s[128];
  for (int i = threadIdx.x; i < 128; i += 32) s[i] = in[i];
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 512;"
      :: "l"(out), "r"(shared_address(s)) : "memory");
}
"""
)


@pytest.mark.parametrize("sliced", [False, True])
def test_a_bulk_reduction_is_refused(sliced: bool) -> None:
    """Wrong if its traffic is missing from a trace without a word."""
    kernel = kernel_in(BULK_REDUCTION, "sass of sm_90")
    arrays = {"in": NUMBERS, "out": np.zeros(128, np.uint32), "sizes": SIZES}
    with pytest.raises(UnsupportedError, match="UBLKRED"):
        launched(kernel, "engine", arrays, sliced=sliced, whole=0)
