"""The compiled loop beside one in plain Python: they issue the same in the same cycles."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulation.programs import Setting, played
from tests.simulation.random_programs import Drawn, drawn_programs
from tests.simulation.reference import ReferenceSm

from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.simulation import layout

HARDWARE = st.fixed_dictionaries(
    {
        "memory_apart": st.just(1),  # barriers then stand in no queue
        "policy": st.sampled_from([0, 1, 2, 3]),
        "issue_interval": st.integers(1, 2),
        "of_sm": st.sets(st.sampled_from((layout.FP64_PIPE, layout.SFU_PIPE))).map(
            lambda shared: [int(pipe in shared) for pipe in range(layout.PIPES)]
        ),
        "sync_cycles": st.sampled_from([1.0, 7.5, 16.0]),
        "replacement": st.sampled_from([0.0, 1.0, 12.5]),
        "block_interval": st.sampled_from([0.0, 3.5]),
    }
)


def issues(drawn: Drawn, setting: Setting) -> tuple[list, list]:
    found = played(drawn.kernel, drawn.streams(), setting)
    code = setting.code(drawn.kernel)
    hardware = setting.hardware(code, len(drawn.ways[0]))[0]
    names = ("cycle", "scheduler", "block", "warp", "instruction")
    events = [tuple(int(event[name]) for name in names) for event in found.events]
    return sorted(events), sorted(ReferenceSm(code, hardware).play(drawn.paths))


IN_LATCH = "lsu.doubles_in_latch=1"


@pytest.mark.parametrize(
    ("gpu", "numbers", "control"),
    [("h100-sxm", [], True), ("h100-sxm", [IN_LATCH], True), ("gtx-480", [], False)],
)
@settings(max_examples=150)
@given(st.data(), st.integers(1, 3), HARDWARE)
def test_both_loops_issue_the_same(gpu, numbers, control, data, resident, changed):
    drawn = data.draw(drawn_programs(control=control))
    chip = apply_overrides(load_machine(gpu), numbers)
    setting = Setting(chip, min(resident, len(drawn.ways)), changed=changed)
    compiled, plain = issues(drawn, setting)
    assert compiled == plain
