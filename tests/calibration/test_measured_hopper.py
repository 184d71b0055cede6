"""What the kept measurements of an H100 and an H200 say, and what they do not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from kernelcast.calibration.calibrate import Calibration, calibrate
from kernelcast.measuring.raw import read_raw

DATA = Path(__file__).parents[2] / "measurements" / "data"
GPUS = ("h100-sxm", "h200-sxm")


@cache
def calibration(gpu: str) -> Calibration:
    return calibrate(read_raw(str(DATA / gpu / "raw.json.gz")))


def values(gpu: str) -> dict[str, float]:
    found = ((f.path, f.quantity.value) for f in calibration(gpu).findings)
    return {path: value for path, value in found if not isinstance(value, tuple)}


def gaps(gpu: str) -> dict[str, str]:
    return {gap.path: gap.why for gap in calibration(gpu).gaps}


@pytest.mark.parametrize("gpu", GPUS)
def test_a_short_loop_takes_its_own_chain_and_a_long_one_its_instructions(gpu):
    """Of 8 and of 16 instructions 29 cycles, of 32 and 64 twelve more than there are."""
    assert values(gpu)["latency.branch_taken"] == pytest.approx(10.1, abs=0.1)


@pytest.mark.parametrize("gpu", GPUS)
def test_a_conversion_has_the_latency_and_the_rate_of_its_units(gpu):
    """F2I, POPC and MUFU are of the same ones: 16 a cycle, 17 cycles."""
    found = values(gpu)
    assert found["throughput.convert"] == pytest.approx(found["throughput.sfu"], rel=0.03)
    units = [found[f"latency.{name}"] for name in ("convert", "bit_count", "sfu")]
    assert units == pytest.approx([17.0] * 3, abs=0.1)
    assert found["throughput.bit_count"] == pytest.approx(found["throughput.sfu"], rel=0.03)


@pytest.mark.parametrize("gpu", GPUS)
def test_what_bounds_the_loads_of_hopper_is_no_number_in_flight(gpu):
    why = gaps(gpu)
    assert why["sm.loads_per_warp"].endswith("no limit up to 24 loads in flight")
    assert "the rate: sectors per cycle, 1 from l2" in why["sm.sectors_in_flight"]


@pytest.mark.parametrize("gpu", GPUS)
def test_no_page_of_the_memory_is_beyond_the_tlb_by_more_than_a_tenth(gpu):
    for path in ("tlb.reach", "latency.tlb_miss"):
        assert "does not rise by a tenth" in gaps(gpu)[path]


def test_a_rate_beyond_the_pins_is_not_that_of_the_dram():
    """Warps that follow each other over a ring of four times L2 find a part of it there."""
    assert "that the pins carry" in gaps("h100-sxm")["mwp_cwp.departure_uncoalesced"]
    assert "that the pins carry" in gaps("h200-sxm")["volkov.latency_capacity"]
    found = values("h100-sxm")
    assert found["volkov.latency_capacity"] < found["dram.bandwidth"]
    # A warp's load is of two transactions of 128 bytes; SMs in turn leave room for no more.
    least = 128 * found["sm.count"] * found["clock.sm"] / found["dram.bandwidth"]
    assert least < found["mwp_cwp.departure_coalesced"] < 1.2 * least


@pytest.mark.parametrize(("gpu", "times"), [("h100-sxm", 1.0), ("h200-sxm", 1.1)])
def test_the_slices_of_l2_take_a_request_each_clock(gpu, times):
    """80 slices of an H100 in a clock of 1.71 GHz, by the profiler; a tenth more of an H200."""
    assert values(gpu)["l2.request_rate"] == pytest.approx(times * 80 * 1.715e9, rel=0.01)
