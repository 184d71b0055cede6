"""Where caches overflow: tables made by hand, and caches of few lines that are simulated."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from kernelcast.errors import InputError
from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.validation.capacities import Capacity, knees, validate_capacities

CHASE = Path(__file__).parents[2] / "measurements/public/chase.cu"
READ_AGAIN = CHASE.with_name("read_again.cu")
KIB = 1024
SIZES = [2 * 1.1**n for n in range(60)]
"""KiB, up to 551."""


def latency(kib: float) -> float:
    """Levels of 20, 180 and 420 cycles; the ends of the levels are at 24 and 200 KiB."""
    return 20 if kib <= 24 else 180 if kib <= 200 else 420


def table(folder: Path, sizes: list[float]) -> str:
    """Hops, MHz, KiB, ms, and cycles: the median, the least and the most after it."""
    file = folder / "chip.txt"
    rows = [f"1000 1400 {kib:.3f} 20.0 20.0 {latency(kib)} 20.0 20.0\n" for kib in sizes]
    file.write_text("".join(rows))
    return str(file)


def test_a_knee_is_halfway_between_two_levels() -> None:
    sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256]
    latencies = [10, 10, 10, 10, 40, 160, 160, 160, 160]
    assert knees(sizes, latencies) == (pytest.approx(16),)
    assert knees(sizes, [100] * 9) == ()


def test_simulated_caches_overflow_where_a_table_made_for_their_sizes_says(tmp_path: Path) -> None:
    """L1 of 24 KiB in all, L2 of 200 KiB in sets of 16 lines."""
    settings = ("l1.size=24576", "l1.reach=24576", "l1.ways=48", "l2.size=204800", "l2.ways=16")
    chip = apply_overrides(load_machine("v100-pcie"), [*settings, "occupancy.shared_carveouts=0"])
    found = validate_capacities(table(tmp_path, SIZES), CHASE, chip)
    assert len(found) == 2
    assert all(one.error < 0.1 for one in found), found


def test_reading_slows_down_where_an_l1_cache_overflows(tmp_path: Path) -> None:
    """One of 64 KiB, for 16 warps with up to 40 lines of 128 B each on their way; all wait evenly,
    so that none of them gets ahead."""
    file = tmp_path / "chip.txt"
    sizes = [36, 44, 52, 56, 112, 132, 148, 168, 188]
    rates = [8000.0 if kib <= 112 else 2000.0 for kib in sizes]
    file.write_text("".join(_read(kib, rate) for kib, rate in zip(sizes, rates, strict=True)))
    small = ("l1.size=65536", "l1.reach=65536", "l1.ways=128", "occupancy.shared_carveouts=0")
    slow = ("sm.count=2", "l2.bandwidth=6e10", "noc.wait_spread=0")
    chip = apply_overrides(load_machine("a40"), [*small, *slow])
    (found,) = validate_capacities(str(file), READ_AGAIN, chip)
    assert found.measured_bytes == pytest.approx(math.sqrt(112 * 132) * KIB)
    assert found.error < 0.05


def _read(kib: int, gigabytes: float) -> str:
    return f"  {kib} kB 5ms 0.4% {gigabytes} GB/s 0 GB/s 0 GB/s 0 GB/s 0 GB/s\n"


def test_a_capacity_that_nothing_simulated_comes_near_is_infinitely_off() -> None:
    assert Capacity(1000, 1100).error == pytest.approx(0.1)
    assert Capacity(1000, None).error == math.inf


def test_a_table_without_a_rise_shows_no_capacity(tmp_path: Path) -> None:
    file = table(tmp_path, [kib for kib in SIZES if kib < 20])
    with pytest.raises(InputError, match="shows no capacity"):
        validate_capacities(file, CHASE, load_machine("v100-pcie"))


def test_other_programs_tables_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "chip.txt"
    file.write_text("float block 1 1024 4.0 32.0 1.0 1.0 1.0\n")
    with pytest.raises(InputError, match="no table of gpu-latency"):
        validate_capacities(str(file), CHASE, load_machine("v100-pcie"))
