"""Occupancy: vendor's answers, published observations, and laws over the whole input range."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcast.errors import InputError, LaunchError, MissingNumberError
from kernelcast.ir import Launch, Resources
from kernelcast.machines.loader import load_machine, machine_names
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import Occupancy, occupancy, occupancy_of_launch

machine = cache(load_machine)


def blocks(
    name: str,
    threads: int,
    registers: int | None,
    shared: int,
    percent: int | None = None,
    barriers: int = 0,
) -> int:
    """Blocks per SM, 0 where none fits."""
    try:
        return occupancy(
            machine(name),
            threads=threads,
            registers=registers,
            shared_bytes=shared,
            shared_preference_percent=percent,
            named_barriers=barriers,
        ).blocks_per_sm
    except LaunchError:
        return 0


# What cuda_occupancy.h of CUDA 12.9 answers: GPU, threads, registers, shared memory, preferred
# carve-out in percent, barriers, blocks per SM.
VENDOR_ANSWERS = [
    ("gtx-680", 198, 20, 0, None, 0, 9),
    ("gtx-680", 256, 50, 1743, None, 0, 4),
    ("gtx-680", 160, 50, 14054, None, 0, 3),
    ("k20c", 319, 53, 0, None, 0, 3),
    ("k20c", 256, 174, 2687, None, 0, 1),
    ("k20c", 224, 150, 20951, None, 0, 1),
    ("k80", 262, 23, 0, None, 0, 7),
    ("k80", 512, 60, 6695, None, 0, 4),
    ("k80", 500, 46, 47023, None, 0, 2),
    ("k80", 608, 61, 9369, None, 0, 3),
    ("gtx-750-ti", 269, 23, 0, None, 0, 7),
    ("gtx-750-ti", 512, 34, 5501, None, 0, 3),
    ("gtx-750-ti", 160, 75, 9197, None, 0, 4),
    ("gtx-980", 281, 34, 0, None, 0, 5),
    ("gtx-980", 512, 27, 7536, None, 0, 4),
    ("gtx-980", 436, 19, 42312, None, 0, 2),
    ("gtx-980", 608, 52, 10662, None, 0, 1),
    ("p100-sxm2", 219, 69, 0, None, 0, 4),
    ("p100-sxm2", 512, 54, 7954, None, 0, 2),
    ("p100-sxm2", 96, 68, 14926, None, 0, 4),
    ("gtx-1080", 108, 151, 0, None, 0, 3),
    ("gtx-1080", 96, 87, 12172, None, 0, 6),
    ("v100-sxm2", 387, 62, 0, None, 0, 2),
    ("v100-sxm2", 256, 139, 6112, None, 0, 1),
    ("v100-sxm2", 385, 40, 91773, 0, 0, 1),
    ("v100-sxm2", 96, 200, 15576, None, 0, 2),
    ("t4", 114, 54, 0, None, 0, 8),
    ("t4", 167, 19, 62169, 0, 0, 1),
    ("t4", 96, 80, 17211, 0, 0, 1),
    ("a100-sxm-80gb", 333, 42, 0, None, 0, 3),
    ("a100-sxm-80gb", 656, 25, 162969, None, 0, 1),
    ("a100-sxm-80gb", 608, 51, 12134, 25, 0, 1),
    ("rtx-a4000", 54, 159, 0, None, 0, 6),
    ("rtx-a4000", 286, 28, 87724, 50, 0, 1),
    ("l4", 95, 52, 0, None, 0, 12),
    ("l4", 464, 21, 100738, 75, 0, 1),
    ("l4", 352, 34, 10848, 0, 0, 1),
    ("h100-sxm", 86, 26, 0, None, 0, 21),
    ("h100-sxm", 1024, 58, 5051, None, 3, 1),
    ("h100-sxm", 220, 34, 231897, None, 3, 1),
    ("h100-sxm", 96, 83, 16434, None, 3, 6),
    ("b200", 316, 24, 0, None, 3, 6),
    ("b200", 160, 130, 19756, 50, 7, 2),
    ("rtx-5090", 234, 74, 0, None, 7, 3),
    ("rtx-5090", 256, 29, 7856, None, 0, 6),
    ("rtx-5090", 224, 27, 11581, 25, 3, 2),
]


@pytest.mark.parametrize("case", VENDOR_ANSWERS, ids=lambda c: f"{c[0]}-{c[1]}-{c[2]}-{c[3]}")
def test_agrees_with_the_vendors_header(
    case: tuple[Any, ...],
) -> None:
    *request, expected = case
    assert blocks(*request) == expected


@pytest.mark.parametrize(
    ("name", "threads", "registers", "shared", "expected"),
    [
        # 8192 registers given to whole blocks: 256 threads x 10 fill 2560, x 11 fill 2816.
        ("8800-gtx", 256, 10, 0, 3),
        ("8800-gtx", 256, 11, 0, 2),
        # An odd warp is rounded up to a pair: 3 warps of 21 registers take 4 x 672 = 2688 -> 2816
        # at 256 per unit, 2 blocks; unrounded they would take 2016 -> 2048 and fit 4 times.
        ("8800-gtx", 96, 21, 0, 2),
        # The unit is 512 on GT200: 8 warps x 32 x 17 = 4352 -> 4608, 3 blocks of 16384.
        ("gtx-280", 256, 17, 0, 3),
        # Fermi: 20 registers are 640 per warp, 25 warps in each half of 32768: all 48 warps fit.
        ("gtx-480", 256, 20, 2048, 6),
        # 21 registers are 672 -> 704 per warp: 23 per half, 46 warps, 5 blocks of 8.
        ("gtx-480", 256, 21, 2048, 5),
        # Four partitions of 16384: 88 registers are 2816 per warp, 5 each, 20 warps.
        ("gtx-1080", 64, 88, 0, 10),
        # Two partitions of 32768 on GP100: 11 each, 22 warps.
        ("p100-pcie", 64, 88, 0, 11),
        # 2 x (81 KiB + 1 KiB reserved) fill 164 KiB; one byte more does not fit twice.
        ("a100-sxm-80gb", 128, 32, 81 * 1024, 2),
        ("a100-sxm-80gb", 128, 32, 81 * 1024 + 1, 1),
        # 227 KiB and the reserved 1 KiB fill an H100's SM.
        ("h100-sxm", 128, 32, 227 * 1024, 1),
        # Shared memory of 0 still takes the reserved 1 KiB: 100 blocks, so 24 is the block limit.
        ("l4", 32, 16, 0, 24),
    ],
)
def test_by_hand(name: str, threads: int, registers: int, shared: int, expected: int) -> None:
    assert blocks(name, threads, registers, shared) == expected


def test_a_block_must_fit_every_pascal_to_run_on_gp100() -> None:
    # 21 warps x 2816 registers: 22 fit GP100's two partitions, but 24 would be checked on four.
    assert blocks("p100-pcie", 640, 88, 0) == 1
    assert blocks("p100-pcie", 672, 88, 0) == 0


def test_the_check_per_block_counts_whole_partitions() -> None:
    # 20 warps x 3072 registers are 61440 of a block's 65536; 21 warps are checked as 24: 73728.
    assert blocks("k80", 640, 96, 0) == 2
    assert blocks("k80", 672, 96, 0) == 0


def test_carveout_preference_is_rounded_up_to_a_size_the_chip_has() -> None:
    ten = 10 * 1024
    assert blocks("t4", 64, 16, ten) == 6
    assert blocks("t4", 64, 16, ten, percent=0) == 3  # 32 KiB is the smallest
    assert blocks("t4", 64, 16, ten, percent=51) == 6
    # A block that exceeds the preference gets the next size that holds it: 32 KiB on V100.
    assert blocks("v100-sxm2", 64, 16, 20 * 1024, percent=5) == 1


def test_named_barriers_limit_from_hopper_on() -> None:
    assert blocks("h100-sxm", 32, 16, 0, barriers=16) == 64 // 16
    assert blocks("rtx-5090", 32, 16, 0, barriers=16) == 24 // 16
    assert blocks("a100-sxm-80gb", 32, 16, 0, barriers=16) == 32


def test_volkov_section_5_7() -> None:
    """Volkov 2016, section 5.7: granularities seen on five GPUs."""
    assert blocks("gtx-680", 32, 16, 3072) == 16
    assert blocks("gtx-680", 32, 16, 3073) == 14
    for name in ("8800-gtx", "gtx-280"):
        assert 7 not in {blocks(name, 32, 8, shared) for shared in range(0, 16_368, 4)}
    assert 1 not in {blocks("gtx-980", 32, 16, shared) for shared in range(0, 48 * 1024, 64)}


def test_arguments_take_shared_memory_on_compute_capability_1() -> None:
    """Volkov 2016, section 5.7: 16 B per block and 4 B per argument."""
    resources = Resources(registers=8, static_shared_bytes=2048 - 16 - 8)
    launch = Launch((100, 1, 1), (32, 1, 1), args={"a": 1, "b": 2})
    assert occupancy_of_launch(machine("gtx-280"), resources, launch).limits["shared memory"] == 8
    more = replace(launch, args={"a": 1, "b": 2, "c": 3})
    assert occupancy_of_launch(machine("gtx-280"), resources, more).limits["shared memory"] == 6


def test_limiter_and_co_limiters() -> None:
    full = occupancy(machine("h100-sxm"), threads=256, registers=32, shared_bytes=0)
    assert (full.relative, full.limiter, full.co_limiters) == (
        1.0,
        "warps",
        ("warps", "registers"),
    )
    assert full.limits == {"warps": 8, "blocks": 32, "registers": 8, "shared memory": 228}
    few = occupancy(machine("h100-sxm"), threads=256, registers=255, shared_bytes=0)
    assert (few.blocks_per_sm, few.warps_per_sm, few.limiter) == (1, 8, "registers")


def test_slack_by_hand() -> None:
    """128 threads of 40 registers on an H100: 12 blocks; 32 registers or 3 warps give more."""
    answer = occupancy(machine("h100-sxm"), threads=128, registers=40, shared_bytes=0)
    threads, registers, shared = answer.slacks
    assert (threads.for_one_more, threads.until_one_less) == (96, 128)
    assert (registers.for_one_more, registers.until_one_less) == (32, 40)
    # 228 KiB / 12 = 19 KiB, less the reserved 1 KiB.
    assert (shared.for_one_more, shared.until_one_less) == (None, 18 * 1024)


def test_waves_and_tail() -> None:
    def waves(grid: int) -> tuple[float | None, int | None, float | None]:
        answer = occupancy(
            machine("h100-sxm"), threads=256, registers=32, shared_bytes=0, blocks=grid
        )
        return answer.waves, answer.tail_blocks, answer.tail_share

    full = 132 * 8
    assert waves(full) == (1.0, full, 1.0)
    assert waves(full + 1) == ((full + 1) / full, 1, 1 / full)
    assert waves(1) == (1 / full, 1, 1 / full)


def test_unknown_registers_limit_nothing_and_are_noted() -> None:
    answer = occupancy(machine("h100-sxm"), threads=1024, registers=None, shared_bytes=0)
    assert answer.blocks_per_sm == 2
    assert "registers" not in answer.limits
    assert any("registers" in note for note in answer.assumptions)
    assert all("registers" not in slack.resource for slack in answer.slacks)


def test_shared_memory_that_needs_an_opt_in_is_noted() -> None:
    def notes(shared: int) -> tuple[str, ...]:
        m = machine("a100-sxm-80gb")
        return occupancy(m, threads=128, registers=32, shared_bytes=shared).assumptions

    assert notes(48 * 1024) == ()
    assert "opt in" in notes(48 * 1024 + 1)[0]


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "message"),
    [
        (2048, 32, 0, "block of 2048 threads exceeds 1024 on h100-sxm (cc 9.0)"),
        (128, 256, 0, "256 registers per thread exceed 255 on h100-sxm (cc 9.0)"),
        (128, 32, 232_449, "232449 B of shared memory per block exceed 232448"),
        (1024, 72, 0, "exceeds the 65536 registers of a block"),
        (0, 32, 0, "threads per block is 0"),
        (32, -1, 0, "registers per thread is -1"),
        (32, 32, -1, "shared memory per block in bytes is -1"),
    ],
)
def test_what_does_not_fit_is_named(
    threads: int, registers: int, shared: int, message: str
) -> None:
    with pytest.raises(LaunchError) as error:
        occupancy(machine("h100-sxm"), threads=threads, registers=registers, shared_bytes=shared)
    assert message in str(error.value)
    assert error.value.hint


def test_other_bad_inputs() -> None:
    h100 = machine("h100-sxm")
    with pytest.raises(LaunchError, match="grid of 0 blocks"):
        occupancy(h100, threads=32, registers=32, shared_bytes=0, blocks=0)
    with pytest.raises(InputError, match="101 %"):
        occupancy(h100, threads=32, registers=32, shared_bytes=0, shared_preference_percent=101)
    with pytest.raises(LaunchError, match="65 named barriers"):
        occupancy(h100, threads=32, registers=32, shared_bytes=0, named_barriers=65)
    bare = replace(h100, quantities={})
    with pytest.raises(MissingNumberError, match="occupancy"):
        occupancy(bare, threads=32, registers=32, shared_bytes=0)


def test_launch_bounds_hold() -> None:
    resources = Resources(registers=32, max_threads_per_block=128)
    with pytest.raises(LaunchError, match="256 threads exceeds the 128"):
        occupancy_of_launch(machine("h100-sxm"), resources, Launch((1, 1, 1), (256, 1, 1)))


def test_a_launch_adds_static_and_dynamic_shared_memory() -> None:
    resources = Resources(registers=32, static_shared_bytes=1000)
    launch = Launch((264, 1, 1), (16, 16, 1), smem_bytes=500)
    answer = occupancy_of_launch(machine("h100-sxm"), resources, launch)
    assert answer.shared_bytes_per_block == 1500
    assert answer.threads_per_block == 256
    assert answer.waves == 264 / (132 * 8)


@pytest.mark.parametrize(("carveout", "held"), [(None, 8), (0, 1), (10, 4), (100, 8)])
def test_a_launch_may_prefer_l1_cache(carveout: int | None, held: int) -> None:
    """A profiler counts one block of 7 KiB on an SM of an H100 that prefers L1 cache."""
    resources = Resources(registers=32, static_shared_bytes=6144)
    launch = Launch((255, 1, 1), (256, 1, 1), carveout=carveout)
    assert occupancy_of_launch(machine("h100-sxm"), resources, launch).blocks_per_sm == held


# ---------------------------------------------------------------------------- laws

requests = st.tuples(
    st.sampled_from(machine_names()),
    st.integers(1, 1100),
    st.integers(0, 260),
    st.integers(0, 240_000) | st.integers(0, 20_000),
    st.none() | st.integers(0, 100),
    st.integers(0, 16),
)


def place_blocks(
    m: Machine, threads: int, registers: int, shared: int, percent: int | None, barriers: int
) -> int:
    """The rules told as a story: put blocks on an SM one by one until one does not fit."""

    def number(path: str) -> int:
        return int(m.number(f"occupancy.{path}"))

    old = m.compute_capability < (2, 0)
    warps = (threads + 31) // 32
    allocated = shared + number("shared_reserved")
    while allocated % number("shared_unit"):
        allocated += 1
    ceiling = int(m.get("occupancy.shared_per_block_optin") or number("shared_per_block"))
    if (
        threads > number("threads_per_block")
        or registers > number("registers_per_thread")
        or allocated > ceiling + number("shared_reserved")
    ):
        return 0
    capacity = number("shared_per_sm")
    sizes = [int(size) for size in m.numbers("occupancy.shared_carveouts")]
    if percent is not None and sizes:
        capacity = next(s for s in sizes if s >= capacity * percent // 100)
        if allocated > capacity and m.compute_capability >= (7, 0):
            capacity = next(s for s in sizes if s >= allocated)
        elif allocated > capacity:
            capacity = number("shared_per_sm")
    unit = number("register_unit")
    if old:
        pairs = warps + warps % number("warp_granularity")
        per_block = -(-pairs * 32 * registers // unit) * unit
        slots = [number("registers_per_sm") // per_block] if registers else [99]
        needed = 1
    else:
        per_warp = -(-32 * registers // unit) * unit
        partitions = number("sub_partitions")
        for checked in {partitions, 4 if m.compute_capability == (6, 0) else partitions}:
            fullest = -(-warps // checked)
            if fullest * checked * per_warp > number("registers_per_block"):
                return 0
        size = number("registers_per_sm") // partitions
        slots = [size // per_warp if per_warp else 99] * partitions
        needed = warps
    free_barriers = m.get("occupancy.named_barriers")
    free_warps, placed = number("warps_per_sm"), 0
    while placed < number("blocks_per_sm"):
        if free_barriers is not None:
            free_barriers -= barriers
            if free_barriers < 0:
                break
        free_warps -= warps
        capacity -= allocated
        if free_warps < 0 or capacity < 0 or sum(slots) < needed:
            break
        for _ in range(needed):
            slots[slots.index(max(slots))] -= 1
        placed += 1
    return placed


@settings(max_examples=600, deadline=None)
@given(requests)
def test_equals_placing_blocks_one_by_one(
    request: tuple[Any, ...],
) -> None:
    name, *rest = request
    assert blocks(name, *rest) == place_blocks(machine(name), *rest)


@settings(max_examples=300, deadline=None)
@given(requests, st.sampled_from([1, 2, 3]), st.integers(1, 2000))
def test_more_of_a_resource_never_gives_more_blocks(
    request: tuple[Any, ...], which: int, step: int
) -> None:
    more = list(request)
    more[which] += step
    if request[2] == 0 and which == 2:
        return  # 0 registers stand for unknown
    assert blocks(*more) <= blocks(*request)


@settings(max_examples=300, deadline=None)
@given(requests)
def test_never_exceeds_what_an_sm_has(request: tuple[str, int, int, int, int | None, int]) -> None:
    name, threads, registers, shared, *_ = request
    n = blocks(*request)
    m = machine(name)
    warps = n * ((threads + 31) // 32)
    assert warps <= m.number("occupancy.warps_per_sm")
    assert n <= m.number("occupancy.blocks_per_sm")
    assert warps * 32 * registers <= m.number("occupancy.registers_per_sm")
    assert n * shared <= m.number("occupancy.shared_per_sm")


RESOURCES = {
    "threads per block": "threads",
    "registers per thread": "registers",
    "shared memory per block": "shared_bytes",
}


@settings(max_examples=250, deadline=None)
@given(requests)
def test_slacks_are_exact(request: tuple[str, int, int, int, int | None, int]) -> None:
    name, threads, registers, shared, percent, barriers = request
    values = {"threads": threads, "registers": registers, "shared_bytes": shared}
    fixed: dict[str, Any] = {"shared_preference_percent": percent, "named_barriers": barriers}

    def at(key: str, value: int) -> int:
        try:
            found: Occupancy = occupancy(machine(name), **{**values, key: value}, **fixed)
        except LaunchError:
            return 0
        return found.blocks_per_sm

    if not at("threads", threads):
        return
    answer = occupancy(machine(name), **values, **fixed)
    now = answer.blocks_per_sm
    for slack in answer.slacks:
        key = RESOURCES[slack.resource]
        assert slack.current == values[key]
        assert at(key, slack.until_one_less) == now
        assert at(key, slack.until_one_less + 1) < now
        if slack.for_one_more is not None:
            assert slack.for_one_more < slack.current
            assert at(key, slack.for_one_more) > now
            assert at(key, slack.for_one_more + 1) == now
        elif slack.resource != "registers per thread":
            assert at(key, 0 if key == "shared_bytes" else 1) == now
        else:
            assert at(key, 1) == now
