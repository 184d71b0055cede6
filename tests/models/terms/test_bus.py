"""Arrays of the host, which kernels reach over the bus."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.bus import bus_time
from kernelcast.models.terms.dram import dram_time
from kernelcast.models.volkov import Volkov
from kernelcast.profiling.profile import Footprint

OPS = (
    {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x"},
    {"op_class": OpClass.STORE, "space": Space.GLOBAL, "reads": ("x",)},
)
BLOCKS, WARPS = 1 << 10, 8 << 10
SECTORS = 4.0 * WARPS
SLOW, FAST = 1e9, 2e9


def streams(make_case, *, read_of_host: bool, written_of_host: bool):
    """As many sectors are read as written, of arrays of the host or the device."""
    machine = apply_overrides(
        load_machine("h100-sxm"), (f"pcie.bandwidth={SLOW}", f"pcie.bandwidth_to_host={FAST}")
    )
    touched = SECTORS, SECTORS, SECTORS
    read = Footprint("a", 1 << 20, True, False, *touched, of_host=read_of_host)
    written = Footprint("b", 1 << 20, False, True, *touched, SECTORS, of_host=written_of_host)
    return make_case(machine, OPS, blocks=BLOCKS, footprints=[read, written])


@pytest.mark.parametrize(
    ("read", "written", "seconds"),
    [
        (False, False, 0.0),
        (True, False, 32 * SECTORS / SLOW),
        (False, True, 32 * SECTORS / FAST),
        (True, True, 32 * SECTORS / SLOW),  # both ways at the same time
    ],
)
def test_bytes_cross_the_bus_both_ways_at_a_time(make_case, read, written, seconds):
    case = streams(make_case, read_of_host=read, written_of_host=written)
    time = bus_time(case)
    assert time.seconds == pytest.approx(seconds)
    assert time.moved_bytes == 32 * SECTORS * (read + written)
    assert bool(time.notes) == (read or written)


def test_the_dram_moves_the_others(make_case):
    device = dram_time(
        streams(make_case, read_of_host=False, written_of_host=False), Estimate.CENTRAL, "test"
    )
    case = streams(make_case, read_of_host=True, written_of_host=False)
    fast = replace(case, machine=apply_overrides(case.machine, ("pcie.bandwidth=1e13",)))
    assert dram_time(fast, Estimate.CENTRAL, "test").seconds == pytest.approx(device.seconds / 2)
    slow = dram_time(case, Estimate.CENTRAL, "test")
    assert slow.resource is Bottleneck.PCIE_BANDWIDTH
    assert slow.seconds == pytest.approx(32 * SECTORS / SLOW)
    assert Volkov().predict(case).bottleneck is Bottleneck.PCIE_BANDWIDTH


def test_a_bus_that_nobody_knows_is_said(make_case):
    case = streams(make_case, read_of_host=True, written_of_host=True)
    quantities = {k: v for k, v in case.machine.quantities.items() if k != "pcie.bandwidth"}
    time = bus_time(replace(case, machine=replace(case.machine, quantities=quantities)))
    assert time.seconds == 0
    assert time.notes == (
        "the host's arrays are taken for the device's, for want of pcie.bandwidth",
    )
