"""Kernels of one `wgmma` over matrices laid out in shared memory, and what they should give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.kept import CACHE

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cuda import CompiledSource, compile_source
from kernelcast.ir import Array, Kernel, Launch

Matrix = NDArray[Any]

THREADS = 128
SHARED_BYTES = 40 * 1024
B_AT = 8 * 1024
"""Where matrix b begins in the image of shared memory; a is at its start."""

MODE_OF_WIDTH = {16: 0, 128: 1, 64: 2, 32: 3}
"""How descriptors say how many bytes of a line are next to each other before they are swizzled."""


@dataclass(frozen=True)
class Layout:
    """How a matrix lies in shared memory: its first address, bytes of the line of a tile, and
    whether numbers of equal depth are next to each other."""

    at: int
    width: int = 16
    across: bool = False

    def place(self, matrix: Matrix, image: bytearray) -> int:
        """Write a matrix (rows of a, or columns of b, by depth) into an image; return its
        descriptor without the address of shared memory.

        The tiles of the canonical layouts (PTX ISA 9.0, section 9.7.15.5.1.2.1.3): eight lines of
        `width` bytes, tiles of the next lines right behind, those further along the lines last.
        """
        lines = np.ascontiguousarray(matrix.T if self.across else matrix)
        rows = lines.view(np.uint8).reshape(len(lines), -1)
        tile, down = 8 * self.width, -(-len(rows) // 8)
        next_lines, next_units = tile, tile * down
        for line, row in enumerate(rows):
            for at in range(0, row.size, 16):
                place = self.at + line // 8 * next_lines + line % 8 * self.width
                place += at // self.width * next_units + at % self.width
                place ^= (place >> 7) % (self.width // 16) << 4
                image[place : place + 16] = row[at : at + 16].tobytes()
        leading, stride = next_units, next_lines
        if self.across and self.width == 16:
            leading, stride = stride, leading
        mode = MODE_OF_WIDTH[self.width]
        return self.at >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62


@dataclass(frozen=True)
class Case:
    """A product: columns, types of the sums, a and b, layouts, and the constants it takes.

    Matrix a is in registers where it has no layout. `keeps` adds to old sums, `scales` are signs.
    """

    columns: int
    types: str
    a: Layout | None = None
    b: Layout = Layout(B_AT)
    keeps: bool = True
    scales: tuple[int, int] = (1, 1)

    @property
    def depth(self) -> int:
        return 32 // SIZES[self.types.split(".")[1]]

    @property
    def sums(self) -> int:
        """Registers of a thread."""
        return self.columns // (4 if self.types.startswith("f16") else 2)

    @property
    def name(self) -> str:
        """A name for its kernel, unique among the cases."""
        layouts = (f"{m.width}{'t' * m.across}" if m else "r" for m in (self.a, self.b))
        signs = "".join("n" if s < 0 else "" for s in self.scales)
        kept = "" if self.keeps else "_new"
        return "_".join(("k", str(self.columns), self.types.replace(".", "_"), *layouts)) + (
            kept + signs
        )

    @property
    def source(self) -> str:
        """A kernel of one warp group."""
        letter = "f" if self.types.startswith("f32") else "r"
        kind = "float" if letter == "f" else "unsigned"
        n = self.sums
        results = ", ".join(f"%{k}" for k in range(n))
        left = f"%{n}" if self.a else "{" + ", ".join(f"%{n + 3 + k}" for k in range(4)) + "}"
        immediates = [] if self.types.startswith("s32") else [str(s) for s in self.scales]
        if SIZES[self.types.split(".")[1]] == 2:
            immediates += [str(int(m.across)) for m in (self.a, self.b) if m]
        operands = ", ".join((f"{{{results}}}", left, f"%{n + 1}", "p", *immediates))
        outputs = ", ".join(f'"+{letter}"(d[{k}])' for k in range(n))
        words = "".join(f', "r"(a[threadIdx.x * 4 + {k}])' for k in range(4))
        head = f"wgmma.mma_async.sync.aligned.m64n{self.columns}k{self.depth}.{self.types}"
        return f"""
extern "C" __global__ void {self.name}(const uint4* image, const unsigned* a, {kind}* sums,
                                       unsigned long long da, unsigned long long db, int keeps) {{
  extern __shared__ __align__(1024) uint4 s[];
  for (int i = threadIdx.x; i < {SHARED_BYTES // 16}; i += {THREADS}) s[i] = image[i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  unsigned at = (unsigned)__cvta_generic_to_shared(s) >> 4;
  {kind} d[{n}];
  for (int k = 0; k < {n}; k++) d[k] = sums[threadIdx.x * {n} + k];
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{n + 2}, 0; {head} {operands}; }}"
    : {outputs} : "l"(da + at), "l"(db + at), "r"(keeps){words if not self.a else ""});
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int k = 0; k < {n}; k++) sums[threadIdx.x * {n} + k] = d[k];
}}
"""


SIZES = {"f16": 2, "bf16": 2, "tf32": 4, "s8": 1, "u8": 1, "e4m3": 1, "e5m2": 1}


def stored(matrix: Matrix, type: str) -> Matrix:
    """Small whole numbers in a type."""
    if type in ("bf16", "tf32"):
        wide = matrix.astype(np.float32).view(np.uint32)
        return (wide >> 16).astype(np.uint16) if type == "bf16" else wide
    if type in ("e4m3", "e5m2"):
        # As halves they have the same bits further left; the exponent of e4m3 is less by 8.
        scaled = matrix.astype(np.float32) / (256 if type == "e4m3" else 1)
        bits = scaled.astype(np.float16).view(np.uint16)
        if type == "e5m2":
            return (bits >> 8).astype(np.uint8)
        return (bits >> 8 & 0x80 | bits >> 7 & 0x7F).astype(np.uint8)
    return matrix.astype({"f16": np.float16, "s8": np.int8, "u8": np.uint8}[type])


def fragment(words: Matrix) -> Matrix:
    """What the threads of a warp group hold of the rows of a (PTX ISA 9.0, figure 148)."""
    rows = np.ascontiguousarray(words).view(np.uint32)
    warp, lane = np.divmod(np.arange(THREADS), 32)
    row, word = 16 * warp + lane // 4, lane % 4
    places = ((0, 0), (8, 0), (0, 4), (8, 4))
    return np.stack([rows[row + r, word + w] for r, w in places], axis=1)


def in_registers(sums: Matrix, type: str) -> Matrix:
    """What the threads hold of the sums (PTX ISA 9.0, figure 149)."""
    warp, lane = np.divmod(np.arange(THREADS), 32)
    row, column = 16 * warp + lane // 4, lane % 4 * 2
    values = [
        sums[row + down, at + column + odd]
        for at in range(0, sums.shape[1], 8)
        for down in (0, 8)
        for odd in (0, 1)
    ]
    kinds = {"f16": np.float16, "f32": np.float32, "s32": np.int32}
    return np.ascontiguousarray(np.stack(values, axis=1).astype(kinds[type])).view(np.uint32)


@dataclass(frozen=True)
class Data:
    """The arrays of a launch, the descriptors, and the sums that it should leave."""

    arrays: Mapping[str, Matrix]
    a: int
    b: int
    expected: Matrix


def data(case: Case) -> Data:
    """Whole numbers for a case: every product and sum is exact."""
    random = np.random.default_rng(case.columns)
    kind, a_type, b_type = case.types.split(".")
    # The largest that three significant bits hold is 7, and two, 3.
    most = {"s8": 128, "u8": 255, "e5m2": 3}.get(a_type, 7)
    least = 0 if "u8" in case.types else -most + (a_type == "s8")
    most = min(most, 127) if "s8" in case.types else most
    a, b = (random.integers(least, most, (n, case.depth)) for n in (64, case.columns))
    old = random.integers(-50, 50, (64, case.columns))
    sign = case.scales[0] * case.scales[1]
    image = bytearray(SHARED_BYTES)
    descriptor = case.a.place(stored(a, a_type), image) if case.a else 0
    return Data(
        {
            "image": np.frombuffer(image, np.uint32),
            "a": fragment(stored(a, a_type)),
            "sums": in_registers(old, kind),
        },
        descriptor,
        case.b.place(stored(b, b_type), image),
        in_registers(sign * (a @ b.T) + case.keeps * old, kind),
    )


@cache
def compiled(cases: tuple[Case, ...]) -> CompiledSource:
    """The kernels of all cases; the compiler runs once."""
    source = "".join(case.source for case in cases)
    return compile_source(source, name="test.cu", architecture="sm_90a", kernels=[], cache=CACHE)


def launch(case: Case, given: Data) -> Launch:
    """One block of a warp group."""
    arrays = {n: Array("u32", (a.size,)) for n, a in given.arrays.items()}
    if case.types.startswith("f32"):
        arrays["sums"] = Array("f32", (given.arrays["sums"].size,))
    scalars = {"da": given.a, "db": given.b, "keeps": int(case.keeps)}
    return Launch((1, 1, 1), (THREADS, 1, 1), {**arrays, **scalars}, SHARED_BYTES)


def result(case: Case, kernel: Kernel, given: Data, executor: str) -> Matrix:
    """The sums that a launch leaves."""
    what = launch(case, given)
    memory = Memory.build(kernel, what)
    for name, array in given.arrays.items():
        memory.array(name).view(np.uint8)[:] = np.ascontiguousarray(array).view(np.uint8).ravel()
    execute(kernel, what, memory, executor=executor)
    return memory.array("sums").view(np.uint32).reshape(given.expected.shape)


def both(case: Case, cases: tuple[Case, ...]) -> Mapping[str, Kernel]:
    """The kernel of a case as PTX and as machine code."""
    found = compiled(cases)
    (mangled,) = (m for m, label in found.labels.items() if label == case.name)
    return {"ptx": found.kernel(mangled), "sass": found.machine_kernel(mangled, CACHE)}
