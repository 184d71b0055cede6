"""What bound a measured launch, and whether forecasts name it."""

from __future__ import annotations

import pytest

from kernelcast.machines.loader import load_machine
from kernelcast.measurements.observation import Observation
from kernelcast.models.terms.base import Bottleneck
from kernelcast.validation.accuracy import Comparison, agreement
from kernelcast.validation.bottlenecks import (
    _ANY_OF_SM,
    _SHARES,
    _UNITS,
    measured_classes,
    resource_class,
)

CHIP = load_machine("rtx-3080")


def profiled(**percent: float) -> Observation:
    """A launch with every share of a peak, by the beginning of its counter's name."""
    counters = {
        name: next((p for part, p in percent.items() if name.startswith(part)), 5.0)
        for name in _SHARES
    }
    return Observation("k", {}, (1e-3,), counters=counters)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"dram__throughput": 85.0, "smsp__issue": 70.0}, "dram bandwidth"),
        ({"smsp__pipe_fma": 71.0}, "fp32 pipe"),
        ({"smsp__pipe_fma": 61.0}, "fp32 pipe or latency"),
        ({"smsp__pipe_fma": 59.0, "smsp__issue": 50.0}, "latency or fp32 pipe"),
        ({"smsp__pipe_fma": 45.0}, "latency"),
        ({"lts__t": 90.0, "smsp__issue": 83.0}, "l2 bandwidth or issue slots"),
        ({"l1tex__data_pipe": 90.0}, "shared-memory bandwidth"),
        ({"smsp__inst_executed_pipe_lsu": 90.0}, "shared-memory bandwidth"),
    ],
)
def test_the_busiest_resource_binds(shares: dict[str, float], expected: str) -> None:
    assert measured_classes(profiled(**shares), CHIP) == tuple(filter(None, expected.split(" or ")))


def test_a_path_of_half_the_width_is_full_at_half_of_its_counters_peak() -> None:
    """The counter's peak is a wavefront of 128 B in every cycle; Turing moves 64 B."""
    turing = load_machine("rtx-2080-ti")
    assert turing.number("shared.bandwidth", "a test") == 64
    row = profiled(l1tex__data_pipe=45.0, smsp__pipe_fma=70.0)
    assert measured_classes(row, turing) == ("shared-memory bandwidth",)
    assert measured_classes(row, CHIP) == ("fp32 pipe",)


@pytest.mark.parametrize(
    ("dram", "lts", "l1tex", "issue", "sm", "expected"),
    [
        (85, 40, 30, 20, 30, "dram bandwidth"),
        (20, 70, 40, 20, 30, "l2 bandwidth"),
        (10, 20, 30, 75, 74, "issue slots"),
        (10, 20, 30, 40, 50, "latency"),
        (10, 20, 30, 40, 88, ""),  # a pipe of arithmetic, nobody knows which
    ],
)
def test_whole_units_tell_what_binds_unless_it_is_a_pipe(
    dram: int, lts: int, l1tex: int, issue: int, sm: int, expected: str
) -> None:
    shares = dict(zip((*_UNITS, _ANY_OF_SM), (dram, lts, l1tex, issue, sm), strict=True))
    row = Observation("k", {}, (1e-3,), counters={n: float(v) for n, v in shares.items()})
    assert measured_classes(row, CHIP) == tuple(filter(None, expected.split(" or ")))


def test_bytes_alone_tell_of_launches_that_they_bind() -> None:
    streamed = CHIP.number("dram.achieved_bandwidth", "a test")

    def moved(share: float) -> Observation:
        counters = {"dram__bytes.sum": share * streamed * 1e-3, "flop_count_sp": 1.0}
        return Observation("k", {}, (1e-3,), counters=counters)

    assert measured_classes(moved(0.9), CHIP) == ("dram bandwidth",)
    assert measured_classes(moved(0.5), CHIP) == (), "something else binds, nobody knows what"
    assert measured_classes(Observation("k", {}, (1e-3,)), CHIP) == ()
    peak = 2 * 128 * CHIP.number("sm.count", "") * CHIP.number("clock.sm", "")
    flops = Observation("k", {}, (1e-3,), counters={"flop_count_sp": 0.8 * peak * 1e-3})
    assert measured_classes(flops, CHIP) == ("fp32 pipe",)


def test_every_bottleneck_has_a_class_that_counters_tell() -> None:
    told = {resource_class(b) for b in _SHARES.values()} | {"latency"}
    assert {resource_class(b) for b in Bottleneck} == told
    assert resource_class(Bottleneck.L1_BANDWIDTH) == resource_class(Bottleneck.SHARED_BANDWIDTH)
    assert resource_class(Bottleneck.TAIL) == "latency"


def test_agreement_is_of_launches_whose_bottleneck_is_known() -> None:
    def compared(said: str, *known: str) -> Comparison:
        return Comparison("k", 0, "", 1.0, 1.0, None, None, said, known)

    assert agreement([compared("latency")]) is None
    told = [("latency", "latency"), ("fp32 pipe", "latency"), ("fp32 pipe",)]
    assert agreement([compared(*each) for each in told]) == 0.5
    assert agreement([compared("fp32 pipe", "latency", "fp32 pipe")]) == 1
