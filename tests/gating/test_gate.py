"""The document of a gate, a baseline kept from before, and the forms that CI systems read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gating.documents import documents

from kernelcast.errors import InputError, NotFoundError
from kernelcast.gating.baseline import KeptForecast, read_baseline, slowdown
from kernelcast.gating.conditions import BoundStatus
from kernelcast.gating.gate import Bounds, gate_document, names_document, read_tolerance
from kernelcast.gating.quantities import QUANTITIES, intervals
from kernelcast.reporting.ci.annotations import SYSTEMS, annotation_lines
from kernelcast.reporting.ci.code_quality import code_quality
from kernelcast.reporting.ci.junit import junit
from kernelcast.reporting.ci.sarif import sarif
from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.documents.gate import CheckPart, GateDocument

EXAMPLES = Path(__file__).parents[2] / "examples"


def gated(document, condition, **fields) -> GateDocument:
    return gate_document({"transpose.cu": [document]}, Bounds(condition, **fields))


def test_the_quantities_of_a_known_kernel(explained):
    found = intervals(explained)
    assert found["bank_conflicts"].value == 31 * 2**19  # 32 passes each of 2^24 / 32 loads
    assert found["sectors_per_request"].value == 4
    assert found["global_bytes"].value == 2 * 4 * 2**24
    assert found["occupancy"].value == 1
    assert found["registers"].value == explained.result.resources.registers
    assert {q.name for q in QUANTITIES} == set(found) == {n.name for n in names_document().names}


@pytest.mark.parametrize(
    ("bound", "status"),
    [
        ("100 us", "holds"),
        ("70.1 us", "cannot tell"),
        ("79 us", "cannot tell"),
        ("50 us", "broken"),
    ],
)
def test_the_three_statuses(within, bound, status):
    found = gated(within, f"time < {bound}")
    assert found.status == status
    assert (found.held, found.broken, found.untold) == (
        int(status == "holds"),
        int(status == "broken"),
        int(status == "cannot tell"),
    )


def test_a_check_says_where_and_what(explained):
    found = gated(explained, "time < 1 s and bank_conflicts == 0", root=EXAMPLES)
    time, conflicts = found.checks
    assert time.status == "holds"
    assert (conflicts.status, conflicts.file, conflicts.line) == ("broken", "transpose.cu", 28)
    assert conflicts.message == "bank_conflicts == 0: bank_conflicts is 16.3 M"
    assert found.status == "broken"


def kept(explained, **changes) -> KeptForecast:
    before = msgspec.convert(as_json(explained)["result"], KeptForecast)
    return msgspec.structs.replace(before, **changes)


def scaled(before: KeptForecast, by: float) -> KeptForecast:
    times = {
        name: None if value is None else by * value
        for name in ("time_s", "low_s", "high_s")
        for value in [getattr(before, name)]
    }
    return msgspec.structs.replace(before, **times)


def test_the_same_forecast_is_as_fast_however_wide_its_interval(within):
    found = slowdown(within, kept(within), 0.0)
    assert (found.verdict, found.causes) == (BoundStatus.HOLDS, ())
    assert found.message == "70.0 us, as before"


@pytest.mark.parametrize(
    ("by", "tolerance", "verdict"),
    [
        (0.9, 0.0, BoundStatus.BROKEN),
        (0.9, 0.2, BoundStatus.HOLDS),
        (1.1, 0.0, BoundStatus.HOLDS),
        (0.96, 0.05, BoundStatus.HOLDS),
        (0.94, 0.05, BoundStatus.BROKEN),
    ],
)
def test_a_tolerance(within, by, tolerance, verdict):
    assert slowdown(within, scaled(kept(within), by), tolerance).verdict is verdict


def test_intervals_that_moved_apart_only_in_part_cannot_be_told(within):
    before = kept(within, time_s=69e-6, low_s=61e-6)
    assert slowdown(within, before, 0.0).verdict is BoundStatus.CANNOT_TELL


def test_what_became_slower_and_why(explained):
    lines = kept(explained).costly_lines
    before = scaled(kept(explained), 0.5)
    padded = [
        msgspec.structs.replace(
            line, bank_conflicts=1.0 if line.bank_conflicts else None, line=line.line - 3
        )
        for line in lines
    ]
    term = msgspec.structs.replace(before.breakdown[0], time_s=before.breakdown[0].time_s / 2)
    before = msgspec.structs.replace(
        before, costly_lines=padded, breakdown=[term, *before.breakdown[1:]]
    )
    found = slowdown(explained, before, 0.05)
    assert found.verdict is BoundStatus.BROKEN
    assert found.message.startswith("100 % slower than the baseline: 73.1 us, was 36.6 us")
    assert found.causes[0].startswith("shared-memory bandwidth: 70.7 us, was 35.3 us")
    assert "transpose.cu:28: bank conflicts 32.0, was 1.00" in found.causes


def test_baselines_of_predict_and_explain_are_read(explained, tmp_path):
    document = as_json(explained)
    file = tmp_path / "f.json"
    for text in (
        json.dumps(document),
        json.dumps({"schema": "kernelcast/predict/1", "results": [document["result"]]}),
    ):
        file.write_text(text)
        (found,) = read_baseline(file)
        assert found.time_s == explained.result.time_s


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no forecast"),
        ("[]", "is no forecast"),
        ('{"schema": "kernelcast/predict/2", "results": []}', "is of schema kernelcast/predict/2"),
        ('{"schema": "kernelcast/predict/1"}', "is no whole forecast"),
        ('{"schema": "kernelcast/predict/1", "results": [{"kernel": 1}]}', "is no whole forecast"),
    ],
)
def test_what_is_no_baseline(tmp_path, text, message):
    file = tmp_path / "f.json"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_baseline(file)
    assert "make it anew with predict --json" in str(caught.value)


def test_a_baseline_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_baseline(tmp_path / "f.json")


def test_a_baseline_of_another_kernel(explained):
    other = kept(explained, kernel="saxpy", title="saxpy<<<1, 1>>>")
    with pytest.raises(NotFoundError, match=r"base.json: unknown forecast 'transpose<<<"):
        gated(explained, None, baseline=[other], named="base.json")


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("0.05", 0.05), (" 0 % ", 0.0)])
def test_tolerances(text, share):
    assert read_tolerance(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "-1%", "5%%", "5 percent", "nan", "inf%"])
def test_what_is_no_tolerance(text):
    with pytest.raises(InputError, match="is no share"):
        read_tolerance(text)


@given(documents())
def test_junit_counts_what_it_holds(document):
    root = ElementTree.fromstring(junit(document))
    (suite,) = root
    assert (root.tag, suite.tag, suite.get("name")) == (
        "testsuites",
        "testsuite",
        "kernelcast gate",
    )
    cases = list(suite)
    assert {case.tag for case in cases} <= {"testcase"}
    assert all({"name", "classname"} <= set(case.attrib) for case in cases)
    inner = [child for case in cases for child in case]
    assert {child.tag for child in inner} <= {"failure", "error"}
    for element in (root, suite):
        assert element.get("tests") == str(len(cases))
        assert element.get("failures") == str(sum(c.tag == "failure" for c in inner))
        assert element.get("errors") == str(sum(c.tag == "error" for c in inner))


@given(documents())
def test_sarif_has_what_the_standard_asks_for(document):
    log = json.loads(sarif(document))
    assert log["version"] == "2.1.0"  # section 3.13.2
    (one,) = log["runs"]
    driver = one["tool"]["driver"]
    assert driver["name"] == "kernelcast"  # 3.19.8
    identifiers = [rule["id"] for rule in driver["rules"]]
    assert len(identifiers) == len(set(identifiers))  # 3.19.23: unique
    assert len(one["results"]) == document.broken + document.untold
    for found in one["results"]:
        assert identifiers[found["ruleIndex"]] == found["ruleId"]  # 3.27.6
        assert found["level"] in ("error", "warning")  # 3.27.10
        assert isinstance(found["message"]["text"], str)  # 3.11.8
        place = found["locations"][0]["physicalLocation"]
        # RFC 3986: no character but those of URIs.
        assert re.fullmatch(r"[\w\-.~:/?#\[\]@!$&'()*+,;=%]*", place["artifactLocation"]["uri"])
        assert place.get("region", {"startLine": 1})["startLine"] >= 1  # 3.30.5


@given(documents())
def test_sarif_is_what_a_model_of_its_schema_reads(document):
    """Read by the types of another project and written again, nothing is gone or changed."""
    model = pytest.importorskip("sarif_pydantic", reason="needs the extra dev")
    log = json.loads(sarif(document))
    again = model.Sarif.model_validate(log)
    assert json.loads(again.model_dump_json(by_alias=True, exclude_none=True)) == log


@given(documents())
def test_another_reader_of_junit_finds_the_same(document):
    reader = pytest.importorskip("junitparser", reason="needs the extra dev")
    (suite,) = reader.JUnitXml.fromstring(junit(document))
    kinds = [type(result) for case in suite for result in case.result]
    assert len(list(suite)) == len(document.checks) == suite.tests
    assert kinds.count(reader.Failure) == document.broken == suite.failures
    assert kinds.count(reader.Error) == document.untold == suite.errors


@given(documents(), st.sampled_from(sorted(SYSTEMS)))
def test_an_annotation_is_one_line_for_each_broken_bound(document, system):
    lines = list(annotation_lines(document, system))
    assert len(lines) == document.broken + document.untold
    assert not [line for line in lines if re.search(r"[\r\n]", line)]


def test_annotations_of_each_system():
    check = CheckPart(
        "a < 1", "broken", "a is 2: 100%", "d/k,1.cu", 7, "k", "k<<<1>>>", "t4", "m", [], ["why"]
    )
    document = GateDocument("kernelcast/gate/1", "0", None, None, None, "broken", 0, 1, 0, [check])
    found = {system: next(annotation_lines(document, system)) for system in SYSTEMS}
    assert found == {
        "github": "::error file=d/k%2C1.cu,line=7,title=kernelcast%3A broken"
        "::k<<<1>>> on t4: a is 2: 100%25%0Awhy",
        "azure": "##vso[task.logissue type=error;sourcepath=d/k,1.cu;linenumber=7]"
        "k<<<1>>> on t4: a is 2: 100%AZP25%0Awhy",
        "teamcity": "##teamcity[message text='d/k,1.cu:7: k<<<1>>> on t4: a is 2: 100%|nwhy' "
        "status='ERROR']",
    }


def test_code_quality_for_gitlab(explained, within):
    document = gated(explained, "bank_conflicts == 0 and time < 1 s")
    (remark,) = json.loads(code_quality(document))
    # What GitLab asks of a remark: "Code Quality report format" in its documentation.
    assert set(remark) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert remark["location"] == {"path": document.checks[0].file, "lines": {"begin": 28}}
    assert remark["check_name"] == "kernelcast: bank_conflicts == 0"
    assert remark["severity"] == "major"
    (untold,) = json.loads(code_quality(gated(within, "time < 79 us")))
    assert untold["severity"] == "minor"
    assert untold["fingerprint"] != remark["fingerprint"]
    # The same bound on the same launch is known again, whatever the figures are.
    changed = msgspec.structs.replace(document.checks[0], message="other figures", line=29)
    again = msgspec.structs.replace(document, checks=[changed])
    (same,) = json.loads(code_quality(again))
    assert same["fingerprint"] == remark["fingerprint"]
