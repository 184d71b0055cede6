"""What is measured twice is the same twice, and what is not is said."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kernelcast.calibration.calibrate import calibrate
from kernelcast.calibration.repeats import Repeat, compare
from kernelcast.errors import InputError
from kernelcast.machines.machine import Provenance
from kernelcast.measuring.raw import read_raw


@pytest.fixture(scope="module")
def first(raw_file):
    return calibrate(read_raw(str(raw_file)))


@pytest.fixture
def changed(document, tmp_path):
    """A calibration of the same file, changed."""

    def made(change):
        change(document)
        path = tmp_path / "again.json"
        path.write_text(json.dumps(document))
        return calibrate(read_raw(str(path)))

    return made


def test_all_that_was_measured_comes_back_and_nothing_that_was_stated(first):
    found = compare(first, first)
    paths = [one.path for one in found.numbers]
    assert paths == [f.path for f in first.findings if f.quantity.kind is not Provenance.STATED]
    assert "latency.dram" in paths and "sm.count" not in paths
    assert {one.ratio for one in found.numbers} == {1.0}
    assert (found.apart(), found.only_first, found.only_second) == ((), (), ())


@pytest.mark.parametrize(("factor", "is_apart"), [(1.015, False), (1.03, True), (0.97, True)])
def test_a_number_that_moves_by_more_than_two_percent_is_apart(first, changed, factor, is_apart):
    def slower(document):
        for sample in document["benchmarks"]["conflicts"]["samples"]:
            sample["warp_cycles"] = [c * factor for c in sample["warp_cycles"]]

    apart = compare(first, changed(slower)).apart()
    moved = {"latency.shared", "latency.bank_conflict"}
    assert {one.path for one in apart} == (moved if is_apart else set())
    for one in apart:
        assert one.ratio == pytest.approx(factor, rel=1e-6)


def test_the_farthest_comes_first_in_either_direction(first, changed):
    def moved(document):
        for name, factor in (("conflicts", 0.5), ("barriers", 1.2)):
            for sample in document["benchmarks"][name]["samples"]:
                for key in ("warp_cycles", "span_cycles"):
                    sample[key] = [cycles * factor for cycles in sample[key]]

    apart = [one.path for one in compare(first, changed(moved)).apart()]
    assert set(apart[:2]) == {"latency.shared", "latency.bank_conflict"}
    assert set(apart[2:]) == {"latency.barrier", "latency.barrier_warp"}


def test_a_number_that_one_alone_has_is_named(first, changed):
    less = changed(lambda document: document["benchmarks"].pop("barriers"))
    paths = {"latency.barrier", "latency.barrier_warp"}
    assert set(compare(first, less).only_first) == paths
    assert set(compare(less, first).only_second) == paths


def test_two_gpus_are_not_compared(first):
    other = replace(first.raw, device={**first.raw.device, "name": "another"})
    with pytest.raises(InputError, match="two GPUs: name 'Synthetic GPU' and 'another'"):
        compare(first, replace(first, raw=other))


@pytest.mark.parametrize(
    ("first", "second", "ratio", "is_within"),
    [(0.0, 0.0, 1.0, True), (0.0, 1.0, float("inf"), False), (100.0, 101.5, 1.015, True)],
)
def test_a_ratio_needs_no_first_number(first, second, ratio, is_within):
    one = Repeat("x", "cycles", first, second)
    assert (one.ratio, one.is_within()) == (pytest.approx(ratio), is_within)
