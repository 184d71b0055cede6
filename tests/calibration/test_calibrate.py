"""What was measured on a known chip gives that chip again."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from tests.measuring.fake_gpu import known_chip
from tests.measuring.measured import measured

from kernelcast.calibration.calibrate import calibrate, write_machine
from kernelcast.calibration.rules import rules
from kernelcast.calibration.rules.arithmetic import OPERATION_OF
from kernelcast.errors import InputError, KernelcastError
from kernelcast.machines.loader import load_machine
from kernelcast.machines.machine import Provenance
from kernelcast.measuring.raw import read_raw
from kernelcast.measuring.samples import sample_type


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
        "latency.barrier_warp": truth.barrier_warp,
        "dram.write_bandwidth": truth.stream["dram"] * truth.write_share,
        "dram.mixed_bandwidth": truth.stream["dram"] * truth.mixed_share,
        "l2.mixed_bandwidth": truth.stream["l2"] * truth.mixed_share,
        "atomics.same_address_block": truth.same_address_s / 2,
        "atomics.same_address_system": truth.same_address_s * 2,
        "latency.block_replacement": truth.replacement,
        "l1.bandwidth": truth.near["l1"],
        "shared.bandwidth": truth.near["shared"],
        "l2.bandwidth": truth.stream["l2"],
        "noc.bandwidth": truth.stream["l2"],
        "dram.achieved_bandwidth": truth.stream["dram"],
        "launch.overhead": truth.launch_s,
        "mwp_cwp.mem_ld": truth.dram,
        "mwp_cwp.departure_coalesced": 128 * truth.sms / truth.capacity * truth.clock_hz,
        "mwp_cwp.departure_uncoalesced": 32 * truth.sms / truth.capacity * truth.clock_hz,
        "volkov.latency_base": truth.dram,
        "volkov.latency_slope": truth.loaded_slope,
        "volkov.latency_capacity": truth.capacity,
        "latency.l2_far": truth.l2_far,
        "latency.l2_spread": (truth.l2_far - truth.l2) / 2,
        "latency.dram_spread": truth.dram_spread,
        "dram.write_wait": truth.write_wait_s,
        "latency.constant": truth.constant,
        "latency.constant_far": truth.constant_next,
        "latency.transaction": truth.transaction,
        "throughput.convert": truth.rate["convert"],
        "throughput.convert64": truth.rate["convert_f64"],
        "latency.convert": truth.latency["convert"],
        "latency.tlb_miss": truth.tlb_miss,
        "tlb.reach": truth.tlb_bytes,
        "l1.reach": truth.l1_bytes,
        "l2.reach": truth.l2_bytes,
        "latency.atomic": truth.atomic,
        "latency.atomic_conflict": truth.atomic_conflict,
        "latency.atomic_shared": truth.atomic_shared,
        "latency.atomic_shared_conflict": truth.atomic_shared_conflict,
        "atomics.shared_lane_cycles": truth.shared_lane,
        "atomics.same_address": truth.same_address_s,
        "atomics.rate": truth.additions_per_s,
        "latency.branch_taken": truth.branch,
        "latency.divergence": truth.divergence,
        "latency.store_next": truth.store_next,
        "sm.loads_per_warp": truth.loads_per_warp,
        "sm.sectors_in_flight": truth.sectors_in_flight,
        "dram.scattered_rate": truth.scattered_per_s,
        "l2.write_rate": truth.writes_per_s,
        "l2.request_rate": 4 * truth.scattered_per_s,
        "l2.write_bandwidth": truth.written_in_l2,
        "launch.block_interval": truth.block_s,
        "pcie.bandwidth": truth.copy_rate["HtoD"],
        "pcie.bandwidth_to_host": truth.copy_rate["DtoH"],
        "pcie.latency": truth.copy_s,
        "occupancy.blocks_per_sm": 32,
        "occupancy.warps_per_sm": 64,
        "latency.tensor": truth.matrix_latency["m16n8k16_f16"],
        "throughput.tensor": truth.matrix_rate["m16n8k16_f16"],
        "throughput.tensor_tf32": truth.matrix_rate["m16n8k8_tf32"],
        "throughput.tensor_int8": truth.matrix_rate["m16n8k32_s8"],
        "throughput.tensor_fp64": truth.matrix_rate["m8n8k4_f64"],
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
        # A spread is the small difference of large numbers, each with its noise.
        assert values[path] == pytest.approx(number, rel=0.05 if "spread" in path else 0.02), path
    fitted = {rule.path for rule in rules((8, 0))}
    assert fitted <= set(expected(truth)) | {"latency.issue_next"}, "a number nobody checks"


def calibrate_only(names, chip, folder):
    """The calibration of a chip on which only these benchmarks have run."""
    return calibrate(read_raw(str(measured(chip, folder, quick=True, only=names))))


@pytest.mark.parametrize(
    ("capability", "best"),
    [
        ((7, 5), {"tensor": "m16n8k8_f16", "tensor_int8": "m8n8k16_s8"}),
        ((8, 9), {"tensor": "m16n8k16_f16", "tensor_fp8": "m16n8k32_e4m3"}),
        ((9, 0), {"tensor": "f16_n256", "tensor_fp8": "e4m3_n128", "tensor_fp64": "m16n8k8_f64"}),
        ((9, 0), {"tensor_warp": "m16n8k16_f16"}),
        ((10, 0), {"tensor": "tcgen05_f16_n256", "tensor_fp8": "tcgen05_e4m3_n256"}),
        ((12, 0), {"tensor": "m16n8k16_f16", "tensor_fp8": "m16n8k32_e4m3"}),
    ],
)
def test_the_rate_of_matrices_is_that_of_the_chips_best_instruction(capability, best, tmp_path):
    chip = known_chip(capability)
    found = calibrate_only(("tensor.", "wgmma.", "tcgen05."), chip, tmp_path)
    assert not [gap for gap in found.gaps if "tensor" in gap.path]
    rates = {
        f.path.removeprefix("throughput."): f.quantity.value
        for f in found.findings
        if f.path.startswith("throughput.tensor")
    }
    for name, shape in best.items():
        assert rates[name] == pytest.approx(chip.matrix_rate[shape], rel=0.02), name


def test_only_conversions_that_their_units_do_are_counted(tmp_path):
    """Since 8.6 an integer becomes a float elsewhere; the next conversion waits 6 cycles for it."""
    chip = known_chip((9, 0))
    found = calibrate_only(("arithmetic.convert",), chip, tmp_path)
    values = {f.path: f.quantity.value for f in found.findings}
    assert values["throughput.convert"] == pytest.approx(chip.rate["convert"] / 2, rel=0.02)
    assert values["latency.convert"] == pytest.approx(2 * chip.latency["convert"] - 6, rel=0.02)


def test_writes_that_are_faster_than_reads_are_no_rate_of_all_streams(tmp_path):
    """On HBM they are; models would take kernels that read to be as fast."""
    chip = known_chip()
    chip.write_share = 1.15
    found = calibrate_only(("bandwidth.dram",), chip, tmp_path)
    values = {f.path: f.quantity.value for f in found.findings}
    assert values["dram.achieved_bandwidth"] == pytest.approx(chip.stream["dram"], rel=0.02)
    assert values["dram.write_bandwidth"] == pytest.approx(1.15 * chip.stream["dram"], rel=0.02)


def test_a_chip_whose_cache_is_one_has_no_far_partition(tmp_path):
    chip = known_chip()
    chip.l2_far = chip.l2
    found = calibrate_only(("l2_slices",), chip, tmp_path)
    values = {f.path: f.quantity.value for f in found.findings}
    assert values["latency.l2"] == pytest.approx(chip.l2, rel=0.02)
    (why,) = (gap.why for gap in found.gaps if gap.path == "latency.l2_far")
    assert why == "cannot be fitted: the values gather at one level, not at two"


def test_a_limit_that_is_never_met_is_no_number(tmp_path):
    chip = known_chip()
    chip.loads_per_warp, chip.tlb_bytes = 1000, 1 << 40
    found = calibrate_only(("in_flight.warp", "tlb"), chip, tmp_path)
    gaps = {gap.path: gap.why for gap in found.gaps}
    assert "no limit up to 24 loads" in gaps["sm.loads_per_warp"]
    assert "does not rise by a tenth: 210 cycles at first" in gaps["tlb.reach"]


def test_a_limit_of_the_rate_is_not_taken_for_one_of_what_is_in_flight(document, tmp_path):
    """With the rate limited, DRAM, whose latency is higher, has more in flight than L2."""
    for sample in document["benchmarks"]["in_flight.sm"]["samples"]:
        asked = sample["warps"] * sample["chains"] * sample["lanes"]
        latency = max(210 if sample["level"] == "l2" else 480, asked / 2)
        sample["warp_cycles"] = [sample["hops"] * latency]
    (gap,) = calibrated(document, tmp_path).gaps
    assert gap.path == "sm.sectors_in_flight"
    assert "what is limited is the rate: sectors per cycle, 2 from l2, 2 from dram" in gap.why


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
    assert machine.quantities["volkov.latency_base"].kind is Provenance.FITTED
    assert machine.quantities["latency.dram"].kind is Provenance.MEASURED


def calibrated(document, folder):
    path = folder / "raw.json"
    path.write_text(json.dumps(document))
    return calibrate(read_raw(str(path)))


def test_every_benchmark_that_is_missing_is_named(raw_file):
    raw = read_raw(str(raw_file))
    for name in {rule.benchmark for rule in rules((8, 0))}:
        left = {k: v for k, v in raw.benchmarks.items() if k != name}
        found = calibrate(replace(raw, benchmarks=left))
        paths = {rule.path for rule in rules((8, 0)) if rule.benchmark == name}
        assert {gap.path for gap in found.gaps} == paths
        assert {(gap.benchmark, gap.why) for gap in found.gaps} == {(name, "not measured")}


def test_a_benchmark_that_failed_says_why(document, tmp_path):
    document["benchmarks"]["barriers"] = {"status": "failed", "error": "hangs", "samples": []}
    gaps = {(gap.path, gap.why) for gap in calibrated(document, tmp_path).gaps}
    why = "failed: hangs"
    assert gaps == {("latency.barrier", why), ("latency.barrier_warp", why)}


def barrier(**changes: object) -> dict[str, object]:
    """A sample of the barriers."""
    times = {key: [1.0] for key in ("warp_cycles", "span_cycles", "seconds")}
    return {"warps": 8, "barriers": 64, **times, **changes}


@pytest.mark.parametrize("samples", [[], [barrier(barriers=0)]])
def test_samples_that_cannot_be_fitted_are_named(document, tmp_path, samples):
    document["benchmarks"]["barriers"]["samples"] = samples
    gaps = calibrated(document, tmp_path).gaps
    assert {gap.path for gap in gaps} == {"latency.barrier", "latency.barrier_warp"}
    assert all("damaged" in gap.why or "cannot be fitted" in gap.why for gap in gaps)


@pytest.mark.parametrize(
    ("samples", "field"),
    [
        (None, r"\.samples: Expected `array`, got `null`"),
        (3, r"\.samples: Expected `array`, got `int`"),
        ([{}], r"\.samples\[0\]: Object missing required field"),
        ([barrier(), "text"], r"\.samples\[1\]: Expected `object`, got `str`"),
        ([barrier(warps="8")], r"\.samples\[0\]\.warps: Expected `int`, got `str`"),
        ([barrier(seconds=[None])], r"\.samples\[0\]\.seconds\[0\]: Expected `float`"),
    ],
)
def test_damaged_samples_are_one_error_that_names_the_field(document, tmp_path, samples, field):
    document["benchmarks"]["barriers"]["samples"] = samples
    with pytest.raises(InputError, match=r"raw\.json: benchmarks\.barriers" + field):
        calibrated(document, tmp_path)


def test_the_type_of_a_sample_is_all_that_its_benchmark_records(document):
    """Else a benchmark could record what nobody reads back."""
    for name, entry in document["benchmarks"].items():
        kind = sample_type(name)
        assert kind is not None, name
        for sample in entry["samples"]:
            assert set(sample) == set(kind.__struct_fields__), name


def test_a_fit_with_too_large_a_residual_is_refused(document, tmp_path):
    for sample in document["benchmarks"]["conflicts"]["samples"]:
        factor = 1 + 0.5 * math.sin(7 * sample["degree"])
        sample["warp_cycles"] = [c * factor for c in sample["warp_cycles"]]
    gaps = {gap.path: gap.why for gap in calibrated(document, tmp_path).gaps}
    assert set(gaps) == {"latency.bank_conflict"}
    assert "is above 5%" in gaps["latency.bank_conflict"]


def test_every_fit_has_a_picture_and_so_has_one_that_was_refused(document, raw_file, tmp_path):
    found = calibrate(read_raw(str(raw_file)))
    assert all(
        (f.picture is None) == (f.quantity.kind is Provenance.STATED) for f in found.findings
    )
    for finding in found.findings:
        if finding.picture:
            assert any(c.is_fit for c in finding.picture.curves), finding.path
            assert any(not c.is_fit for c in finding.picture.curves), finding.path
    for sample in document["benchmarks"]["conflicts"]["samples"]:
        sample["warp_cycles"] = [c * (1 + sample["degree"] % 3) for c in sample["warp_cycles"]]
    (gap,) = calibrated(document, tmp_path).gaps
    assert gap.picture is not None


def test_a_clock_that_moved_is_said(document, tmp_path):
    document["benchmarks"]["chase"]["clock_after_hz"] = 1.2e9
    (remark,) = calibrated(document, tmp_path).remarks
    assert remark.startswith("chase: the clock went from 1500 to 1200 MHz")


@pytest.mark.parametrize(
    ("key", "value", "remark"),
    [
        ("held_down", ["power cap", "heat"], "the clock was held down by power cap, heat"),
        ("other_programs", 2, "the GPU was shared with 2 other programs"),
        ("late_launches", 1, "1 launches may hold time in which the GPU waited"),
    ],
)
def test_what_disturbed_a_measurement_stands_in_the_source_of_its_numbers(
    document, tmp_path, key, value, remark
):
    """Else a number of a throttled or shared GPU would look like any other."""
    document["benchmarks"]["chase"][key] = value
    found = calibrated(document, tmp_path)
    assert [text.startswith(f"chase: {remark}") for text in found.remarks] == [True]
    sources = {f.path: f.quantity.source for f in found.findings}
    assert remark in sources["latency.dram"]
    assert remark not in sources["latency.l2"]


def test_the_clock_is_the_one_that_was_measured_unless_it_moved(document, tmp_path):
    """A locked or throttled GPU is slower than the driver states, and its seconds are longer."""
    for entry in document["benchmarks"].values():
        entry["clock_before_hz"] = entry["clock_after_hz"] = 1.2e9
    clock = {f.path: f.quantity for f in calibrated(document, tmp_path).findings}["clock.sm"]
    assert (clock.value, clock.kind) == (1.2e9, Provenance.MEASURED)
    for at, entry in enumerate(document["benchmarks"].values()):
        entry["clock_before_hz"] = entry["clock_after_hz"] = 1e9 + 1e7 * at
    clock = {f.path: f.quantity for f in calibrated(document, tmp_path).findings}["clock.sm"]
    assert (clock.value, clock.kind) == (1.5e9, Provenance.STATED)


def test_without_nvml_it_is_said_that_nobody_looked(document, tmp_path):
    document["device"]["nvml"] = {"unavailable": "cannot load NVML"}
    (remark,) = calibrated(document, tmp_path).remarks
    assert remark.endswith("cannot load NVML")


def test_the_drivers_version_is_the_one_that_nvml_gives(document, tmp_path):
    document["device"]["nvml"] = {"driver_version": "580.159.04"}
    sources = [f.quantity.source for f in calibrated(document, tmp_path).findings]
    assert all("driver 580.159.04" in source for source in sources)


def test_braces_in_the_name_of_a_gpu_cite_no_source(document, tmp_path):
    document["device"]["name"] = "GPU {rrze}"
    file = tmp_path / "gpu.toml"
    write_machine(calibrated(document, tmp_path), str(file))
    machine = load_machine(str(file))
    assert machine.title == "GPU {rrze}"
    assert "on GPU (rrze)" in machine.quantities["sm.count"].source


def test_a_quick_measurement_gives_every_number_too(truth, tmp_path):
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
