"""What some SMs hold of a wave tells what all of them do."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast import api
from kernelcast.frontends.workloads import LaunchFlags
from kernelcast.profiling import stream_run

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize(
    ("name", "few_words"), [("matmul_naive", 1 << 20), ("matmul_tiled", 1 << 17)]
)
def test_some_sms_ask_the_l2_cache_for_their_share(
    name: str, few_words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block in a row of a product shares lines with its neighbours, which lie on other SMs."""
    work = api.workload(EXAMPLES / f"{name}.cu", LaunchFlags(parameters={"N": 512}))
    found = {}
    for words in (1 << 25, few_words):
        monkeypatch.setattr(stream_run, "MOST_WORDS", words)
        [case] = api.cases(work, [api.machine("rtx-a4000")])
        assert case.streams is not None and case.cache_counts is not None
        asked = sum(access.l2.sectors for access in case.cache_counts.accesses)
        found[len(case.streams.blocks)] = asked
        wave = 48 * case.occupancy.blocks_per_sm
    few, every = sorted(found)
    assert few < wave / 2 and every == case.launch.blocks
    assert found[few] == pytest.approx(found[every], rel=0.05)


@pytest.mark.parametrize(("words", "in_whole_waves"), [(1 << 25, True), (1 << 17, False)])
def test_a_report_says_what_was_simulated(
    words: int, in_whole_waves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_run, "MOST_WORDS", words)
    work = api.workload(EXAMPLES / "matmul_tiled.cu", LaunchFlags(parameters={"N": 512}))
    [case] = api.cases(work, [api.machine("rtx-a4000")])
    found = api.predict(case, "roofline").as_dict()["traffic"]["simulated"]
    assert case.streams is not None
    assert found["blocks"] == len(case.streams.blocks)
    assert (found["of"], found["in_whole_waves"]) == (case.launch.blocks, in_whole_waves)


def test_what_warps_do_first_tells_what_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of blocks that go over megabytes each, no 16 fit whole: here a wave is cut after a tenth."""
    work = api.workload(EXAMPLES / "matmul_naive.cu", LaunchFlags(parameters={"N": 512}))
    [whole] = api.cases(work, [api.machine("rtx-a4000")])
    monkeypatch.setattr(stream_run, "MOST_WORDS", 1 << 18)
    monkeypatch.setattr(stream_run, "FEWEST_IN_A_ROW", 256)
    [cut] = api.cases(work, [api.machine("rtx-a4000")])
    assert cut.streams is not None and cut.streams.is_cut
    assert cut.cache_counts is not None and whole.cache_counts is not None
    assert not cut.cache_counts.simulated.in_whole_waves
    assert any("what warps do first" in note for note in cut.cache_counts.assumptions)
    asked, expected = (
        sum(access.l2.sectors for access in counts.accesses)
        for counts in (cut.cache_counts, whole.cache_counts)
    )
    assert asked == pytest.approx(expected, rel=0.05)
    assert whole.cache_counts.dram_written_sectors <= cut.cache_counts.dram_written_sectors


def test_gpus_side_by_side_have_the_blocks_of_their_own_sms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_run, "MOST_WORDS", 1 << 20)
    work = api.workload(EXAMPLES / "matmul_naive.cu", LaunchFlags(parameters={"N": 512}))
    machines = [api.machine(name) for name in ("h100-sxm", "rtx-a4000", "h200-sxm")]
    together = api.cases(work, machines)
    strides = []
    for case, machine in zip(together, machines, strict=True):
        assert case.streams is not None
        [span] = case.streams.spans
        strides.append(span.step)
        assert span.step == machine.number("sm.count")
    assert together[0].streams is together[2].streams
    assert len(set(strides)) == 2
