"""`kernelcast validate teg`: the answer as JSON, and the exit status."""

from __future__ import annotations

import json

import pytest


@pytest.mark.only_with_all
def test_the_paper_is_played(run):
    """Of the document, `tests/validation/test_teg.py` holds the same."""
    outcome = run("validate", "teg", "--json")
    answer = json.loads(outcome.out)
    assert (answer["schema"], answer["set"]) == ("kernelcast/validate/1", "teg")
    assert all(number["holds"] for number in answer["numbers"])
    assert [curve["table"] for curve in answer["curves"]] == [2, 3, 4, 5]
    assert all(point["holds"] for curve in answer["curves"] for point in curve["points"])
    assert answer["holds"] == (answer["met"] == answer["stated"]) == (outcome.status == 0)
