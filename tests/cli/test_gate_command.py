"""`gate` in a small project: statuses, files for CI systems, a baseline, and what is refused."""

from __future__ import annotations

import json
import shutil
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kernelcast.cli import many_files

VOLKOV = ("--model", "volkov")
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A folder with two kernels, in which commands run, in no CI system."""
    for name in ("saxpy.cu", "transpose.cu"):
        shutil.copy(EXAMPLES / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_what_holds_exits_0(run, project):
    found = run("gate", "time < 1 s and bank_conflicts == 0", "saxpy.cu")
    assert (found.status, found.err) == (0, "")
    assert found.out.splitlines()[-1] == "holds: 2 held"


def test_what_is_broken_exits_1_and_says_where(run, project):
    found = run("gate", "bank_conflicts == 0", "saxpy.cu", "transpose.cu")
    assert found.status == 1
    assert found.out.startswith("broken      transpose.cu:28: transpose<<<128x128, 32x8>>>")
    assert found.out.splitlines()[-1] == "broken: 1 broken, 1 held"


def test_a_bound_within_the_interval_exits_3(run, project):
    (result,) = json.loads(run("predict", "saxpy.cu", "--model", "teg", "--json").out)["results"]
    low, high = result["low_s"], result["high_s"]
    assert low < high
    found = run("gate", f"time < {(low + high) / 2:.9g}", "saxpy.cu", "--model", "teg")
    assert found.status == 3
    assert found.out.startswith("cannot tell saxpy.cu:15: ")


def test_files_for_ci_systems(run, project, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    reports = ("--junit", "junit.xml", "--sarif", "found.sarif", "--code-quality", "quality.json")
    bound = ("gate", "bank_conflicts == 0 and time < 1 s", "transpose.cu")
    found = run(*bound, "--json", *reports, "--html", "page.html")
    document = json.loads(found.out)
    assert (found.status, document["status"]) == (1, "broken")
    suites = ElementTree.parse(project / "junit.xml").getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("2", "1", "0")
    log = json.loads((project / "found.sarif").read_text())
    (result,) = log["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "transpose.cu"},
        "region": {"startLine": 28},
    }
    assert found.err.startswith("::error file=transpose.cu,line=28,")
    (remark,) = json.loads((project / "quality.json").read_text())
    assert remark["location"] == {"path": "transpose.cu", "lines": {"begin": 28}}
    assert (remark["severity"], len(remark["fingerprint"])) == ("major", 64)
    assert "bank_conflicts is 16.3 M" in remark["description"]
    assert "bank_conflicts is 16.3 M" in (project / "page.html").read_text()


def test_a_baseline_tells_what_became_slower_and_why(run, project):
    (project / "base.json").write_text(
        run("predict", "transpose.cu", *VOLKOV, "-D", "PAD=1", "--json").out
    )
    same = run("gate", "transpose.cu", *VOLKOV, "-D", "PAD=1", "--baseline", "base.json")
    assert same.status == 0
    assert "as before" in same.out
    slower = run("gate", "transpose.cu", *VOLKOV, "--baseline", "base.json", "--tolerance", "5%")
    assert slower.status == 1
    assert "slower than the baseline" in slower.out
    assert "- shared-memory bandwidth: " in slower.out
    assert "- transpose.cu:28: " in slower.out
    assert "bank conflicts 32.0, was 1.00" in slower.out
    assert (
        run("gate", "transpose.cu", *VOLKOV, "--baseline", "base.json", "--tolerance", "90%").status
        == 0
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tme < 1 s", "saxpy.cu"), "column 1: unknown name 'tme'; did you mean time?"),
        (("time < 1 sec", "saxpy.cu"), "unknown unit 'sec'"),
        (("time < 1 parsec", "saxpy.cu"), "unknown unit 'parsec'; times are in s, ms, us or ns"),
        (("time < 1 s",), "is no file, so it is the condition: FILE expected"),
        (("saxpy.cu",), "a condition or --baseline expected"),
        ((), "a condition or --baseline expected"),
        (("time < 1 s", "nothing.cu"), "nothing.cu"),
        (("saxpy.cu", "--baseline", "saxpy.cu"), "saxpy.cu: is no forecast"),
        (("saxpy.cu", "--baseline", "none.json"), "none.json: cannot be read"),
        (("saxpy.cu", "--baseline", "saxpy.json", "--tolerance", "x"), "'x' is no share"),
        (("time < 1 s", "saxpy.cu", "--junit", "no/where.xml"), "no/where.xml: cannot be written"),
    ],
)
def test_bad_input_is_one_line(run, project, arguments, message):
    if "saxpy.json" in arguments:
        (project / "saxpy.json").write_text(run("predict", "saxpy.cu", "--json").out)
    found = run("gate", *arguments)
    assert (found.status, found.out) == (2, "")
    assert message in found.err
    assert found.err.count("\n") == 1


def test_a_baseline_of_another_kernel(run, project):
    (project / "base.json").write_text(run("predict", "saxpy.cu", "--json").out)
    found = run("gate", "transpose.cu", "--baseline", "base.json")
    assert found.status == 2
    assert "base.json: unknown forecast 'transpose<<<128x128, 32x8>>> on h100-sxm" in found.err


def test_names(run):
    found = run("gate", "--names")
    assert found.status == 0
    for name in ("time", "bank_conflicts", "dram_bytes"):
        assert f"\n{name} " in found.out
    names = json.loads(run("gate", "--names", "--json").out)
    assert {"name": "time", "unit": "seconds"}.items() <= names["names"][0].items()
    assert "ms" in names["units"]


def test_many_files_are_forecast_by_workers_alike(run, project, monkeypatch):
    bound = ("gate", "time < 1 s", *VOLKOV, "--sample", "2", "--json")
    files = ["saxpy.cu", "./saxpy.cu"]
    alone = json.loads(run(*bound, "--threads", "1", *files).out)
    monkeypatch.setattr(many_files, "_FEWEST_FOR_A_WORKER", 1)
    together = json.loads(run(*bound, "--threads", "2", *files).out)
    assert together == alone
    assert len(together["checks"]) == 2


def test_an_error_of_a_worker_is_one_line(run, project, monkeypatch):
    monkeypatch.setattr(many_files, "_FEWEST_FOR_A_WORKER", 1)
    found = run("gate", "time < 1 s", *VOLKOV, "--threads", "2", "saxpy.cu", "none.cu")
    assert (found.status, found.out) == (2, "")
    assert "none.cu" in found.err
    assert found.err.count("\n") == 1


def test_a_worker_that_ends_is_one_line(run, project, monkeypatch):
    class Pool:
        def __init__(self, *_: object) -> None: ...

        def map(self, *_: object) -> None:
            raise BrokenProcessPool("gone")

        def shutdown(self, **_: object) -> None: ...

    monkeypatch.setattr(many_files, "_FEWEST_FOR_A_WORKER", 1)
    monkeypatch.setattr(many_files, "ProcessPoolExecutor", Pool)
    found = run("gate", "time < 1 s", *VOLKOV, "--threads", "2", "saxpy.cu", "./saxpy.cu")
    assert found.status != 0
    assert "a worker process ended on its own at the 1. of 2 files" in found.err
    assert found.err.count("\n") == 1
