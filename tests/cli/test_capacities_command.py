"""`kernelcast validate capacities`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CHASE = Path(__file__).parents[2] / "measurements/public/chase.cu"
SMALL = (
    *("--set", "l1.size=24576", "--set", "l1.reach=24576", "--set", "l1.ways=48"),
    *("--set", "l2.size=204800", "--set", "l2.ways=16", "--set", "occupancy.shared_carveouts=0"),
)
"""An L1 cache of 24 KiB in all and an L2 cache of 200 KiB, in sets of 16 lines."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A chase on a chip with such caches: KiB from 2 to 400, and cycles."""
    file = tmp_path / "chip.txt"
    sizes = [2 * 1.2**n for n in range(30)]
    cycles = {kib: 20 if kib <= 24 else 180 if kib <= 200 else 420 for kib in sizes}
    rows = [f"1000 1400 {kib:.3f} 20.0 20.0 {cycles[kib]}.0 20.0 20.0\n" for kib in sizes]
    file.write_text("".join(rows))
    return file


def words(table: Path, *more: object) -> tuple[object, ...]:
    return ("validate", "capacities", table, "--workload", CHASE, "--gpu", "v100-pcie", *more)


def test_capacities_are_put_beside_those_of_a_chase(run, table):
    done = run(*words(table, *SMALL))
    assert done.status == 0, done.err
    assert "2 capacities of Tesla V100 PCIe 16GB, at most" in done.out


def test_json_holds_both_capacities_in_bytes(run, table):
    done = run(*words(table, *SMALL, "--json"))
    assert done.status == 0, done.err
    answer = json.loads(done.out)
    assert (answer["set"], answer["gpu"]) == ("capacities", "v100-pcie")
    first, second = answer["capacities"]
    assert first["measured_bytes"] == pytest.approx(24 << 10, rel=0.2)
    assert second["measured_bytes"] == pytest.approx(200 << 10, rel=0.2)
    assert max(first["error"], second["error"]) < 0.1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--workload", "nowhere.cu"), "nowhere.cu"),
        (("--set", "l2.sise=1"), "l2.size"),
        (("--gpu", "v100-pice"), "v100-pcie"),
    ],
)
def test_what_is_wrong_is_one_line(run, table, more, message):
    done = run(*words(table, *more))
    assert done.status == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_file_that_is_no_table_is_refused(run, table):
    table.write_text("no table\n")
    done = run(*words(table))
    assert (done.status, "Traceback" in done.err) == (2, False)
    assert table.name in done.err
