"""What NVML says of a GPU, on a stand-in that checks its calls."""

from __future__ import annotations

import ctypes

import pytest
from tests.measuring.fake_nvml import NVML_H, FakeNvml

from kernelcast.measuring.harness import gpu_state
from kernelcast.measuring.harness.gpu_state import SIGNATURES, Monitor, held_down, reasons

BUS = "0000:65:00.0"


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch):
    monkeypatch.setattr(gpu_state, "_LINGERING_S", 0.0)


def monitor(**options) -> Monitor:
    return Monitor(FakeNvml(**options).library(), BUS)


def test_the_declared_types_are_those_of_nvml_h():
    """Else a pointer would be cut to 32 bits."""
    assert set(SIGNATURES) == set(NVML_H)
    for name, types in SIGNATURES.items():
        assert [ctypes.sizeof(t) for t in types] == [ctypes.sizeof(t) for t in NVML_H[name]], name
    assert ctypes.sizeof(gpu_state.ViolationTime) == 16


def test_facts_and_state_are_what_nvml_says():
    found = monitor(bits=0x4 | 0x1, violation_ns={0: 5, 1: 7})
    assert found.facts() == {
        "driver_version": "580.159.04",
        "sm_max_mhz": 1980,
        "memory_max_mhz": 3201,
        "power_limit_w": 700.0,
        "ecc": True,
        "mig": False,
    }
    assert found.state() == {
        "sm_mhz": 1755,
        "memory_mhz": 3201,
        "temperature_c": 41,
        "power_w": 118.25,
        "held_down": ["power cap"],
        "held_down_ns": {"power cap": 5, "heat": 7},
    }


REASONS = tuple(f"nvmlDeviceGetCurrentClocks{name}Reasons" for name in ("Event", "Throttle"))


def test_what_nvml_does_not_know_is_left_out():
    found = monitor(
        fails={"nvmlDeviceGetPowerUsage": 3, "nvmlDeviceGetEccMode": 3},
        lacks=(*REASONS, "nvmlDeviceGetMigMode"),
    )
    assert set(found.state()) == {"sm_mhz", "memory_mhz", "temperature_c"}
    assert not {"ecc", "mig"} & set(found.facts())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"fails": {"nvmlInit_v2": 9}}, "NVML returns 9"),
        ({"lacks": ("nvmlInit_v2",)}, "NVML is not as expected"),
        ({"fails": {"nvmlDeviceGetHandleByPciBusId_v2": 6}}, "NVML returns 6"),
    ],
)
def test_without_nvml_the_reason_is_recorded(options, why):
    found = monitor(**options)
    assert found.facts()["unavailable"].startswith(why)
    assert (found.state(), found.programs()) == ({}, None)


def test_a_missing_library_is_a_reason_too(monkeypatch):
    def missing(names):
        raise OSError("no such file")

    monkeypatch.setattr(gpu_state, "opened", missing)
    found = gpu_state.open_monitor(BUS)
    assert found.facts() == {"unavailable": "cannot load NVML: no such file"}


@pytest.mark.parametrize("missing", REASONS)
def test_a_clock_held_down_is_seen_by_the_functions_new_name_or_its_old_one(missing):
    """NVML renames it; else a throttled GPU would pass for any other."""
    assert monitor(bits=0x40, lacks=(missing,)).state()["held_down"] == ["heat, by the hardware"]


@pytest.mark.parametrize(("programs", "count"), [([0], 0), ([2], 2), ([1, 1, 0], 0)])
def test_other_programs_are_counted_and_one_that_just_ended_is_not(programs, count):
    assert monitor(programs=programs).programs() == count


@pytest.mark.parametrize(("programs", "count"), [([1], 0), ([3], 2), ([2, 2, 1], 0), ([0], 0)])
def test_the_process_that_measures_is_no_other_program(programs, count):
    """It may not be listed, where the driver and it count processes apart."""
    assert monitor(programs=programs).programs(own=1) == count


def test_programs_are_unknown_where_nvml_does_not_list_them():
    name = "nvmlDeviceGetComputeRunningProcesses_v3"
    assert monitor(fails={name: 3}).programs() is None
    assert monitor(lacks=(name,)).programs() is None


def test_only_what_holds_clocks_down_against_the_users_settings_is_named():
    assert reasons(0x1 | 0x2 | 0x10 | 0x100) == []
    assert reasons(0x8 | 0x20 | 0x40 | 0x80) == [
        "hardware slowdown",
        "heat, by the driver",
        "heat, by the hardware",
        "power brake",
    ]


def test_what_held_the_clocks_down_between_two_states_shows_in_the_counters():
    before = {"held_down": [], "held_down_ns": {"heat": 5, "power cap": 9}}
    after = {"held_down": ["power brake"], "held_down_ns": {"heat": 6, "power cap": 9}}
    assert held_down(before, after) == ["heat", "power brake"]
    assert held_down({}, {}) == []
