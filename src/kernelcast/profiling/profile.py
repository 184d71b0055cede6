"""The profile: what a launch needs, counted from its trace. It knows no GPU.

Every count is for the whole grid: where blocks were sampled it is scaled by `sample.scale`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernelcast.ir import Instruction, Kernel, Launch, Location, OpClass, Space
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.profiling.rules import NO_RULES, AccessRules

Floats = NDArray[np.float64]

MOST_DPKI = 10.0
"""L. Wang, M. Jahre, A. Adileh, L. Eeckhout: MDM: The GPU Memory Divergence Model. MICRO 2020,
section I: kernels with more are memory-divergent; most others have 0, none over 3."""


@dataclass(frozen=True, slots=True)
class BlockSample:
    """Which share of the grid was executed, and how far the blocks differ.

    `spread` is the standard error of the scaled instruction count, relative to it: 0 when every
    block was executed or all sampled blocks did the same work, NaN where it cannot be told because
    one block of several was executed. `variation` is the standard deviation of a block's
    instructions over their mean. Where blocks next to each other do alike, each counts for those
    around it, and all together `weight` times as much (see `summaries.neighbours_alike`).
    """

    blocks: int
    of: int
    spread: float
    variation: float = 0.0
    weight: float = 1.0

    @property
    def scale(self) -> float:
        """Factor from the sample to the grid."""
        return self.of / self.blocks * self.weight

    @property
    def is_exact(self) -> bool:
        """Whether every block was executed."""
        return self.blocks == self.of


@dataclass(frozen=True, slots=True)
class Count:
    """Executed instructions: as warp instructions and as thread instructions."""

    warp: float = 0.0
    thread: float = 0.0

    def __add__(self, other: Count) -> Count:
        return Count(self.warp + other.warp, self.thread + other.thread)


@dataclass(frozen=True, slots=True)
class AtomicMeetings:
    """How atomics of a launch on global memory meet; of a sample, as if every block went there.

    `most_on_word` counts the lanes on the word that most go to, and `floats_on_word` those that add
    floating-point numbers to the word to which most do. By chunk of 512 bytes
    (`layout.PAGE_CHUNKS`), those of chunks far apart together, `chunk_turns` are the turns of
    sectors; `shared_sectors` counts sectors of which a request changes several words, and
    `repeated_turns` their turns beyond the first; where it adds doubles instead, `doubles` counts
    lanes beyond the turns.
    """

    most_on_word: float = 0.0
    floats_on_word: float = 0.0
    chunk_turns: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    shared_sectors: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    repeated_turns: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    doubles: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)


_NO_ATOMICS = AtomicMeetings()


@dataclass(frozen=True, slots=True)
class AccessProfile:
    """All executions of one static memory instruction in one space.

    `space` is where the addresses led (never generic). Sums over `requests`, the warp-level
    executions with at least one active lane:

    sectors, lines
        distinct 32 B sectors and 128 B lines of a request; for local memory after the hardware's
        interleaving of lanes by 4 B words; 0 outside global and local memory.
    divergent
        those of the requests that touch more than one line.
    passes
        shared memory and loads from global memory: cycles in which 32 banks of 4 B serve the
        request, equal words merged, but not those of atomics, of which each lane takes a cycle
        unless they only count lanes (1 without conflicts; a 64- or 128-bit access is served by
        half- or quarter-warps and takes 2 or 4 at the least, in shared memory 1 or 2 where all
        lanes want the same in pairs, with their neighbours or with those one further: the
        profiler's counts on an H100, and NVIDIA on compute capability 7.0 to 7.5,
        forums.developer.nvidia.com/t/77228). The L1 cache lies in the banks of shared memory from
        compute capability 7.0 on: gpu-benches' gpu-strides counts the same passes.
    ideal_passes
        passes that a conflict-free pattern of the same width and lanes would take.

    rounds, turns
        atomics on global memory only: lanes on one word follow each other, so that a line is asked
        for in as many rounds as lanes go to one of its words, and its sectors take such a turn each
        as often as lanes go to one of theirs.

    The others are 0 unless the profile's `rules` ask for them:

    transactions_cc10, coalesced_cc10
        memory transactions by the rule of compute capability 1.0/1.1 (CUDA Programming Guide 2.3,
        section 5.1.2.1) and requests whose half-warps were all coalesced. A half-warp is coalesced
        if its k-th lane, where active, accesses the k-th word of one aligned segment of 16 words of
        4, 8 or 16 B: one transaction, two for 16 B. Else every active lane is one.
    transactions_cc12, coalesced_cc12, bytes_cc12
        segments that a half-warp touches by the rule of compute capability 1.2/1.3 (same section):
        of 32 B for accesses of 1 B, 64 B for 2 B, 128 B for 4 B and more; requests that need one
        transaction per half-warp with an active lane; and bytes that move, a segment of which only
        one half is used being halved down to 32 B. Both rules are 0 outside global and local
        memory.
    passes_half_warp
        shared memory only: the same for 16 banks of 4 B and half-warps (compute capability 1.x).
    tag_passes
        loads from global memory only: cycles in which the tags of the request's lines are looked
        up, in banks that take one line each (see `AccessRules.tag_bank_bits`).
    """

    instruction: int
    op_class: OpClass
    space: Space
    access_bytes: int
    location: Location | None
    requests: float
    lanes: float
    sectors: float = 0.0
    lines: float = 0.0
    divergent: float = 0.0
    transactions_cc10: float = 0.0
    coalesced_cc10: float = 0.0
    transactions_cc12: float = 0.0
    coalesced_cc12: float = 0.0
    bytes_cc12: float = 0.0
    passes: float = 0.0
    passes_half_warp: float = 0.0
    ideal_passes: float = 0.0
    tag_passes: float = 0.0
    rounds: float = 0.0
    turns: float = 0.0

    @property
    def bytes(self) -> float:
        """Bytes the active lanes asked for."""
        return self.lanes * self.access_bytes

    @property
    def is_load(self) -> bool:
        """Whether it only reads."""
        return self.op_class is OpClass.LOAD


@dataclass(frozen=True, slots=True)
class Footprint:
    """Traffic of one array in global memory.

    `distinct_sectors` counts 32 B sectors touched at least once in the whole grid: what must move
    even with a perfect cache. With a sample it is extrapolated (see `profiling.footprints`).
    `block_sectors` sums, over all blocks, the sectors distinct within the block: what must move
    with a cache that lives as long as a block. `requested_sectors` sums them over all requests:
    what moves without any cache. `fresh` is what a block shares with the blocks before it in the
    grid (see `profiling.neighbours`), empty where that was not learnt. An array `of_host` lies in
    the host's memory, which kernels reach over the bus.
    """

    label: str
    size_bytes: int
    read: bool
    written: bool
    distinct_sectors: float
    block_sectors: float
    requested_sectors: float
    distinct_written_sectors: float = 0.0
    fresh: tuple[float, ...] = ()
    of_host: bool = False


@dataclass(frozen=True, slots=True)
class LineProfile:
    """What one source line costs; shares of the whole are the report's to make.

    `requests` and `sectors` are those of global and local memory.
    """

    location: Location
    instructions: Count
    sectors: float
    requests: float
    shared_passes: float
    shared_ideal_passes: float


@dataclass(frozen=True)
class WarpPath:
    """The representative warp: the one of median instruction count in the sample.

    `blocks` are the basic blocks it entered, in order, and `lanes` how many lanes did; of a very
    long path they hold the first part only. `instructions` counts the whole.
    """

    block: int
    warp: int
    blocks: NDArray[np.int32] = field(repr=False)
    lanes: NDArray[np.int32] = field(repr=False)
    instructions: int = 0


@dataclass(frozen=True)
class RepresentativeWarp:
    """A warp, and the share of the launch's warps that it stands for."""

    path: WarpPath
    share: float


def compared_values(instruction: Instruction, known: Mapping[int, float]) -> float:
    """How many values the lanes of a warp are compared with: each that one of them holds, by those
    `known` of instructions, or else all lanes different ones; where only one matters, that."""
    match = instruction.traits.match
    if match is not None and not match.finds_each:
        return 1.0
    return known.get(instruction.index, float(WARP_LANES))


@dataclass(frozen=True)
class Profile:
    """What a launch needs, machine-free but for what `rules` ask for.

    `counts` holds every op class that was executed; `instruction_warps[i]` how often a warp
    executed instruction i: lanes that have diverged execute it each on their own, until they
    reconverge.
    `instruction_threads[i]` is how many threads did, `instruction_active[i]` for how many of them
    its guard held, NaN where the trace does not tell. `branches` counts conditional branches
    executed by warps, `divergent_branches` those at which a warp's lanes took both paths. `flops`
    counts floating-point operations of threads by precision (`fp16`, `fp32`, `fp64`), two for a
    fused multiply-add. `chain_instructions` is the length of the representative warp's longest
    chain of dependent instructions, made of `chain_by_class`. `different_values[i]` is how
    many different values the lanes of a warp hold on average where instruction i finds those of
    equal value; instructions of which nobody recorded it are left out. `atomics` are those on
    global memory; in `merged_atomics` the lanes of a request that all go to one word are one.
    `representatives` stand for groups of warps that are unlike (see `profiling.representatives`);
    empty where `warp` alone is enough. `executed_blocks` are those that were executed, ascending,
    and `block_instructions` the warp instructions of each; both are empty where nobody knows.
    """

    kernel: Kernel
    launch: Launch
    sample: BlockSample
    counts: Mapping[OpClass, Count]
    accesses: tuple[AccessProfile, ...]
    footprints: tuple[Footprint, ...]
    lines: tuple[LineProfile, ...]
    warp: WarpPath
    instruction_warps: NDArray[np.float64] = field(repr=False)
    instruction_threads: NDArray[np.float64] = field(repr=False)
    instruction_active: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), repr=False)
    branches: float = 0.0
    divergent_branches: float = 0.0
    flops: Mapping[str, float] = field(default_factory=dict)
    different_values: Mapping[int, float] = field(default_factory=dict)
    chain_instructions: float = 0.0
    chain_by_class: Mapping[OpClass, float] = field(default_factory=dict)
    atomics: AtomicMeetings = _NO_ATOMICS
    merged_atomics: AtomicMeetings = _NO_ATOMICS
    seconds: float = 0.0
    executor: str = ""
    rules: AccessRules = NO_RULES
    representatives: tuple[RepresentativeWarp, ...] = ()
    executed_blocks: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(0, np.int64), repr=False
    )
    block_instructions: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(0, np.int64), repr=False
    )

    def instructions_of(self, blocks: Sequence[int]) -> NDArray[np.float64]:
        """Warp instructions of some blocks: those of the mean block for who was not executed."""
        found = np.full(len(blocks), self.total.warp / self.launch.blocks)
        if len(self.executed_blocks):
            at = np.searchsorted(self.executed_blocks, blocks).clip(
                max=len(self.executed_blocks) - 1
            )
            known = self.executed_blocks[at] == blocks
            found[known] = self.block_instructions[at[known]]
        return found

    @property
    def guesses_values(self) -> bool:
        """Whether lanes were compared and nobody recorded how many different values they held."""
        return any(
            self.instruction_warps[i.index] and i.index not in self.different_values
            for i in self.kernel.instructions
            if i.traits.match is not None and i.traits.match.finds_each
        )

    @property
    def warps(self) -> int:
        """Warps in the grid."""
        return self.launch.blocks * self.launch.warps_per_block

    @property
    def total(self) -> Count:
        """All instructions."""
        return sum(self.counts.values(), Count())

    @property
    def simt_efficiency(self) -> float:
        """Share of lanes that were active, over all executed warp instructions."""
        total = self.total
        return total.thread / (32 * total.warp) if total.warp else 1.0

    @property
    def divergent_loads(self) -> tuple[AccessProfile, ...]:
        """Loads from global memory of which some touch more than one line."""
        return tuple(
            a for a in self.accesses if a.is_load and a.space is Space.GLOBAL and a.divergent
        )

    @property
    def dpki(self) -> float:
        """Divergent loads per kilo instructions, both of warps (Wang et al. 2020, section I)."""
        total = self.total.warp
        return 1000 * sum(a.divergent for a in self.divergent_loads) / total if total else 0.0

    @property
    def is_memory_divergent(self) -> bool:
        """Whether these are more than the paper allows a kernel that is not."""
        return self.dpki > MOST_DPKI

    def requested_bytes(self, space: Space) -> float:
        """Bytes that lanes asked for in one space."""
        return sum(a.bytes for a in self.accesses if a.space is space)
