import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_a_forecast_is_the_same_on_any_number_of_threads(run, isa):
    answers = set()
    for threads in (["--threads", 1], ["--threads", 3], []):
        outcome = run(
            "predict", EXAMPLES / "histogram.cu", "--isa", isa, "--sample", 40, "--json", *threads
        )
        assert outcome.status == 0, outcome.err
        answers.add(re.sub(r'"seconds": .*', "", outcome.out))
    assert len(answers) == 1


@pytest.mark.parametrize("threads", ["0", "-1", "two", "1.5"])
def test_no_such_number_of_threads(run, threads):
    outcome = run("predict", EXAMPLES / "saxpy.cu", "--threads", threads)
    assert outcome.status == 2
    assert "--threads" in outcome.err
    assert threads in outcome.err
    assert outcome.out == ""


def test_a_trace_is_not_executed(run, tmp_path):
    file = tmp_path / "s.kct"
    traced = run("trace", EXAMPLES / "saxpy.cu", "--sample", 2, "--threads", 2, "--out", file)
    assert traced.status == 0, traced.err
    outcome = run("trace", file, "--threads", 2)
    assert outcome.status == 2
    assert "--threads: a trace stays as it was made" in outcome.err
