"""Addresses by code alone, of PTX and of machine code, beside those of every warp that ran."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.compiled_families import load_family
from tests.kept import CACHE

from kernelcast.analysis.warp_values import WarpAccess, accesses_of_warp
from kernelcast.execution.blocks import these_blocks
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.execution.trace import RecordKind, decode
from kernelcast.frontends import check_launch
from kernelcast.ir import Kernel, Launch, Space
from kernelcast.suite.registry import kernel_named
from kernelcast.suite.table import Scale

_ENOUGH = 100
_WARPS = 32
AFFINE = (
    "gemm_naive",  # addresses in halves, two parameters in one load
    "gemm_register",  # signed divisions, strides of a block
    "stencil_7pt",  # accesses under a guard
    "control_calls",  # functions that call each other
    "attention_online",  # loops of lanes
    "transpose_padded",
)
NOT_AFFINE = ("hash_fnv", "control_tree", "sort_lower_bound", "convolution_1d")
"""Lanes leave loops at different times, choose by their data, and stop at borders."""


@dataclass
class Seen:
    """The first accesses of every instruction: mask, addresses and warp."""

    of: dict[int, list[tuple[int, np.ndarray, int]]] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)

    def consume(self, words: np.ndarray) -> None:
        for record in decode(words):
            if record.kind is not RecordKind.BLOCK and self.counts[record.id] < _ENOUGH:
                self.counts[record.id] += 1
                at = np.array(record.addresses, np.int64)
                self.of.setdefault(record.id, []).append((record.mask, at, record.warp))


def _ran(name: str, isa: str) -> tuple[Kernel, Launch, Seen]:
    suite = kernel_named(name)
    launch = suite.launches(Scale.SMALL)[0]
    module = load_family(suite.family, "sm_90", CACHE)
    kernel = module.kernel(launch.kernel) if isa == "ptx" else module.machine_kernel(launch.kernel)
    launch = check_launch(kernel, launch)
    seen = Seen()
    blocks = these_blocks(launch.blocks, sorted({0, launch.blocks - 1}))
    Run(kernel, launch, Memory.build(kernel, launch), blocks, threads=1, cache=CACHE).execute(seen)
    return kernel, launch, seen


def _holds(access: WarpAccess, mask: int, addresses: np.ndarray, warp: int) -> bool:
    """Whether lanes are apart as the code says, and further by whole grains where arrays begin."""
    known = access.address
    assert known is not None
    lanes = known.lanes[warp if len(known.lanes) > 1 else 0]
    apart = (addresses - lanes)[[bool(mask >> lane & 1) for lane in range(_WARPS)]]
    is_placed = known.array and known.grain
    whole = not is_placed or apart[0] % np.gcd(known.grain, 256) == 0
    return bool((apart == apart[0]).all()) and bool(whole)


@pytest.mark.parametrize("isa", ["ptx", "sass"])
@pytest.mark.parametrize("name", [*AFFINE, *NOT_AFFINE])
def test_addresses_are_those_of_all_warps(name, isa):
    kernel, launch, seen = _ran(name, isa)
    for access in accesses_of_warp(kernel, launch):
        rows = seen.of.get(access.instruction, [])
        if access.address is not None:
            wrong = [mask for mask, at, warp in rows if not _holds(access, mask, at, warp)]
            assert not wrong, kernel.instructions[access.instruction]
        elif name in AFFINE and access.space is not Space.SHARED:
            # What is not evaluated does differ from warp to warp.
            full = [at - at[0] for mask, at, _ in rows if mask == (1 << _WARPS) - 1]
            assert not full or any((at != full[0]).any() for at in full)


@pytest.mark.parametrize("name", AFFINE)
def test_machine_code_says_as_much_as_ptx(name):
    """All accesses of these kernels but those that data or unknown sizes decide, in both."""
    for isa, least in (("ptx", 0.9), ("sass", 0.9)):
        kernel, launch, _ = _ran(name, isa)
        found = accesses_of_warp(kernel, launch)
        evaluated = sum(access.address is not None for access in found)
        assert evaluated >= least * len(found), isa
