import json
import subprocess
import sys

import jsonschema
import pytest

from kernelcast.cli.doctor import findings
from kernelcast.models import model_names


def test_models_names_them_all(run):
    out = run("models").out
    for name in model_names():
        assert name in out


@pytest.mark.parametrize("name", model_names())
def test_a_model_says_where_it_is_from_and_what_it_leaves_out(run, name):
    out = run("models", name).out
    assert "Source: " in out
    assert "Not modelled" in out
    data = json.loads(run("models", name, "--json").out)
    assert data["name"] == name
    assert data["not_modelled"]


def test_an_unknown_model_answers_with_the_nearest(run):
    outcome = run("models", "rooflin")
    assert (outcome.status, outcome.out) == (2, "")
    assert "did you mean roofline" in outcome.err


def test_the_schema_is_valid(run):
    jsonschema.Draft202012Validator.check_schema(json.loads(run("schema").out))


def test_doctor_finds_what_is_installed(run):
    outcome = run("doctor")
    assert outcome.status == 0
    for part in ("NVRTC", "nvdisasm", "llvmlite", "numba", "pycparser", "islpy", "cache"):
        assert part in outcome.out
    states = {f["part"]: f["works"] for f in json.loads(run("doctor", "--json").out)["findings"]}
    assert states["NVRTC"]


def test_doctor_says_what_to_install(monkeypatch):
    for module in ("wheels", "nvdisasm"):
        monkeypatch.setattr(f"kernelcast.toolchain.{module}.find_in_wheels", lambda *_: ())
        monkeypatch.setattr(f"kernelcast.toolchain.{module}.find_in_packages", lambda _: ())
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    missing = {f.part: f.advice for f in findings() if not f.works}
    assert "nvidia-cuda-nvrtc" in missing["NVRTC"]
    assert "nvidia-cuda-nvdisasm" in missing["nvdisasm"]


def test_doctor_names_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("KERNELCAST_CACHE", str(file / "cache"))
    (cache,) = (f for f in findings() if f.part == "cache")
    assert not cache.works


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "kernelcast.cli.main", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0
