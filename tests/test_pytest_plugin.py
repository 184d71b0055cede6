"""The plugin in a small project of its own, and what it costs a session that does not use it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest

@pytest.mark.gpu("rtx-3080")
def test_fast_enough(forecast):
    f = forecast("saxpy.cu")
    assert f.case.machine.name == "rtx-3080"
    assert f.time_s < 1

def test_too_slow(forecast):
    assert forecast("saxpy.cu").time_s < 1e-9

def test_another_gpu(forecast):
    assert forecast("saxpy.cu", gpu="t4").case.machine.name == "t4"

def test_a_launch_of_several(forecast):
    with pytest.raises(ValueError, match="has 2 launches: name one"):
        forecast("twice.toml")
    assert forecast("twice.toml", launch=2).case.launch.blocks == 8

def test_without():
    assert False
"""
WORKLOAD = """
source = "saxpy.cu"
[[launch]]
kernel = "saxpy"
grid = 4
block = 256
args = { n = 1024, a = 2.0, x = "f32[1024]", y = "f32[1024]" }
[[launch]]
kernel = "saxpy"
grid = 8
block = 256
args = { n = 1024, a = 2.0, x = "f32[1024]", y = "f32[1024]" }
"""


def pytest_in(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "kernelcast.pytest_plugin", "-p", "no:xdist"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


@pytest.fixture
def project(tmp_path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_kernels.py").write_text(TESTS)
    (tmp_path / "tests/twice.toml").write_text(WORKLOAD)
    shutil.copy(ROOT / "examples/saxpy.cu", tmp_path / "tests")
    return tmp_path


def test_forecasts_in_tests(project):
    out = pytest_in(project)
    assert "3 passed" in out, out
    assert "2 failed" in out
    failed = out[out.index("test_too_slow") :]
    assert "- kernelcast forecast -" in failed
    assert "saxpy<<<262144, 256>>> on h100-sxm: " in failed
    assert "Where the time goes" in failed
    # A test without a forecast shows none, and neither does one that passes.
    assert out.count("- kernelcast forecast -") == 1


def test_the_mark_and_the_fixture_are_documented(project):
    assert "@pytest.mark.gpu(name): the GPU" in pytest_in(project, "--markers")
    assert "Forecasts launches" in pytest_in(project, "--fixtures", "-v")


def test_a_session_that_does_not_use_it_imports_nothing_for_it(project):
    (project / "tests/test_kernels.py").write_text(
        "import sys\n"
        "def test_nothing_is_imported():\n"
        "    found = {m for m in sys.modules if m.partition('.')[0] == 'kernelcast'}\n"
        "    assert found <= {'kernelcast', 'kernelcast.version', 'kernelcast.pytest_plugin'}\n"
        "    assert not {'numpy', 'llvmlite', 'numba', 'rich'} & set(sys.modules)\n"
    )
    assert "1 passed" in pytest_in(project)


def test_pytest_finds_it_by_itself():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = project["entry-points"]["pytest11"]
    # Under the name of its module, so that `-p` does not load it twice.
    assert found == {"kernelcast.pytest_plugin": "kernelcast.pytest_plugin"}
