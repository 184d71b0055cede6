"""Tables of a known chip give that chip again; those of real chips give what is known of these."""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.calibration.fake_tables import KIB, MIB, Chip, tables

from kernelcast.calibration.calibrate import write_machine
from kernelcast.calibration.gpu_benches import calibrate_tables
from kernelcast.calibration.rules import latency
from kernelcast.errors import InputError
from kernelcast.machines.loader import load_machine
from kernelcast.machines.machine import Provenance
from kernelcast.measurements.gpu_benches import read_table

TABLES = (
    Path(os.environ.get("KERNELCAST_SHARED", Path(__file__).parents[3] / "shared"))
    / "data/RRZE-HPC+gpu-benches"
)
CHIP = Chip()
A100 = load_machine("a100-pcie-80gb")


def values(paths, machine=A100) -> dict[str, Any]:
    return {f.path: f.quantity.value for f in calibrate_tables(paths, machine).findings}


def why(paths, machine=A100) -> dict[str, str]:
    return {gap.path: gap.why for gap in calibrate_tables(paths, machine).gaps}


def test_a_known_chip_comes_back(tmp_path):
    found = calibrate_tables(tables(CHIP, tmp_path), A100)
    assert not found.gaps
    expected = {
        "clock.sm": CHIP.clock_mhz * 1e6,
        "latency.l1": 31.0,
        "latency.l2": 202.0,
        "latency.l2_far": 390.0,
        "latency.dram": 540.0,
        # The reach is where the latency has risen by a tenth, between two sizes 4 % apart.
        "l1.reach": pytest.approx(150 * KIB, rel=0.04),
        "l2.reach": pytest.approx(18 * MIB, rel=0.04),
        "l1.bandwidth": CHIP.l1_bytes_per_cycle,
        "l2.bandwidth": CHIP.l2_rate,
        "l2.mixed_bandwidth": CHIP.l2_mixed,
        # Its arrays begin anywhere, and whole lines are written faster.
        "l2.write_bandwidth": 1.179 * CHIP.write,
        "dram.achieved_bandwidth": CHIP.read,
        "dram.write_bandwidth": CHIP.write,
        "dram.triad_bandwidth": CHIP.read,
        "dram.mixed_bandwidth": CHIP.mixed,
        "launch.overhead": CHIP.launch_s,
        "launch.block_interval": CHIP.block_s,
        "throughput.fp32": CHIP.fp32,
    }
    numbers = {f.path: f.quantity.value for f in found.findings}
    assert set(numbers) == set(expected)
    for path, number in expected.items():
        wanted = number if not isinstance(number, float) else pytest.approx(number, rel=0.02)
        assert numbers[path] == wanted, path


@pytest.mark.parametrize(
    ("path", "program", "number"),
    [
        ("l1.bandwidth", "gpu-strides", CHIP.l1_bytes_per_cycle),
        ("l2.bandwidth", "gpu-l2-cache", CHIP.l2_rate),
    ],
)
def test_what_two_programs_tell_comes_from_either(tmp_path, path, program, number):
    found = values(tables(CHIP, tmp_path, [program]))
    assert found[path] == pytest.approx(number, rel=0.02)


def test_a_cache_that_is_one_has_no_far_partition(tmp_path):
    chip = replace(CHIP, latencies=((150 * KIB, 31.0), (36 * MIB, 202.0), (float("inf"), 540.0)))
    paths = tables(chip, tmp_path, ["gpu-latency"])
    assert values(paths)["latency.dram"] == pytest.approx(540, rel=0.02)
    assert "at one level" in why(paths)["latency.l2_far"]


def test_a_chase_that_stays_within_l2_is_no_latency_of_dram(tmp_path):
    chip = replace(CHIP, latencies=((150 * KIB, 31.0), (float("inf"), 202.0)))
    reasons = why(tables(chip, tmp_path, ["gpu-latency"]))
    assert reasons["latency.dram"].endswith("not those of L1, L2 and DRAM")


def test_a_rate_of_arithmetic_at_a_lowered_clock_is_no_number(tmp_path):
    """What the limit of power has slowed down would pass for a chip with fewer units."""
    (path,) = tables(CHIP, tmp_path, ["gpu-roofline"])
    text = Path(path).read_text()
    Path(path).write_text(re.sub(r"(blocks +\d{2,} its.*)1400 Mhz", r"\1 1200 Mhz", text))
    assert "memory limits" in why([path])["throughput.fp32"]


def test_blocks_that_memory_limits_tell_no_interval(tmp_path):
    chip = replace(CHIP, block_s=1e-12)
    reasons = why(tables(chip, tmp_path, ["gpu-small-kernels"]))
    assert "memory limits" in reasons["launch.block_interval"]


def test_two_tables_of_one_program_are_an_error(tmp_path):
    paths = tables(CHIP, tmp_path, ["gpu-stream"])
    with pytest.raises(InputError, match=r"as gpu-stream\.txt is"):
        calibrate_tables(paths * 2, A100)


def test_tables_of_another_gpu_are_refused(tmp_path):
    """Else rates of 108 SMs would be those of 84, and each SM of these would look faster."""
    for program in ("gpu-stream", "gpu-l2-stream"):
        with pytest.raises(InputError, match="of a GPU with 108 SMs, and a40 has 84"):
            calibrate_tables(tables(CHIP, tmp_path, [program]), load_machine("a40"))


def test_a_machine_without_l2_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"gtx-280 has no l2\.size"):
        calibrate_tables(tables(CHIP, tmp_path, ["gpu-latency"]), load_machine("gtx-280"))


def test_the_numbers_say_their_table_and_make_a_machine_file(tmp_path):
    found = calibrate_tables(tables(CHIP, tmp_path), A100)
    assert found.remarks == ("gpu-l2-stream: its last line is cut off, and left out",)
    path = str(tmp_path / "chip.toml")
    write_machine(found, path)
    machine = load_machine(path)
    assert machine.compute_capability == A100.compute_capability
    quantity = machine.quantities["latency.dram"]
    assert quantity.kind is Provenance.MEASURED
    assert quantity.source.startswith(
        "RRZE gpu-benches, gpu-latency (gpu-latency.txt) on A100 PCIe 80GB at 1400 MHz: last level"
    )


def real(name: str, *programs: str) -> list[str]:
    """Tables of a real chip."""
    if not TABLES.is_dir():
        pytest.skip(f"no {TABLES}; set KERNELCAST_SHARED to the folder that holds it")
    return [str(TABLES / program / f"{name}.txt") for program in programs]


@pytest.mark.parametrize(
    ("name", "gpu"), [("v100", "v100-pcie"), ("a100_80", "a100-pcie-80gb"), ("a40", "a40")]
)
def test_the_fits_hold_on_real_chips(name, gpu):
    """Their machine files have latencies and rates of caches that people read off these tables."""
    machine = load_machine(gpu)
    found = values(real(name, "gpu-latency", "gpu-cache", "gpu-stream"), machine)
    for path in ("clock.sm", "latency.l1", "latency.l2", "latency.dram"):
        assert found[path] == pytest.approx(machine.number(path), rel=0.04), path
    for path in ("l1.bandwidth", "l2.bandwidth"):
        assert found[path] == pytest.approx(machine.number(path), rel=0.02), path
    assert found["l1.reach"] < machine.number("l1.size")
    assert found["l2.reach"] == pytest.approx(
        machine.number("l2.size") * (0.5 if "latency.l2_far" in found else 1.0), rel=0.06
    )
    pins = machine.number("dram.bandwidth")
    assert 0.95 * pins < found["dram.write_bandwidth"] < pins * 1.001
    assert 0.85 * pins < found["dram.mixed_bandwidth"] < 0.95 * pins


@pytest.mark.parametrize(
    ("name", "gpu"), [("v100", "v100-pcie"), ("a100_80", "a100-pcie-80gb"), ("a40", "a40")]
)
def test_the_rules_of_our_own_benchmarks_say_the_same_of_real_chases(name, gpu):
    """The chase and the search for the sizes of the caches, from points of a real chip.

    Unlike ours, this chase did not empty L2 before: only far beyond it is all of it from DRAM.
    """
    machine = load_machine(gpu)
    (path,) = real(name, "gpu-latency")
    l2_bytes = machine.number("l2.size")
    wanted = {"l1": (8 * KIB, MIB), "l2": (l2_bytes / 16, math.inf)}
    samples = [
        SimpleNamespace(
            kernel="chase_ca" if level == "l1" else "chase_cg",
            level=level,
            order="next",
            stride_bytes=128,
            footprint_bytes=row.footprint_bytes,
            hops=1,
            warp_cycles=[row.cycles],
        )
        for row in read_table(path).rows
        for level, (low, high) in wanted.items()
        if low <= row.footprint_bytes <= high
    ]
    tables_say = values([path], machine)
    for rule in latency.rules():
        if rule.path in ("latency.l1", "latency.dram", "l1.reach", "l2.reach"):
            found = rule.fit(samples_of(rule.path, samples), {"l2_bytes": l2_bytes})
            assert found.residual < rule.max_residual
            assert found.value == pytest.approx(tables_say[rule.path], rel=0.03), rule.path


def samples_of(path, samples):
    """A search for a size is a benchmark of its own, which has no other's points."""
    return [s for s in samples if not path.endswith("reach") or path.startswith(s.level)]


@pytest.mark.parametrize("part", [(0, 2), (1, 2), (0, 3), (2, 3)])
@pytest.mark.parametrize(
    ("name", "gpu"), [("v100", "v100-pcie"), ("a100_80", "a100-pcie-80gb"), ("a40", "a40")]
)
def test_the_fits_do_not_hang_on_single_points_of_real_chips(name, gpu, part, tmp_path):
    machine = load_machine(gpu)
    whole = real(name, "gpu-latency", "gpu-cache", "gpu-stream")
    thinned = [thin(path, *part, tmp_path) for path in whole]
    all_say, some_say = values(whole, machine), values(thinned, machine)
    # A reach lies between two sizes; where these are 12 % apart, that is too far, and no number.
    is_close = part[1] == 2
    assert set(some_say) == {path for path in all_say if is_close or not path.endswith("reach")}
    for path, number in some_say.items():
        tolerance = 0.08 if path.endswith("reach") else 0.02
        assert number == pytest.approx(all_say[path], rel=tolerance), path


def thin(path, first, step, folder):
    """The table with every so many lines of numbers alone."""
    lines = Path(path).read_text().splitlines()
    head = next(i for i, line in enumerate(lines) if re.match(r"\s*[0-9]", line))
    thinned = Path(path).parent.name
    kept = [*lines[:head], *lines[head + first :: step]]
    (folder / f"{thinned}.txt").write_text("\n".join(kept) + "\n")
    return str(folder / f"{thinned}.txt")


def test_of_these_chips_only_ga100_has_two_partitions():
    far = {
        name: "latency.l2_far" in values(real(name, "gpu-latency"), load_machine(gpu))
        for name, gpu in (("v100", "v100-pcie"), ("a100_80", "a100-pcie-80gb"), ("a40", "a40"))
    }
    assert far == {"v100": False, "a100_80": True, "a40": False}


def test_an_a100_begins_a_block_in_about_a_cycle():
    found = values(real("a100_80", "gpu-small-kernels"))
    assert found["launch.block_interval"] * 1.41e9 == pytest.approx(1.05, rel=0.02)


def test_the_arithmetic_of_an_a40_at_its_limit_of_power_is_refused():
    machine = load_machine("a40")
    assert "memory limits" in why(real("alex_a40", "gpu-roofline"), machine)["throughput.fp32"]
    found = values(real("alex_a100_40", "gpu-roofline"), load_machine("a100-sxm-40gb"))
    assert found["throughput.fp32"] == pytest.approx(64, rel=0.05)
