"""Matrix products of machine code against NumPy.

The oracle is the product of whole matrices. Their elements are small multiples of a power of two:
every sum is exact, in whatever order it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.execution.machine_code import ARCHITECTURES
from tests.kept import CACHE

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.errors import UnsupportedError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cuda import compile_source
from kernelcast.ir import Array, Kernel, Launch, OpClass, Space
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.run import profile_launch

Matrix = NDArray[Any]

TYPES: Mapping[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "tf32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "s32": np.dtype(np.int32),
}
WORD_BYTES = {"f64": 8}
CONSTRAINTS = {4: "r", 8: "d"}


@dataclass(frozen=True)
class Product:
    """One `mma` of PTX: rows and depth of a, the types, and the first chip that has it."""

    rows: int
    depth: int
    types: str
    oldest: int

    @property
    def name(self) -> str:
        """The name of its kernel."""
        return f"m{self.rows}k{self.depth}_{self.types.replace('.', '_')}"

    @property
    def source(self) -> str:
        """A kernel of one warp that multiplies what every lane reads."""
        d, a, b, _ = self.types.split(".")
        results, factors = WORD_BYTES.get(d, 4), WORD_BYTES.get(a, 4)
        counts = [self.rows * 8, self.rows * self.depth, 8 * self.depth]
        sizes = [size_of(d), size_of(a), size_of(b)]
        words = [n * s // 32 for n, s in zip(counts, sizes, strict=True)]
        words = [n // w for n, w in zip(words, (results, factors, factors), strict=True)]
        places, lists = iter(range(100)), []
        for count in words:
            lists.append("{" + ",".join(f"%{next(places)}" for _ in range(count)) + "}")
        outputs = ",".join(
            f'"+{CONSTRAINTS[results]}"(c[lane*{words[0]}+{n}])' for n in range(words[0])
        )
        inputs = ",".join(
            f'"{CONSTRAINTS[factors]}"({name}[lane*{count}+{n}])'
            for name, count in zip("ab", words[1:], strict=True)
            for n in range(count)
        )
        kinds = {4: "unsigned", 8: "double"}
        head = f"mma.sync.aligned.m{self.rows}n8k{self.depth}.row.col.{self.types}"
        return (
            f'extern "C" __global__ void {self.name}({kinds[factors]}* a, {kinds[factors]}* b, '
            f"{kinds[results]}* c) {{ int lane = threadIdx.x; asm volatile("
            f'"{head} {lists[0]}, {lists[1]}, {lists[2]}, {lists[0]};" '
            f": {outputs} : {inputs}); }}\n"
        )


PRODUCTS = [
    Product(16, 8, "f32.f16.f16.f32", 75),
    Product(16, 8, "f16.f16.f16.f16", 75),
    Product(8, 16, "s32.s8.s8.s32", 75),
    Product(8, 16, "s32.u8.s8.s32", 75),
    Product(16, 16, "f32.f16.f16.f32", 80),
    Product(16, 16, "f16.f16.f16.f16", 80),
    Product(16, 8, "f32.bf16.bf16.f32", 80),
    Product(16, 16, "f32.bf16.bf16.f32", 80),
    Product(16, 4, "f32.tf32.tf32.f32", 80),
    Product(16, 8, "f32.tf32.tf32.f32", 80),
    Product(16, 16, "s32.s8.s8.s32", 80),
    Product(16, 16, "s32.u8.u8.s32", 80),
    Product(16, 32, "s32.s8.u8.s32", 80),
    Product(16, 32, "s32.u8.s8.s32", 80),
    Product(8, 4, "f64.f64.f64.f64", 80),
    Product(16, 4, "f64.f64.f64.f64", 90),
    Product(16, 8, "f64.f64.f64.f64", 90),
    Product(16, 16, "f64.f64.f64.f64", 90),
]


def size_of(type: str) -> int:
    return 2 if type == "bf16" else TYPES[type].itemsize


def number(architecture: str) -> int:
    return int(architecture.removeprefix("sm_"))


@cache
def machine_kernels(source: str, architecture: str) -> Mapping[str, Kernel]:
    compiled = compile_source(
        source, name="test.cu", architecture=architecture, kernels=[], cache=CACHE
    )
    return {
        label: compiled.machine_kernel(mangled, CACHE) for mangled, label in compiled.labels.items()
    }


def product_kernel(product: Product, architecture: str) -> Kernel:
    known = [p.source for p in PRODUCTS if p.oldest <= number(architecture)]
    return machine_kernels("".join(known), architecture)[product.name]


def fragment(matrix: Matrix, type: str, word_bytes: int) -> Matrix:
    """What the lanes hold of a matrix of rows, one row of words per lane (PTX ISA 9.0, 9.7.14).

    Lane 4 g + t holds word t of every four words of row g, of all rows g + 8, g + 16, ... first.
    """
    words = as_words(matrix, type, word_bytes)
    rows, columns = words.shape
    return np.array(
        [
            [
                words[lane // 4 + row, lane % 4 + column]
                for column in range(0, columns, 4)
                for row in range(0, rows, 8)
            ]
            for lane in range(32)
        ]
    )


def as_words(matrix: Matrix, type: str, word_bytes: int) -> Matrix:
    """The rows of a matrix cut into words."""
    if type == "bf16":
        matrix = (np.ascontiguousarray(matrix, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        matrix = np.ascontiguousarray(matrix, TYPES[type])
    return matrix.view(np.uint64 if word_bytes == 8 else np.uint32)


def accumulators(matrix: Matrix, type: str) -> Matrix:
    """Lane 4 g + t holds columns 2 t and 2 t + 1 of rows g and g + 8."""
    values = np.ascontiguousarray(matrix, TYPES[type])
    return np.array(
        [
            [
                values[lane // 4 + row, 2 * (lane % 4) + odd]
                for row in range(0, len(values), 8)
                for odd in range(2)
            ]
            for lane in range(32)
        ],
        TYPES[type],
    )


def some(shape: tuple[int, int], type: str, seed: int) -> Matrix:
    """Quarters up to 2, or any bytes."""
    random = np.random.default_rng(seed)
    if type in ("s8", "u8"):
        limits = np.iinfo(TYPES[type])
        return random.integers(limits.min, limits.max + 1, shape)
    return random.integers(-8, 9, shape) / 4


def run(kernel: Kernel, arrays: Mapping[str, Matrix], executor: str) -> Mapping[str, Matrix]:
    """The arrays after a launch of one warp."""
    described = {
        name: Array("f64", (a.size,)) if a.itemsize == 8 else Array("u32", (a.nbytes // 4,))
        for name, a in arrays.items()
    }
    launch = Launch((1, 1, 1), (32, 1, 1), described)
    memory = Memory.build(kernel, launch)
    for name, array in arrays.items():
        memory.array(name).view(np.uint8)[:] = np.ascontiguousarray(array).view(np.uint8).ravel()
    execute(kernel, launch, memory, executor=executor)
    return {n: memory.array(n).view(a.dtype).reshape(a.shape) for n, a in arrays.items()}


@pytest.mark.parametrize(
    ("product", "architecture"),
    [(p, a) for p in PRODUCTS for a in ARCHITECTURES if p.oldest <= number(a)],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_product_of_fragments_is_that_of_their_matrices(
    product: Product, architecture: str
) -> None:
    """Wrong if a number meets the wrong partner, is read as another type, or lands elsewhere."""
    d, a, b, _ = product.types.split(".")
    left, right = some((product.rows, product.depth), a, 1), some((product.depth, 8), b, 2)
    start = some((product.rows, 8), "f32", 3) * 4
    width = WORD_BYTES.get(a, 4)
    arrays = {
        "a": fragment(left, a, width),
        "b": fragment(right.T, b, width),
        "c": accumulators(start, d),
    }
    kernel = product_kernel(product, architecture)
    executors = ("engine", "reference") if architecture in ("sm_75", "sm_90") else ("engine",)
    for executor in executors:
        after = run(kernel, arrays, executor)
        assert np.array_equal(after["c"], accumulators(left @ right + start, d)), executor


GEMM = """
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
extern "C" __global__ void gemm(const __half* a, const __half* b, float* c, int n) {
  __shared__ __half as[32][40], bs[32][40];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
  for (int i = 0; i < 4; i++) wmma::fill_fragment(sums[i / 2][i % 2], 0.f);
  int row = blockIdx.y * 32, column = blockIdx.x * 32, t = threadIdx.x;
  for (int k = 0; k < n; k += 32) {
    for (int i = t; i < 128; i += 32) {
      *(uint4*)&as[i / 4][i % 4 * 8] = *(const uint4*)&a[(row + i / 4) * n + k + i % 4 * 8];
      *(uint4*)&bs[i / 4][i % 4 * 8] = *(const uint4*)&b[(k + i / 4) * n + column + i % 4 * 8];
    }
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb[2];
      for (int i = 0; i < 2; i++) {
        wmma::load_matrix_sync(fa[i], &as[i * 16][kk], 40);
        wmma::load_matrix_sync(fb[i], &bs[kk][i * 16], 40);
      }
      for (int i = 0; i < 4; i++)
        wmma::mma_sync(sums[i / 2][i % 2], fa[i / 2], fb[i % 2], sums[i / 2][i % 2]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    wmma::store_matrix_sync(&c[(row + i / 2 * 16) * n + column + i % 2 * 16], sums[i / 2][i % 2],
                            n, wmma::mem_row_major);
}
"""

SIZE = 64


def gemm_launch() -> Launch:
    cells = (SIZE * SIZE,)
    args = {"a": Array("f16", cells), "b": Array("f16", cells), "c": Array("f32", cells)}
    return Launch((SIZE // 32, SIZE // 32, 1), (32, 1, 1), {**args, "n": SIZE})


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_product_of_whole_matrices_comes_out(architecture: str) -> None:
    """Wrong if fragments, as the compiler lays them out, are not what the instructions take."""
    kernel = machine_kernels(GEMM, architecture)["gemm"]
    a, b = (some((SIZE, SIZE), "f16", seed).astype(np.float16) for seed in (4, 5))
    executors = ("engine", "reference") if architecture in ("sm_75", "sm_90") else ("engine",)
    for executor in executors:
        memory = Memory.build(kernel, gemm_launch())
        for name, matrix in (("a", a), ("b", b)):
            memory.array(name).view(np.float16)[:] = matrix.ravel()
        execute(kernel, gemm_launch(), memory, executor=executor)
        expected = a.astype(np.float32) @ b.astype(np.float32)
        assert np.array_equal(memory.array("c").reshape(SIZE, SIZE), expected), executor


def traffic(profile: Profile) -> Mapping[tuple[Space, bool], float]:
    """Bytes asked for, by space and whether they are loaded."""
    found: dict[tuple[Space, bool], float] = {}
    for access in profile.accesses:
        key = (access.space, access.is_load)
        found[key] = found.get(key, 0) + access.bytes
    return found


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_the_profile_of_a_product_has_its_traffic_without_the_product(architecture: str) -> None:
    """Wrong if accesses are lost or doubled; slow if the products are computed for nothing."""
    kernel = machine_kernels(GEMM, architecture)["gemm"]
    tensor = {i.index for i in kernel.instructions if i.op_class is OpClass.TENSOR}
    assert tensor
    assert not tensor & needed_for_trace(kernel).in_full
    profile = profile_launch(kernel, gemm_launch(), Memory.build(kernel, gemm_launch()))
    tile, steps = 32 * 32 * 2, SIZE // 32 * (SIZE // 32) ** 2
    assert traffic(profile) == {
        (Space.GLOBAL, True): 2 * tile * steps,
        (Space.SHARED, False): 2 * tile * steps,
        (Space.SHARED, True): 2 * tile * steps,
        (Space.GLOBAL, False): SIZE * SIZE * 4,
    }


@pytest.mark.parametrize(
    ("rows", "depth", "types", "architecture"),
    [
        (8, 32, "s32.s4.s4.s32", "sm_75"),
    ],
)
def test_what_is_not_known_is_refused(rows: int, depth: int, types: str, architecture: str) -> None:
    """Wrong if four bits are read as eight."""
    a, b = (1 if rows == 8 else 2), 1
    head = f"mma.sync.aligned.m{rows}n8k{depth}.row.col.{types}"
    d = [f"%{n}" for n in range(rows // 4)]
    lists = [d, [f"%{len(d) + n}" for n in range(a)], [f"%{len(d) + a + n}" for n in range(b)], d]
    operands = ", ".join("{" + ",".join(names) + "}" for names in lists)
    outputs = ", ".join(f'"+r"(c[{n}])' for n in range(len(d)))
    inputs = ", ".join(f'"r"(x[threadIdx.x + {n}])' for n in range(a + b))
    source = (
        'extern "C" __global__ void k(unsigned* x, unsigned* c) '
        f'{{ asm volatile("{head} {operands};" : {outputs} : {inputs}); }}'
    )
    kernel = machine_kernels(source, architecture)["k"]
    launch = Launch((1, 1, 1), (32, 1, 1), {"x": Array("u32", (64,)), "c": Array("u32", (8,))})
    with pytest.raises(UnsupportedError, match="IMMA"):
        execute(kernel, launch, Memory.build(kernel, launch))


@pytest.mark.parametrize("executor", ["engine", "reference"])
def test_sums_that_saturate_stay_at_the_limits(executor: str) -> None:
    """32 products of 1 and 1, or -1 and 1, are added: 10 from a limit, and far from both."""
    operands = ", ".join(f'"+r"(s[{n}])' for n in range(4))
    source = (
        'extern "C" __global__ void k(int* c, int a) { int s[4];'
        "for (int n = 0; n < 4; n++) s[n] = c[threadIdx.x * 4 + n];"
        'asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 '
        '{%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};" : '
        f'{operands} : "r"(a), "r"(0x01010101));'
        "for (int n = 0; n < 4; n++) c[threadIdx.x * 4 + n] = s[n]; }"
    )
    kernel = machine_kernels(source, "sm_80")["k"]
    least, largest = -(2**31), 2**31 - 1
    start = np.tile(np.array([5, largest - 10, least + 10, least], np.int64), 32)
    for bits, change in ((0x01010101, 32), (-1, -32)):
        launch = Launch((1, 1, 1), (32, 1, 1), {"c": Array("s32", (128,)), "a": bits})
        memory = Memory.build(kernel, launch)
        memory.array("c")[:] = start.astype(np.int32)
        execute(kernel, launch, memory, executor=executor)
        wanted = (start + change).clip(least, largest)
        assert memory.array("c").tolist() == wanted.tolist()
