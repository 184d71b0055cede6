"""What holds of every simulation, on programs that hypothesis draws."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulation.programs import Setting, played
from tests.simulation.random_programs import Drawn, drawn_programs

from kernelcast.machines.loader import load_machine
from kernelcast.simulation import layout
from kernelcast.simulation.simulated import Simulated

NOISE = 0.1
"""Of the cycles and a latency: by so much a faster machine may be slower, where its warps come in
another order at pipes, barriers and the banks."""
MEMORY = {"dram_cycles": 8.0}
GPUS = st.sampled_from(["gtx-480", "gtx-680", "rtx-2080-ti", "h100-sxm"])


def simulated(drawn: Drawn, setting: Setting) -> Simulated:
    return played(drawn.kernel, drawn.streams(lines=4), setting)


def settings_of(gpu: str, drawn: Drawn, **changed: float) -> Setting:
    blocks = len(drawn.ways)
    return Setting(load_machine(gpu), min(2, blocks), 1 + (blocks > 2), changed, MEMORY)


@given(drawn_programs(memory=True), GPUS)
def test_every_instruction_of_the_stream_is_issued_once(drawn, gpu):
    found = simulated(drawn, settings_of(gpu, drawn))
    wanted = Counter(at for block in drawn.paths for path in block for at in path)
    assert found.issued.tolist() == [wanted[at] for at in range(len(found.issued))]
    by_warp = defaultdict(list)
    for event in found.events:
        by_warp[int(event["block"]), int(event["warp"])].append(int(event["instruction"]))
    paths = {(b, w): p for b, warps in enumerate(drawn.paths) for w, p in enumerate(warps)}
    assert by_warp == paths


@given(drawn_programs(memory=True), GPUS)
def test_the_cycles_of_warps_are_those_of_their_stalls(drawn, gpu):
    found = simulated(drawn, settings_of(gpu, drawn))
    assert found.stalls.sum() == found.warp_cycles
    assert (found.stalls >= 0).all()
    assert (found.stalls[:, layout.SELECTED] == found.issued).all()


@given(drawn_programs(memory=True), GPUS)
def test_no_scheduler_and_no_pipe_is_used_above_its_width(drawn, gpu):
    setting = settings_of(gpu, drawn)
    found, code = simulated(drawn, setting), setting.code(drawn.kernel)
    interval = int(setting.hardware(code, 1)[0]["issue_interval"])
    for sm in range(found.sms):
        for scheduler in range(found.schedulers):
            is_own = (found.events["sm"] == sm) & (found.events["scheduler"] == scheduler)
            own = found.events[is_own]
            assert (np.diff(own["cycle"]) >= interval).all()
            rows = code.table[own["instruction"]]
            halves = setting.hardware(code, 1)[0]["fp32_halves"]
            for pipe in range(layout.NO_PIPE):
                if halves and pipe == layout.FP32_PIPE:
                    on_pipe = np.isin(rows["pipe"], layout.FP32_PIPES)
                    both = rows["pipe"] == layout.BOTH_HALVES
                    taken = rows["interval"] * np.where(both, 1.0, 0.5)
                    check_pipe(own["cycle"][on_pipe], taken[on_pipe], more=2.0)
                    continue
                on_pipe = rows["pipe"] == pipe
                queued = float(setting.hardware(code, 1)[0]["queued"][pipe])
                check_pipe(own["cycle"][on_pipe], rows["interval"][on_pipe], more=queued)


def check_pipe(cycles: np.ndarray, intervals: np.ndarray, more: float = 0.0) -> None:
    """What a pipe takes fits between any two issues; they are in whole cycles, it is not.

    Of a pipe in halves, the last instructions of each may have `more` to do.
    """
    before = np.concatenate([[0.0], intervals.cumsum()])
    for first in range(len(cycles)):
        for last in range(first + 1, len(cycles)):
            assert before[last] - before[first] < cycles[last] - cycles[first] + 1 + more


LOWER = dict.fromkeys(
    (
        *("shared_latency", "l1_latency", "l2_latency", "l2_far_latency", "dram_latency"),
        *("sync_cycles", "replacement", "pass_cycles", "lsu_cycles"),
        *("address_cycles", "shared_address_cycles"),
        *("l2_write_first", "l2_write_cycles", "l2_request_cycles", "l2_change_cycles"),
    ),
    0.5,
)
HIGHER = dict.fromkeys(("l1_rate", "l2_rate", "queue", "miss_registers"), 2)


@given(
    drawn_programs(memory=True), GPUS, st.sampled_from(sorted((LOWER | HIGHER).items())), st.data()
)
def test_less_latency_and_more_bandwidth_are_never_slower(drawn, gpu, change, data):
    name, factor = change
    setting = settings_of(gpu, drawn)
    hardware = setting.hardware(setting.code(drawn.kernel), 1)[0]
    before = simulated(drawn, setting)
    after = simulated(drawn, setting.with_numbers(**{name: hardware[name] * factor}))
    assert after.cycles <= before.cycles * (1 + NOISE) + hardware["dram_latency"] * NOISE


@pytest.mark.parametrize("name", ["l1_miss", "dram", "dram_cycles"])
@given(drawn_programs(memory=True), GPUS)
def test_fewer_misses_and_more_bandwidth_of_the_dram_are_never_slower(name, drawn, gpu):
    setting = settings_of(gpu, drawn)
    before = simulated(drawn, setting)
    value = MEMORY.get(name, 1.0) / 2
    fewer = Setting(setting.machine, setting.resident, setting.sms, {}, {**MEMORY, name: value})
    latency = setting.hardware(setting.code(drawn.kernel), 1)[0]["dram_latency"]
    assert simulated(drawn, fewer).cycles <= before.cycles * (1 + NOISE) + latency * NOISE
