"""Files of Kernel Tuner and KTT: their times, parameters and counters, and what is damaged."""

from __future__ import annotations

import gzip
import json

import pytest

from kernelcast.errors import InputError, ParseError
from kernelcast.measurements.reading import read_measurements

CACHE = {
    "device_name": "Some GPU",
    "kernel_name": "scale",
    "tune_params_keys": ["block_size_x", "unroll"],
    "tune_params": {"block_size_x": [64, 128, 256], "unroll": [1]},
    "cache": {
        "64,1": {"block_size_x": 64, "unroll": 1, "time": 5.0, "times": [11.0, 2.0, 2.5]},
        "128,1": {"block_size_x": 128, "unroll": 1, "time": 3.0, "num_regs": 18},
        "256,1": {"block_size_x": 256, "unroll": 1, "time": "RuntimeFailedConfig"},
    },
}
KTT = {
    "Metadata": {"Device": "Some GPU", "KttVersion": "2.1.0", "TimeUnit": "Microseconds"},
    "Results": [
        {
            "Status": "Ok",
            "KernelName": "Scale",
            "TotalDuration": 99.0,
            "Configuration": [{"Name": "BLOCK", "Value": 64}],
            "ComputationResults": [
                {
                    "Duration": 12.5,
                    "GlobalSize": {"X": 32, "Y": 2, "Z": 1},
                    "LocalSize": {"X": 64, "Y": 1, "Z": 1},
                    "CompilationData": {"RegistersCount": 20},
                    "ProfilingData": {"Counters": [{"Name": "dram__bytes.sum", "Value": 4}]},
                }
            ],
        },
        {"Status": "ComputationFailed", "KernelName": "Scale", "ComputationResults": []},
    ],
}


def written(path, text):
    path.write_text(text)
    return path


def test_a_time_of_kernel_tuner_is_the_median_of_its_repeats_in_seconds(tmp_path):
    """The mean holds the first, slow run; what failed has a word in place of its time."""
    found = read_measurements(written(tmp_path / "cache.json", json.dumps(CACHE)))
    assert (found.device, found.failed) == ("Some GPU", 1)
    first, second = found.observations
    assert first.time_s == pytest.approx(2.5e-3)
    assert first.parameters == {"block_size_x": 64, "unroll": 1}
    assert first.registers is None
    assert (second.time_s, second.registers) == (pytest.approx(3e-3), 18)
    assert str(second) == "scale block_size_x=128 unroll=1"


@pytest.mark.parametrize("end", ["", ",", ",\n"])
def test_a_cache_that_was_never_closed_is_read_as_far_as_it_goes(tmp_path, end):
    text = json.dumps(CACHE).removesuffix("}}") + end
    assert len(read_measurements(written(tmp_path / "cache.json", text)).observations) == 2


def test_a_time_of_ktt_is_that_of_the_kernel_without_the_tuners_overhead(tmp_path):
    path = tmp_path / "output.json.gz"
    path.write_bytes(gzip.compress(json.dumps(KTT).encode()))
    found = read_measurements(path)
    (one,) = found.observations
    assert found.failed == 1
    assert one.time_s == pytest.approx(12.5e-6)
    assert (one.grid, one.block, one.registers) == ((32, 2, 1), (64, 1, 1), 20)
    assert one.parameters == {"BLOCK": 64}
    assert one.counters == {"dram__bytes.sum": 4.0}


@pytest.mark.parametrize(
    ("text", "error", "what"),
    [
        ("hello", InputError, "no file of measurements"),
        ("", InputError, "no file of measurements"),
        ('{"tune_params_keys": 1', ParseError, "damaged kernel_tuner file"),
        ('{"tune_params_keys": [], "cache": {"": {}}}', ParseError, "damaged kernel_tuner file"),
        ('{"KttVersion": 1}', ParseError, "damaged ktt file"),
        (json.dumps({**CACHE, "cache": {}}), InputError, "holds no times"),
    ],
)
def test_a_file_that_is_none_is_said_in_one_line(tmp_path, text, error, what):
    path = written(tmp_path / "file.json", text)
    with pytest.raises(error, match=what) as caught:
        read_measurements(path)
    assert caught.value.where == str(path)
    assert "\n" not in str(caught.value)


def test_a_damaged_archive_and_a_missing_file_are_said_too(tmp_path):
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"x" * 1000)[:-20])
    with pytest.raises(ParseError, match="damaged"):
        read_measurements(path)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_measurements(tmp_path / "nothing")


def test_parameters_may_stand_in_the_key_alone_and_times_be_missing(tmp_path):
    bare = {"64,1": {"time": 5.0}, "128,1": {}, "256,1": {"time": None}, "512,fast": {"time": 1}}
    found = read_measurements(written(tmp_path / "c.json", json.dumps({**CACHE, "cache": bare})))
    assert found.failed == 2
    assert [one.parameters for one in found.observations] == [
        {"block_size_x": 64, "unroll": 1},
        {"block_size_x": 512, "unroll": "fast"},
    ]
