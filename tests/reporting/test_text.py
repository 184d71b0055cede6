from dataclasses import replace

import pytest

from kernelcast.models.mwp_cwp import MwpCwp
from kernelcast.models.terms.base import Bottleneck, Part
from kernelcast.profiling.profile import BlockSample
from kernelcast.reporting.console import plain_text
from kernelcast.reporting.documents.predict import predict_document
from kernelcast.reporting.plain_words import MEANING
from kernelcast.reporting.text import view


def text_of(prediction):
    return text_of_all([prediction])


def text_of_all(predictions):
    return plain_text(view(predict_document(predictions)))


def paragraph(text, number):
    """The words of each line of a section, counted from 0."""
    return [line.split() for line in text.split("\n\n")[number].splitlines()]


def test_the_first_line_answers_the_question(prediction):
    first = text_of(prediction).splitlines()[0]
    assert first == (
        "saxpy<<<4096, 256>>> on h100-sxm: 5.00 us (4.00 us to 8.00 us), bound by dram bandwidth"
    )


def test_the_breakdown_ends_with_its_sum(prediction):
    lines = text_of(prediction).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Where the time goes"))
    rows = [line.split("  ") for line in lines[start + 2 : start + 5]]
    assert [row[1] for row in rows] == ["dram bandwidth", "launch overhead", "sum"]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert [row[1] for row in cells] == ["9 000", "1 000", "10 000"]
    assert [row[2] for row in cells] == ["4.50 us", "500 ns", "5.00 us"]


def test_the_breakdown_leaves_out_what_rounding_leaves(prediction):
    noisy = replace(prediction, breakdown=(*prediction.breakdown, Part("tail", 3e-11)))
    assert "tail" not in text_of(noisy)


def test_resources_stand_in_falling_order(prediction):
    text = text_of(prediction)
    section = text[text.index("if it were alone") :]
    assert section.index("dram bandwidth") < section.index("issue slots")


@pytest.mark.parametrize(
    "expected",
    [
        "8 blocks = 64 warps per SM (100 % of what fits), limited by warps",
        "24.0 warps would hide the latency",
        "64 of 4 096 blocks",
        "16 registers per thread",
        "saxpy.cu:4",
        "- no noc.bandwidth",
        "- caches start empty",
        "Not modelled by roofline",
        "H100 SXM5",
    ],
)
def test_the_report_says(prediction, expected):
    assert expected in " ".join(text_of(prediction).split())


def test_what_was_set_by_hand_is_said(prediction):
    machine = replace(prediction.case.machine, overrides=("dram.bandwidth",))
    changed = replace(prediction, case=replace(prediction.case, machine=machine))
    assert "set by hand: dram.bandwidth" in text_of(changed)
    assert "set by hand" not in text_of(prediction)


def test_a_grid_executed_whole_is_not_called_a_sample(prediction):
    profile = replace(prediction.case.profile, sample=BlockSample(4096, 4096, 0.0))
    exact = replace(prediction, case=replace(prediction.case, profile=profile))
    assert "all 4 096 blocks" in text_of(exact)
    assert "drawn at random" not in text_of(exact)


def test_a_spread_that_cannot_be_told_is_not_shown_as_a_number(prediction):
    profile = replace(prediction.case.profile, sample=BlockSample(1, 4096, float("nan")))
    one = replace(prediction, case=replace(prediction.case, profile=profile))
    assert "unknown" in text_of(one)
    assert "nan" not in text_of(one)


def test_names_with_brackets_are_printed_as_they_are(prediction):
    kernel = replace(prediction.case.kernel, label="tiled<f32[n]>[red]")
    odd = replace(prediction, case=replace(prediction.case, kernel=kernel))
    assert text_of(odd).startswith("tiled<f32[n]>[red]<<<4096, 256>>>")


def test_every_bottleneck_has_plain_words():
    assert set(MEANING) == set(Bottleneck)


def test_a_comparison_names_the_fastest_first(prediction, elsewhere):
    lines = text_of_all([elsewhere, prediction]).splitlines()
    assert lines[:2] == [
        "saxpy<<<4096, 256>>> is fastest on h100-sxm: 5.00 us, bound by dram bandwidth",
        "2.00 times as fast as a100-sxm-80gb, by the roofline model.",
    ]


def test_a_comparison_has_one_row_per_gpu(prediction, elsewhere):
    text = text_of_all([prediction, elsewhere])
    head, *rows = paragraph(text, 1)
    assert head[:2] == ["GPU", "time"]
    assert [(row[0], row[3]) for row in rows] == [("h100-sxm", "1.00"), ("a100-sxm-80gb", "2.00")]


def test_gpus_are_compared_by_one_model_at_a_time(prediction, elsewhere):
    slower = [replace(p, model=MwpCwp(), time_s=10 * p.time_s) for p in (prediction, elsewhere)]
    text = text_of_all([prediction, elsewhere, *slower])
    _, *rows = paragraph(text, 1)
    assert [row[4] for row in rows] == ["1.00", "2.00", "1.00", "2.00"]


def test_models_that_disagree_are_shown_as_a_span(prediction):
    other = replace(prediction, model=MwpCwp(), time_s=7e-6)
    lines = text_of_all([prediction, other]).splitlines()
    assert lines[:2] == [
        "saxpy<<<4096, 256>>> on h100-sxm: 5.00 us to 7.00 us, bound by dram bandwidth",
        "By the models roofline and mwp-cwp.",
    ]


def test_a_workload_counts_repeats(prediction):
    thrice = replace(prediction.case.launch, repeat=3)
    repeated = replace(prediction, case=replace(prediction.case, launch=thrice))
    text = text_of_all([prediction, repeated])
    assert text.startswith("The workload of 4 launches on h100-sxm: 20.0 us")
    assert paragraph(text, 2)[-1] == ["h100-sxm", "roofline", "20.0", "us"]


def test_a_comparison_says_what_was_executed_and_warns_once(prediction, elsewhere):
    text = text_of_all([prediction, elsewhere])
    assert "64 of 4 096 blocks" in text
    assert text.count("no noc.bandwidth") == 1
    assert "h100-sxm, a100-sxm-80gb: no noc.bandwidth" in text


def test_a_parameter_that_is_set_is_told_wherever_the_model_is(prediction):
    printed = replace(prediction, model=MwpCwp(comp_over_mem_equation=23))
    label = "mwp-cwp:comp_over_mem_equation=23"
    assert f"By the {label} model" in text_of(printed)
    both = " ".join(text_of_all([replace(prediction, model=MwpCwp()), printed]).split())
    assert f"By the models mwp-cwp and {label}." in both
