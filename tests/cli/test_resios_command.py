"""`kernelcast validate resios`: the answer in both forms, and the exit status."""

from __future__ import annotations

from typing import Any

import pytest

from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.documents.resios import resios_document
from kernelcast.validation.resios.experiments import experiments, microbenchmarks
from kernelcast.validation.resios.tables import equations, launches, schedules, throughputs


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    numbers = (*equations(), *microbenchmarks(), *schedules(), *launches())
    return as_json(resios_document("GeForce GTX 460", numbers, throughputs(), experiments()))


def test_the_thesis_is_recomputed(answer):
    assert (answer["schema"], answer["set"]) == ("kernelcast/validate/1", "resios")
    assert [n["says"] for n in answer["numbers"] if not n["holds"]] == []
    assert answer["holds"]
    assert answer["stated"] == len(answer["numbers"]) > 60
    sources = {n["source"] for n in answer["numbers"]}
    assert sources >= {"(4.2)", "(4.5)", "(4.8)", "(4.9)", "3.2", "Listing 3.2", "Listing 3.3"}
    assert sources >= {"Figure 5.1", "7"}


def test_throughputs_grow_with_warps_and_ilp_up_to_the_peak(answer):
    """Of a multiply-add 22 cycles of latency and 16 results per cycle (Table 3.1): a warp has 32
    results in 22 cycles, and two warps, or two chains of one, have twice as many."""
    curves = {(c["operation"], c["ilp"]): c["results_per_cycle"] for c in answer["throughputs"]}
    tlps = answer["tlps"]
    assert curves["madd", 1][0] == pytest.approx(32 / 22)
    for operation in {operation for operation, _ in curves}:
        by_parallelism = {
            ilp * tlp: rate
            for ilp in (1, 2, 4)
            for tlp, rate in zip(tlps, curves[operation, ilp], strict=True)
        }
        for ilp in (1, 2, 4):
            for tlp, rate in zip(tlps, curves[operation, ilp], strict=True):
                assert rate == by_parallelism[ilp * tlp]
    assert max(curves["madd", 4]) <= 16 <= 1.01 * max(curves["madd", 4])


def test_experiments_stand_beside_the_thesis(answer):
    found = {e["name"]: e for e in answer["experiments"]}
    thesis = {name: e["thesis_ratio"] for name, e in found.items()}
    assert thesis == {
        "mul": 0.93,
        "madd": 2.12,
        "memcpy": 2.04,
        "transpose": 1.64,
        "convolution": 1.89,
        "convolution, staged": 1.89,
    }
    # One instruction for a multiply-add, where the thesis has two.
    assert found["madd"]["ratio"] < 1.2
    assert found["transpose"]["ratio"] > 1.2 and found["memcpy"]["ratio"] > 1.2
    # The kernel made of the loops stages nothing: without caches, all it reads is from memory.
    assert found["convolution"]["ratio"] > 3 > found["convolution, staged"]["ratio"] > 1
    assert all(e["differs"] for e in found.values())


def test_hot_spots_are_those_that_the_thesis_names(answer):
    hot = {e["name"]: e["hot_spots"] for e in answer["experiments"]}
    assert hot["mul"] == hot["madd"] == []
    copied = " ".join(hot["memcpy"])
    assert copied.count("chapter_7.c:26") == 2
    assert "ld.global" in copied and "st.global" in copied
    assert "st.global" in hot["transpose"][0]
    assert all("st.global" in spot for spot in hot["convolution, staged"])


def test_the_report_says_why_ratios_differ(run):
    outcome = run("validate", "resios")
    assert outcome.status == 0
    assert "numbers of the thesis are met on a GeForce GTX 460" in outcome.out
    assert "madd: the thesis analysed a mul and an add" in outcome.out
