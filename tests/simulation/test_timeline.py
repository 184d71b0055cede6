"""What simulated warps did in order: by hand, and against what the simulation counts itself."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kernelcast as kc
from kernelcast.models.teg import Teg
from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.documents.explain import ExplainDocument, explain_document
from kernelcast.reporting.timeline_file import timeline_file
from kernelcast.simulation import layout
from kernelcast.simulation.results import STALLS
from kernelcast.simulation.simulated import Simulated
from kernelcast.simulation.timeline import loop_iteration, warp_timelines

REDUCTION = Path(__file__).parents[2] / "examples" / "reduction.cu"
MATMUL = Path(__file__).parents[2] / "examples" / "matmul_tiled.cu"


def predicted(file: Path) -> Prediction:
    return Teg().predict(kc.cases(kc.workload(file), [kc.machine("h100-sxm")])[-1])


@pytest.fixture(scope="module")
def last() -> Prediction:
    """A launch of one block, of which every instruction is noted."""
    return predicted(REDUCTION)


@pytest.fixture(scope="module")
def looping() -> Prediction:
    return predicted(MATMUL)


def simulated(one: Prediction) -> Simulated:
    assert one.simulated is not None
    return one.simulated


def test_waits_lie_between_the_issues_of_a_warp(last):
    events = np.zeros(3, layout.EVENT)
    events["cycle"], events["waited"], events["throttled"] = [4, 5, 20], [4, 0, 9], [0, 0, 2]
    events["warp"] = [1, 0, 1]
    noted = replace(simulated(last), events=events, times=np.zeros((1, 2), np.int64))
    first, second = warp_timelines(noted)
    assert [(i.cycle, i.not_selected) for i in first.issues] == [(5, 5)]
    assert [(i.cycle, i.waited, i.throttled, i.not_selected) for i in second.issues] == [
        (4, 4, 0, 0),
        (20, 9, 2, 4),
    ]


def test_a_timeline_has_all_that_was_issued_and_all_the_time_it_took(last):
    found = simulated(last)
    issues = [issue for warp in warp_timelines(found) for issue in warp.issues]
    counted = np.bincount([i.instruction for i in issues], minlength=len(found.issued))
    assert (counted == found.issued).all()
    spent = np.zeros_like(found.stalls)
    for i in issues:
        spent[i.instruction, i.reason] += i.waited
        spent[i.instruction, i.throttle] += i.throttled
        spent[i.instruction, layout.DISPATCH] += i.held
        spent[i.instruction, layout.IMC_MISS] += i.missed
        spent[i.instruction, layout.NOT_SELECTED] += i.not_selected
        spent[i.instruction, layout.SELECTED] += 1
    assert (spent == found.stalls).all()


def test_an_iteration_is_one_of_the_loop_that_takes_longest(looping):
    one = loop_iteration(looping.case.kernel, simulated(looping))
    assert one is not None
    names = [looping.case.kernel.instructions[i.instruction].name for i in one.issues]
    assert sum(name.startswith("BAR.SYNC") for name in names) == 2
    assert names.count("FFMA") == 16
    assert len({i.instruction for i in one.issues}) == len(one.issues)


# ------------------------------------------------------------------------ the file


def test_what_a_warp_did_follows_without_a_gap(last):
    told = json.loads(timeline_file([last]))["traceEvents"]
    slices = defaultdict(list)
    for event in told:
        if event["ph"] == "X":
            slices[event["pid"], event["tid"]].append(event)
    assert len(slices) == last.case.launch.warps_per_block
    for own in slices.values():
        ends = [e["ts"] + e["dur"] for e in own]
        assert [e["ts"] for e in own[1:]] == ends[:-1]
        assert {e["name"] for e in own if e["cat"] == "stall"} <= set(STALLS.values())
    assert sum(e["ph"] == "X" and e["cat"] == "issue" for e in told) == simulated(last).issued.sum()


def test_launches_have_sms_of_their_own(last, looping):
    told = json.loads(timeline_file([looping, last]))["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in told if e["name"] == "process_name"}
    assert len(names) == simulated(looping).sms + simulated(last).sms
    assert names[len(names) - 1].startswith("sum_blocks<<<1, 256>>>")


# --------------------------------------------------------------- lines and instructions


@pytest.fixture(scope="module")
def document(looping) -> ExplainDocument:
    return explain_document(looping)


def test_shares_of_lines_instructions_and_states_are_of_one_whole(document):
    found = document.simulated
    assert found is not None
    assert sum(state.share for state in found.states) == pytest.approx(1)
    for stalls in ([i.stalls for i in document.instructions], [n.stalls for n in document.lines]):
        assert sum(sum(one.values()) for one in stalls) == pytest.approx(1)
    waited = sum(part.stalls.get("barrier", 0.0) for part in document.instructions)
    assert waited == pytest.approx({s.name: s.share for s in found.states}["barrier"])


def test_queues_are_named_by_what_waits_for_them(document):
    for part in document.instructions:
        if "lg throttle" in part.stalls:
            assert part.text.startswith(("LDG", "STG"))
        if "mio throttle" in part.stalls:
            assert part.text.startswith(("LDS", "STS"))


def test_metrics_agree_with_each_other(document, looping):
    metrics, schedulers = document.simulated.metrics, 4
    per_issue = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
    assert metrics[per_issue.format("selected")] == 1
    stalled = sum(metrics[per_issue.format(n.replace(" ", "_"))] for n in STALLS.values())
    latency = metrics["smsp__average_warp_latency_per_inst_issued.ratio"]
    assert stalled == pytest.approx(latency)
    # Little's law, of warps in a scheduler.
    active = metrics["smsp__warps_active.avg.per_cycle_active"]
    issuing = metrics["smsp__issue_active.avg.per_cycle_active"]
    assert active == pytest.approx(latency * issuing, rel=0.02)
    assert metrics["sm__inst_executed.avg.per_cycle_active"] == pytest.approx(schedulers * issuing)
    assert issuing <= metrics["smsp__warps_eligible.avg.per_cycle_active"] <= active
    most = 100 * looping.case.occupancy.relative
    assert 0.8 * most < metrics["sm__warps_active.avg.pct_of_peak_sustained_active"] <= most + 0.01


def test_other_models_tell_nothing_of_warps(looping):
    plain = explain_document(kc.predict(looping.case, "volkov"))
    assert plain.simulated is None
    assert all(line.stalls is None for line in plain.lines)
    assert all(instruction.stalls is None for instruction in plain.instructions)
