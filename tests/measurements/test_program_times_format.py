"""Files of program times: launches by program and kernel, repeats together."""

from __future__ import annotations

import gzip
import json

import pytest

from kernelcast.errors import ParseError
from kernelcast.measurements.formats.program_times import kernel_name
from kernelcast.measurements.reading import read_measurements

LAUNCH = {
    "kernel": "void scale<float>(T1 *, int)",
    "grid": [8, 1, 1],
    "block": [256, 1, 1],
    "time_s": 1e-5,
    "dram_read_bytes": 4096,
    "dram_write_bytes": 0,
    "instructions": 1000,
    "registers": 16,
}


@pytest.fixture
def read(tmp_path):
    def made(launches):
        file = tmp_path / "times.json.gz"
        document = {
            "schema": "kernelcast/program-times/1",
            "device": "Some GPU",
            "programs": {"heat": {"arguments": "-n 3", "launches": launches}},
        }
        file.write_bytes(gzip.compress(json.dumps(document).encode()))
        return read_measurements(file)

    return made


def test_launches_that_are_alike_are_repeats(read):
    found = read(
        [LAUNCH, {**LAUNCH, "time_s": 3e-5, "instructions": 2000}, {**LAUNCH, "grid": [9, 1, 1]}]
    )
    assert found.device == "Some GPU"
    first, second = found.observations
    assert (first.kernel, first.seconds, first.grid) == ("heat/scale", (1e-5, 3e-5), (8, 1, 1))
    assert first.signature == LAUNCH["kernel"]
    assert first.parameters == {"arguments": "-n 3"}
    assert first.registers == 16
    assert first.counters["smsp__inst_executed.sum"] == 1500
    assert first.counters["dram__bytes_read.sum"] == 4096
    assert (second.seconds, second.grid) == ((1e-5,), (9, 1, 1))


def test_other_counters_are_means_too(read):
    share = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
    two = [{**LAUNCH, "counters": {share: value}} for value in (60.0, 80.0)]
    (found,) = read(two).observations
    assert found.counters[share] == 70


def test_a_counter_that_one_repeat_lacks_is_left_out(read):
    two = [{**LAUNCH, "counters": counters} for counters in ({"a": 1.0, "b": 2.0}, {"b": 4.0})]
    (found,) = read(two).observations
    assert "a" not in found.counters and found.counters["b"] == 3


def test_a_launch_without_its_grid_is_damage(read):
    broken = {name: value for name, value in LAUNCH.items() if name != "grid"}
    with pytest.raises(ParseError, match="grid"):
        read([broken])


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("f", "f"),
        ("f(int *, int)", "f"),
        ("void f<unsigned char>(T1 *, const T1 *)", "f"),
        ("void ns::inner::f<ns::g<int>, (bool)1>(ns::h<int> *)", "f"),
        ("void (anonymous namespace)::f<int>(int)", "f"),
        ("void <unnamed>::f(int)", "f"),
    ],
)
def test_the_plain_name_of_a_kernel(signature, name):
    assert kernel_name(signature) == name
