"""What was measured on a known chip gives that chip again."""

from __future__ import annotations

import json
import math

import pytest

from kernelcast.calibration.calibrate import calibrate, write_machine
from kernelcast.calibration.raw import read_raw
from kernelcast.calibration.rules import OPERATION_OF, rules
from kernelcast.errors import InputError, KernelcastError
from kernelcast.machines.loader import load_machine
from kernelcast.machines.machine import Kind


def expected(truth) -> dict[str, float]:
    """Every number that a calibration must return for the chip."""
    numbers = {
        "sm.count": truth.sms,
        "clock.sm": truth.clock_hz,
        "latency.shared": truth.shared,
        "latency.bank_conflict": truth.conflict,
        "latency.l1": truth.l1,
        "latency.l2": truth.l2,
        "latency.dram": truth.dram,
        "latency.barrier": truth.barrier,
        "latency.block_replacement": truth.replacement,
        "l1.bandwidth": truth.near["l1"],
        "shared.bandwidth": truth.near["shared"],
        "l2.bandwidth": truth.stream["l2"],
        "dram.achieved_bandwidth": truth.stream["dram"],
        "launch.overhead": truth.launch_s,
        "mwp_cwp.mem_ld": truth.dram,
        "mwp_cwp.departure_coalesced": 128 * truth.sms / truth.capacity * truth.clock_hz,
        "mwp_cwp.departure_uncoalesced": 32 * truth.sms / truth.capacity * truth.clock_hz,
        "volkov.latency_base": truth.dram,
        "volkov.latency_slope": truth.loaded_slope,
        "volkov.latency_capacity": truth.capacity,
    }
    for op_class, operation in OPERATION_OF.items():
        numbers[f"latency.{op_class}"] = truth.latency[operation]
        numbers[f"throughput.{op_class}"] = truth.rate[operation]
    return numbers


def test_a_known_chip_comes_back(truth, raw_file):
    found = calibrate(read_raw(str(raw_file)))
    assert not found.gaps
    assert not found.remarks
    values = {f.path: f.quantity.value for f in found.findings}
    for path, number in expected(truth).items():
        assert values[path] == pytest.approx(number, rel=0.02), path


def test_the_machine_file_loads_with_every_finding(raw_file, tmp_path):
    found = calibrate(read_raw(str(raw_file)))
    path = str(tmp_path / "chip.toml")
    write_machine(found, path)
    machine = load_machine(path)
    assert machine.title == "Synthetic GPU"
    assert machine.architecture == "Ampere"
    assert machine.compute_capability == (8, 0)
    for finding in found.findings:
        assert machine.quantities[finding.path] == finding.quantity
    source = machine.quantities["latency.dram"].source
    for part in ("microbenchmarks 1", "chase", "Synthetic GPU at 1500 MHz", "driver 12.8", "20"):
        assert part in source
    assert machine.quantities["volkov.latency_base"].kind is Kind.FITTED
    assert machine.quantities["latency.dram"].kind is Kind.MEASURED


def calibrated(document, folder):
    path = folder / "raw.json"
    path.write_text(json.dumps(document))
    return calibrate(read_raw(str(path)))


def test_every_benchmark_that_is_missing_is_named(document, tmp_path):
    for name in {rule.benchmark for rule in rules()}:
        left = {k: v for k, v in document["benchmarks"].items() if k != name}
        found = calibrated({**document, "benchmarks": left}, tmp_path)
        paths = {rule.path for rule in rules() if rule.benchmark == name}
        assert {gap.path for gap in found.gaps} == paths
        assert {(gap.benchmark, gap.why) for gap in found.gaps} == {(name, "not measured")}


def test_a_benchmark_that_failed_says_why(document, tmp_path):
    document["benchmarks"]["barriers"] = {"status": "failed", "error": "hangs", "samples": []}
    (gap,) = calibrated(document, tmp_path).gaps
    assert (gap.path, gap.why) == ("latency.barrier", "failed: hangs")


@pytest.mark.parametrize(
    "samples", [[], None, 3, [{}], [None], ["text"], [{"warps": 8, "barriers": 0}]]
)
def test_damaged_samples_are_named(document, tmp_path, samples):
    document["benchmarks"]["barriers"]["samples"] = samples
    (gap,) = calibrated(document, tmp_path).gaps
    assert gap.path == "latency.barrier"
    assert "damaged" in gap.why or "cannot be fitted" in gap.why


def test_a_fit_with_too_large_a_residual_is_refused(document, tmp_path):
    for sample in document["benchmarks"]["conflicts"]["samples"]:
        factor = 1 + 0.5 * math.sin(7 * sample["degree"])
        sample["warp_cycles"] = [c * factor for c in sample["warp_cycles"]]
    gaps = {gap.path: gap.why for gap in calibrated(document, tmp_path).gaps}
    assert set(gaps) == {"latency.bank_conflict"}
    assert "is above 5%" in gaps["latency.bank_conflict"]


def test_a_clock_that_moved_is_said(document, tmp_path):
    document["benchmarks"]["chase"]["clock_after_hz"] = 1.2e9
    (remark,) = calibrated(document, tmp_path).remarks
    assert remark.startswith("chase: the clock went from 1500 to 1200 MHz")


def test_a_quick_measurement_gives_every_number_too(truth, tmp_path):
    from tests.calibration.conftest import measured

    found = calibrate(read_raw(str(measured(truth, tmp_path, quick=True))))
    assert not found.gaps


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", '{"schema": "other"}'),
        '{"schema": "kernelcast/raw/1", "suite": "0"}',
        '{"schema": "kernelcast/raw/1", "suite": "1", "benchmarks": {}}',
        '{"schema": "kernelcast/raw/1", "suite": "1", "device": {"name": "x"}, "benchmarks": {}}',
    ],
)
def test_what_is_no_raw_file_is_one_error(tmp_path, text):
    path = tmp_path / "raw.json"
    path.write_text(text)
    with pytest.raises(KernelcastError, match=r"raw\.json"):
        read_raw(str(path))


def test_the_machine_file_must_be_named_as_one(raw_file, tmp_path):
    with pytest.raises(InputError, match=r"ends in \.toml"):
        write_machine(calibrate(read_raw(str(raw_file))), str(tmp_path / "chip"))
    assert not list(tmp_path.iterdir())
