"""What the stand-in for a GPU answers to kernels beyond those of the runner itself."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, field

import numpy as np

from kernelcast.measuring.harness.microbenchmarks.tensor import GROUP_SHAPES, SHAPES, THREAD_SHAPES

SIGNATURE_OF_MORE = {
    "matrix": "ppii",
    "matrix_group": "ppii",
    "matrix_thread": "ppii",
    "constant": "ppii",
    "l2_slices": "pppllii",
    "mix": "ppli",
    "stride": "pppiii",
    "random_read": "ppii",
    "random_write": "pii",
    "contend": "piiii",
    "branch_loop": "ppfi",
    "diverge": "ppfii",
    "chains": "ppplllii",
    "stores": "pppi",
}
_FAMILY_OF_START = {
    "chase_constant": "constant",
    "mix_": "mix",
    "stride_": "stride",
    "random_read": "random_read",
    "random_write": "random_write",
    "contend_": "contend",
    "branch_loop_": "branch_loop",
    "diverge_": "diverge",
    "chains_": "chains",
}


def family_of(name):
    """The family of a kernel in SIGNATURE_OF_MORE, None where it is in none."""
    for start, family in _FAMILY_OF_START.items():
        if name.startswith(start):
            return family
    shape = name.rpartition("_")[0]
    if shape in THREAD_SHAPES:
        return "matrix_thread"
    return "matrix" if shape in SHAPES else "matrix_group" if shape in GROUP_SHAPES else None


@dataclass
class MoreTruth:
    """The numbers of the chip that these kernels show. Rates of matrices in FMA per cycle."""

    matrix_latency: dict[str, float] = field(default_factory=dict)
    matrix_rate: dict[str, float] = field(default_factory=dict)
    constant: float = 9.0
    constant_next: float = 62.0
    constant_bytes: int = 2048
    l1_bytes: int = 96 << 10
    l2_far: float = 390.0
    tlb_bytes: int = 1 << 29
    tlb_miss: float = 310.0
    transaction: float = 4.0
    scattered_per_s: float = 1.1e10
    writes_per_s: float = 2.3e10
    atomic: float = 260.0
    atomic_conflict: float = 12.0
    atomic_shared: float = 30.0
    atomic_shared_conflict: float = 3.0
    shared_lane: float = 1.5
    same_address_s: float = 1.3e-8
    scope_share: dict[str, float] = field(
        default_factory=lambda: {"gpu": 1.0, "cta": 0.5, "sys": 2.0}
    )
    mixed_share: float = 0.7
    additions_per_s: float = 1.7e11
    branch: float = 11.0
    issue: float = 2.0
    divergence: float = 21.0
    loads_per_warp: int = 16
    dram_spread: float = 10.0
    sectors_in_flight: int = 640
    store_next: float = 6.0
    block_s: float = 2.2e-9
    copy_s: float = 3e-6
    copy_rate: dict[str, float] = field(
        default_factory=lambda: {"HtoD": 2.5e10, "DtoH": 2.6e10, "DtoD": 2.7e11}
    )


def known_numbers():
    """Numbers by shape: a pipe that a chain alone leaves idle, and some warps fill."""
    latency = {
        name: 17.0 + 3 * i for i, name in enumerate([*SHAPES, *GROUP_SHAPES, *THREAD_SHAPES])
    }
    rate = {name: shape.multiply_adds / (4 + i % 5) for i, (name, shape) in _numbered(SHAPES)}
    rate |= {n: s.multiply_adds / latency[n] / 0.9 for n, s in GROUP_SHAPES.items()}
    rate |= {n: s.multiply_adds / (128.0 + i) for i, (n, s) in _numbered(THREAD_SHAPES)}
    return {"matrix_latency": latency, "matrix_rate": rate}


def _numbered(shapes):
    return enumerate(shapes.items())


class Kernels:
    """Kernels and copies of the stand-in, mixed into it."""

    def cuModuleGetGlobal_v2(self, out, size, module, name):  # noqa: N802
        assert self._handles[module] == "module constants" and name == b"ring"
        if not hasattr(self, "_ring"):
            self.cuMemAlloc_v2(out, 65536)
            self._ring = out[0]
        out[0] = self._ring

    def cuMemAllocHost_v2(self, out, size):  # noqa: N802
        self._handle("host memory", out)

    def cuMemFreeHost(self, pointer):  # noqa: N802
        del self._handles[pointer]

    def cuMemcpyHtoDAsync_v2(self, to, source, size, stream):  # noqa: N802
        if size > self._sizes[to]:
            raise ValueError("past the end of the array")
        if to == getattr(self, "_ring", None):
            ctypes.memmove(self._memory[to], source, size)
        self._copy("HtoD", size, self._is_pinned(source))

    def cuMemcpyDtoHAsync_v2(self, to, source, size, stream):  # noqa: N802
        if size > self._sizes[source]:
            raise ValueError("past the end of the array")
        self._copy("DtoH", size, self._is_pinned(to))

    def cuMemcpyDtoDAsync_v2(self, to, source, size, stream):  # noqa: N802
        if size > min(self._sizes[to], self._sizes[source]):
            raise ValueError("past the end of the array")
        self._copy("DtoD", size, is_pinned=True)

    def _is_pinned(self, pointer):
        return self._handles.get(pointer) == "host memory"

    def _copy(self, direction, size, is_pinned):
        rate = self.truth.copy_rate[direction] / (1 if is_pinned else 3)
        self._time_s += self._noisy(self.truth.copy_s + size / rate)

    def _room(self, pointer):
        """Bytes from an address to the end of the allocation that it lies in."""
        start = max((a for a in self._memory if a <= pointer), default=None)
        if start is None or pointer - start > self._sizes[start]:
            raise KeyError(pointer)
        return start + self._sizes[start] - pointer

    def _matrix(self, name, grid, block, clocks, sink, iterations, seed):
        shape, _, counts = name.rpartition("_")
        chains, steps = map(int, counts.split("x"))
        warps = block // 32
        alone = self.truth.matrix_latency[shape] * steps + 9
        each = SHAPES[shape].multiply_adds / self.truth.matrix_rate[shape]
        self._clocks(clocks, warps, iterations * max(alone, warps * chains * steps * each) + 30)

    def _matrix_group(self, name, grid, block, clocks, sink, iterations, seed):
        shape, _, steps = name.rpartition("_x")
        groups = block // 128
        alone = self.truth.matrix_latency[shape] * int(steps) + 40
        each = GROUP_SHAPES[shape].multiply_adds / self.truth.matrix_rate[shape]
        self._clocks(clocks, 4 * groups, iterations * max(alone, groups * int(steps) * each) + 30)

    def _matrix_thread(self, name, grid, block, clocks, sink, iterations, seed):
        shape, _, steps = name.rpartition("_x")
        each = THREAD_SHAPES[shape].multiply_adds / self.truth.matrix_rate[shape]
        self._clocks(clocks, 1, iterations * (int(steps) * each + 150))

    def _constant(self, name, grid, block, clocks, sink, warm, hops):
        words = np.frombuffer(self._memory[self._ring], np.uint32, 16384)
        at, seen = 0, 0
        while seen == 0 or at != 0:
            at, seen = int(words[at // 4]), seen + 1
        if seen != warm:
            raise ValueError("the warm-up is not one round of the ring")
        footprint = seen * int(words[0])
        t = self.truth
        self._clocks(
            clocks, 1, hops * (t.constant if footprint <= t.constant_bytes else t.constant_next)
        )

    def _l2_slices(self, name, grid, block, cycles, seen, ring, nodes, node_bytes, sm, hops):
        if grid < self.truth.sms or self._shared_bytes <= 167936 // 2:
            raise ValueError("not one block on every SM")
        near_or_far = [self.truth.l2, self.truth.l2_far]
        taken = [self._noisy(hops * near_or_far[(sm + i // 3) % 2]) for i in range(nodes)]
        ctypes.memmove(self._memory[cycles], np.array(taken, np.int64).tobytes(), 8 * nodes)
        ctypes.memmove(self._memory[seen], np.array([1], np.uint32).tobytes(), 4)

    def _mix(self, name, grid, block, to, source, elements, passes):
        reads, writes = map(int, name.removeprefix("mix_").split("x"))
        if any(
            arrays * 16 * elements > self._room(at)
            for arrays, at in ((reads, source), (writes, to))
        ):
            raise ValueError("past the end of the array")
        level = "l2" if elements * 16 < self.truth.l2_bytes else "dram"
        array = elements * 16 * passes
        if level == "l2":
            taken = writes * array / self.truth.written_in_l2
            taken += reads * array / self.truth.read_among_writes
        else:
            share = self.truth.mixed_share if reads == writes else 1.0
            taken = (reads + writes) * array / self.truth.stream[level] / share
        self._time_s += self._noisy(taken)

    def _stride(self, name, grid, block, clocks, sink, source, stride, toggle, iterations):
        warps = block // 32
        passes = math.gcd(stride, 32) if stride else 1
        self._clocks(clocks, warps, warps * 8 * iterations * passes)

    def _random_read(self, name, grid, block, source, sink, sectors, iterations):
        if sectors * 32 > self._room(source):
            raise ValueError("past the end of the array")
        in_flight = int(name.rpartition("_")[2])
        rate = self.truth.scattered_per_s * (1 if sectors * 32 > self.truth.l2_bytes else 4)
        share = min(1.0, grid * block * in_flight / self.truth.sms / 1024)
        self._time_s += self._noisy(grid * block * in_flight * iterations / (rate * share))

    def _random_write(self, name, grid, block, to, sectors, iterations):
        if sectors * 32 > min(self._room(to), self.truth.l2_bytes):
            raise ValueError("past the end of the array, or of the cache")
        self._time_s += self._noisy(grid * block * 4 * iterations / self.truth.writes_per_s)

    def _contend(self, name, grid, block, words, addresses, pitch, lanes, iterations):
        if 4 * addresses * pitch > self._room(words):
            raise ValueError("past the end of the array")
        additions = grid * block // 32 * lanes * iterations
        one = self.truth.same_address_s * self.truth.scope_share[name.removeprefix("contend_")]
        each = max(one / addresses, 1 / self.truth.additions_per_s)
        self._time_s += self._noisy(additions * each)

    def _branch_loop(self, name, grid, block, clocks, sink, scale, iterations):
        t, length = self.truth, int(name.rpartition("_")[2])
        self._clocks(clocks, 1, iterations * (t.issue * (length + 2) + t.branch))

    def _diverge(self, name, grid, block, clocks, sink, scale, ways, iterations):
        t, length = self.truth, int(name.rpartition("_")[2])
        each = t.latency["fp32_fma"] * length + t.divergence
        self._clocks(clocks, 1, iterations * (40 + ways * each))

    def _chains(self, name, grid, block, clocks, sink, ring, nodes, node_bytes, pitch, lanes, hops):
        t, warps = self.truth, block // 32
        chains = int(name.rpartition("_")[2])
        size = nodes * node_bytes
        touched = warps * chains * hops * node_bytes
        is_near = size <= t.l2_bytes or self._still_there(ring, touched)
        self._loaded.add(ring)
        crowd = max(chains / t.loads_per_warp, warps * chains * lanes / t.sectors_in_flight, 1)
        last = 0.0 if is_near else t.dram_spread * sum(1 / k for k in range(2, chains + 1))
        self._clocks(clocks, warps, hops * ((t.l2 if is_near else t.dram) * crowd + last))

    def _stores(self, name, grid, block, clocks, sink, to, iterations):
        self._clocks(clocks, 1, 32 * iterations * self.truth.store_next)
