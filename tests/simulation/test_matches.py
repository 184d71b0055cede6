"""Matches take as long as the lanes of a warp hold different values: held to an H100's cycles."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import pytest
from tests.simulation.programs import EXIT, Op, Setting, program

import kernelcast as kc
from kernelcast.ir import Kernel, LaneMatch, OpClass
from kernelcast.machines.loader import load_machine
from kernelcast.models.teg import Teg
from kernelcast.models.terms.base import Case

KERNELS = Path(__file__).parent / "kernels"
PROBE = Path(__file__).parents[2] / "measurements/data/h100-sxm/probes/waits.jsonl.gz"
VALUES = (1, 2, 4, 16, 32)
FEW, MANY = 32, 96
"""Rounds of the loops; what is measured is one of those in between."""


@cache
def measured() -> dict[tuple[int, int], dict[str, float]]:
    """Rows of the probe, by warps and values."""
    with gzip.open(PROBE, "rt") as file:
        rows = [json.loads(line) for line in file]
    return {(r["warps"], r["values"]): r for r in rows if r["probe"] == "match"}


@cache
def kernel(name: str) -> Kernel:
    return kc.load(KERNELS / "matches.cu", kernel=name)


def case_of(name: str, warps: int, values: int, rounds: int) -> Case:
    launch = kc.Launch(
        (1, 1, 1), (32 * warps, 1, 1), {"values": values, "n": rounds, "sink": kc.u32(1)}
    )
    return kc.case(kernel(name), launch)


def round_cycles(name: str, warps: int, values: int) -> float:
    """Simulated cycles of a match, with what stands around it in the loop."""
    few, many = (
        Teg().play(case_of(name, warps, values, rounds)).found.cycles for rounds in (FEW, MANY)
    )
    return (many - few) / (MANY - FEW)


def ratios(name: str, warps: int) -> list[float]:
    """Simulated over measured cycles, by the number of values."""
    return [round_cycles(name, warps, v) / measured()[warps, v][name] for v in VALUES]


@pytest.mark.parametrize("bits", ["", "_64"])
@pytest.mark.parametrize(
    ("name", "warps", "least", "most"),
    [
        ("cycles_random", 1, 0.94, 1.04),  # each result is waited for before the next match
        ("cycles_random", 8, 0.94, 1.04),
        ("cycles", 4, 0.97, 1.20),  # four in a row keep the unit busy
        ("cycles", 32, 0.97, 1.20),
    ],
)
def test_matches_take_what_was_measured(name, bits, warps, least, most):
    found = ratios(name + bits, warps)
    assert min(found) > least
    assert max(found) < most


@pytest.mark.parametrize(("name", "most"), [("cycles", 1.42), ("cycles_64", 1.48)])
def test_those_of_one_warp_alone_overlap_less_than_measured(name, most):
    """The chip takes turns at the values of several matches, the simulation ends one after the
    other."""
    found = ratios(name, 1)
    assert min(found) > 0.98
    assert 1.3 < max(found) < most


@pytest.mark.parametrize(
    ("match", "known", "interval", "latency"),
    [
        (LaneMatch(1, True), {0: 1.0}, 2.0, 32.7),
        (LaneMatch(1, True), {0: 2.5}, 5.0, 48.75),
        (LaneMatch(2, True), {0: 1.0}, 4.0, 34.7),
        (LaneMatch(1, True), {}, 64.0, 364.4),  # nobody knows: 32
        (LaneMatch(1, False), {0: 9.0}, 2.0, 32.7),  # all the same or not: one value decides
        (LaneMatch(2, False), {}, 4.0, 34.7),
    ],
)
def test_a_match_asks_for_as_much_as_its_values(match, known, interval, latency):
    setting = Setting(load_machine("h100-sxm"), different_values=known)
    table = setting.code(program([Op(OpClass.MATCH, match=match), EXIT])).table
    assert table["interval"][0] == interval
    assert table["latency"][0] == pytest.approx(latency)
