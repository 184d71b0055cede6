"""Counting shared by several threads: the same profile, whoever counted which block."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiling.synthetic_traces import (
    ALL_RULES,
    FULL,
    affine,
    enter,
    halves,
    instruction,
    kernel,
    memory,
    scattered,
    values,
    warp,
    words,
)

from kernelcast.execution.consumers import are_splittable
from kernelcast.ir import BasicBlock, Kernel, Launch, OpClass, Space
from kernelcast.profiling import paths
from kernelcast.profiling.builder import ProfileBuilder
from kernelcast.profiling.profile import Profile

BLOCKS = 12
ARRAYS = memory(1 << 14, 1 << 12)


def looping_kernel() -> Kernel:
    """Two blocks, the second of which repeats: a load, a store, an atomic, a shared access, a
    comparison of lanes."""
    return kernel(
        [
            instruction(0),
            instruction(1, OpClass.LOAD, "ld", space=Space.GLOBAL, access_bytes=4),
            instruction(2, OpClass.STORE, "st", space=Space.GLOBAL, access_bytes=4),
            instruction(3, OpClass.ATOMIC, "red", space=Space.GLOBAL, access_bytes=4),
            instruction(4, OpClass.LOAD, "ld", space=Space.SHARED, access_bytes=8),
            instruction(5, OpClass.MATCH, "match", ("any", "sync", "b32")),
        ],
        [BasicBlock(0, 0, 1, (1,)), BasicBlock(1, 1, 6, (1, 0))],
    )


def block_records(choice: random.Random) -> list[list[int]]:
    """What two warps of a block do."""
    records = []
    for number in range(2):
        records += [warp(0, number), enter(0)]
        for _ in range(choice.randint(0, 5)):
            start = choice.choice(ARRAYS.regions).address + 128 * choice.randint(0, 15)
            places = [choice.randint(0, 255) for _ in range(32)]
            mask = choice.choice([FULL, 0xFF, 0x10101])
            records += [
                enter(1, mask),
                scattered(1, [start + 4 * place for place in places], mask),
                affine(choice.choice([2, 3]), start, 4, mask),
                affine(4, 8 * places[0], 8, mask),
                halves(1, start, 4 * choice.randint(0, 2), start + 4 * places[1], mask),
                values(5, choice.randint(1, 32), mask),
            ]
    return records


def builder() -> ProfileBuilder:
    launch = Launch((BLOCKS + 4, 1, 1), (64, 1, 1))
    return ProfileBuilder(looping_kernel(), launch, ARRAYS, range(BLOCKS), rules=ALL_RULES)


def consume(into: ProfileBuilder, block: int, records: list[list[int]]) -> None:
    kept = [[r[0], block] if r[0] >> 56 == 1 else r for r in records]
    into.consume(words(*kept))


def flat(value: object) -> object:
    """A value whose arrays can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: flat(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(map(flat, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: flat(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value


def counted(profile: Profile) -> str:
    """All of a profile; as text, so that numbers that are unknown are equal."""
    return repr(flat(profile))


@pytest.mark.parametrize("entries", [1 << 20, 40, 6])
@given(
    st.integers(0, 1 << 32),
    st.lists(st.integers(0, 3), min_size=BLOCKS, max_size=BLOCKS),
)
def test_any_partition_of_the_blocks_gives_the_same_profile(entries, seed, parts):
    choice = random.Random(seed)
    blocks = [block_records(choice) for _ in range(BLOCKS)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "ENTRIES", entries)
        whole = builder()
        split = builder()
        others = [split.split() for _ in range(3)]
        for block, records in enumerate(blocks):
            consume(whole, block, records)
            consume([split, *others][parts[block]], block, records)
        for other in others:
            split.merge(other)
        assert counted(split.finish()) == counted(whole.finish())


def test_a_builder_can_be_shared_by_threads():
    assert are_splittable([builder()])
