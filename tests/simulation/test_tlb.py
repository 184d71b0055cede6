"""Addresses that the TLB does not hold: chases over pages as an H100 was measured, and laws."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, played, program, request, streams

from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.layout import GLOBAL
from kernelcast.simulation.removals import NOTHING, Removal

PROBES = Path(__file__).parents[2] / "measurements/data/h100-sxm/probes/homes.jsonl.gz"
H100 = load_machine("h100-sxm")
ALIKE = {
    "l2_far_latency": H100.number("latency.l2"),
    "l2_spread": 0.0,
}
IN_L2 = Setting(H100, changed=ALIKE, rows={"dram": 0.0}, is_plain=True)
MISS = H100.number("latency.tlb_miss")
PAGE = int(H100.number("tlb.page"))
ENTRIES = int(H100.number("tlb.reach")) // PAGE
LINES_OF_MIB = (1 << 20) // 128


def chase(lines, setting=IN_L2, removed=NOTHING):
    """Cycles of each of a warp's loads, one after the other."""
    load = Op(OpClass.LOAD, counter=0, waits=(0,), space=Space.GLOBAL)
    words = []
    for line in lines:
        words += entering(0) + request(0, GLOBAL, [int(line)])
    code = program([load, Op(OpClass.FP32, waits=(0,)), EXIT], lengths=(1, 2))
    found = played(code, streams([[words + entering(1)]]), setting, removed, most_issued=1 << 22)
    return found.cycles / len(lines)


def ring(nodes, pitch_mib):
    """Twice around, as the probe's chases are: the first time nothing is there."""
    pitch = pitch_mib * LINES_OF_MIB
    return np.tile(np.arange(nodes) * pitch, 2)


@pytest.fixture(scope="module")
def measured():
    """By MiB from node to node, the latencies by number of nodes."""
    found: dict[int, dict[int, float]] = {}
    for row in map(json.loads, gzip.decompress(PROBES.read_bytes()).splitlines()):
        if row["part"] == "pages":
            found.setdefault(row["pitch_mib"], {})[row["nodes"]] = row["latency"]
    return found


@pytest.mark.parametrize("pitch_mib", [2, 8, 32])
def test_chases_beyond_the_reach_take_longer_by_what_was_measured(measured, pitch_mib):
    """Every so many-th node lies in another page, and a ring comes back to none in time."""
    by_nodes = measured[pitch_mib]
    most = max(by_nodes)
    assert most * pitch_mib << 20 > H100.number("tlb.reach")
    before = by_nodes[1024 * 32 // pitch_mib] if pitch_mib == 32 else by_nodes[4096]
    longer = chase(ring(most, pitch_mib)) - chase(ring(64, pitch_mib))
    # Of two times around, the first finds room for most pages.
    missed = 2 - ENTRIES / (most * pitch_mib / 32)
    assert longer * 2 / missed == pytest.approx(by_nodes[most] - before, abs=2)


def test_where_there_are_as_many_pages_as_entries_none_is_missed():
    assert chase(ring(ENTRIES, 32)) == pytest.approx(chase(ring(64, 32)), abs=0.1)
    assert chase(ring(ENTRIES + 1, 32)) > chase(ring(64, 32)) + MISS / 3


def test_all_that_wait_for_a_page_wait_for_one_miss():
    few = IN_L2.with_numbers(tlb_entries=1)
    load = Op(OpClass.LOAD, counter=0, space=Space.GLOBAL)
    last = Op(OpClass.FP32, waits=(0,))
    words = entering(0)
    for at, page in enumerate((0, 1, 1, 1)):
        words += request(at, GLOBAL, [page * (PAGE // 128) + 5 * at])
    code, done = program([load] * 4 + [last, EXIT]), streams([[words]])
    missed = played(code, done, few).cycles
    held = played(code, done, IN_L2).cycles
    assert 0 < missed - held <= MISS


def test_without_misses_all_is_translated():
    lines, few = ring(8, 32), IN_L2.with_numbers(tlb_entries=4)
    assert chase(lines, few) > chase(lines) + MISS / 2
    assert chase(lines, few, frozenset({Removal.TLB_MISSES})) == chase(lines)


def test_stores_arrive_later_too():
    store = Op(OpClass.STORE, space=Space.GLOBAL)
    words = [*entering(0), *request(0, GLOBAL, [0]), *request(1, GLOBAL, [PAGE // 128])]
    code, done = program([store, store, EXIT]), streams([[words]])
    held, missed = (
        played(code, done, IN_L2.with_numbers(tlb_entries=n)).cycles for n in (ENTRIES, 1)
    )
    assert missed == pytest.approx(held + MISS, abs=1)


def test_machines_that_do_not_know_their_tlb_have_none():
    """An RTX 4090 states none."""
    setting = Setting(load_machine("rtx-4090"), rows={"dram": 0.0}, is_plain=True)
    kernel = program([EXIT])
    hardware = setting.hardware(setting.code(kernel), 1)
    assert hardware["tlb_entries"][0] == 0
