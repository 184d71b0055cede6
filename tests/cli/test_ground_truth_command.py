"""`kernelcast validate ground-truth` and `measure --ground-truth`, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from kernelcast.measuring import ground_truth_pack
from kernelcast.measuring.harness.ground_truth import SCHEMA
from kernelcast.suite.registry import kernel_named
from kernelcast.suite.table import Scale, argument_text

KERNELS = ("reduce_tree", "stream_scale")
ATTRIBUTES = ("clock_khz", "sm_count", "l2_bytes", "memory_bytes")


def entry(name: str, cold_s: float) -> dict:
    """What the runner writes for the first two configurations; the second takes twice as long."""
    launches = kernel_named(name).launches(Scale.FULL)[:2]
    samples = [
        {
            "configuration": number,
            "kernel": launch.kernel,
            "grid": launch.grid,
            "block": launch.block,
            "smem_bytes": launch.smem_bytes,
            "args": {label: argument_text(value) for label, value in launch.args.items()},
            "result": "right",
            "registers": 16,
            "blocks_per_sm": 8,
            "clock_hz": 1.7e9,
            "cold_s": [(1 + number) * cold_s] * 3,
            "warm_s": [(1 + number) * cold_s / 10] * 3,
        }
        for number, launch in enumerate(launches)
    ]
    return {"status": "done", "empty_s": [1e-6], "samples": samples}


@pytest.fixture
def raw(tmp_path) -> Path:
    device = {"name": "Some GPU", "major": 9, "minor": 0, **dict.fromkeys(ATTRIBUTES, 1)}
    entries = {name: entry(name, 5e-5) for name in KERNELS}
    failed = {"status": "failed", "error": "hangs", "samples": []}
    document = {"schema": SCHEMA, "device": device, "kernels": {**entries, "scan_compact": failed}}
    path = tmp_path / "raw.json"
    path.write_text(json.dumps(document))
    return path


def test_predictions_are_put_beside_what_was_measured(run, raw):
    done = run("validate", "ground-truth", raw, "--gpu", "h100-sxm")
    assert done.status == 0, done.err
    assert "predicted, beside Some GPU, measured; cold L2 cache" in done.out
    for name in KERNELS:
        assert name in done.out
    assert "scan_compact: hangs" in done.out
    assert "Kendall" in done.out


def test_json_holds_every_launch_and_the_cache_that_was_asked_for(run, raw):
    options = ["--gpu", "h100-sxm", "--only", "stream_scale", "--model", "roofline", "--json"]
    options += ["--set", "launch.overhead=3e-6"]  # an empty launch took 1e-6
    times = {}
    for cache in ("cold", "warm"):
        done = run("validate", "ground-truth", raw, *options, "--l2", cache)
        assert done.status == 0, done.err
        answer = json.loads(done.out)
        assert (answer["set"], answer["gpu"], answer["l2"]) == ("ground-truth", "h100-sxm", cache)
        (model,) = answer["models"]
        kernels = answer["models"][model]["kernels"]
        assert list(kernels) == ["stream_scale"]
        times[cache] = kernels["stream_scale"]["configurations"]
    assert [one["measured_s"] for one in times["cold"]] == pytest.approx([5.2e-5, 1.02e-4])
    assert [one["measured_s"] for one in times["warm"]] == pytest.approx([7e-6, 1.2e-5])
    assert all(one["predicted_s"] > 0 for one in times["cold"])


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "Missing argument 'RAW.json'"),
        (("RAW",), "Missing option '--gpu'"),
        (("RAW", "--gpu", "h100-sxm,a100"), "one GPU expected"),
        (("RAW", "--gpu", "h100-sxm", "--only", "reduce_tre"), "did you mean reduce_tree"),
        (("nothing.json", "--gpu", "h100-sxm"), "No such file"),
    ],
)
def test_bad_input_is_one_line(run, raw, arguments, what):
    given = [raw if word == "RAW" else word for word in arguments]
    done = run("validate", "ground-truth", *given)
    assert (done.status, done.out) == (2, "")
    assert what in done.err
    assert done.err.count("\n") == 1


def test_the_pack_can_hold_the_ground_truth_too(run, tmp_path, monkeypatch):
    """What the part holds is for the tests of the pack; here it is a stand-in."""
    part = ground_truth_pack.GroundTruthPart({"ground_truth/table.json": b"{}"}, ("gemm_half2",))
    monkeypatch.setattr(ground_truth_pack, "ground_truth_part", lambda targets, cache: part)
    done = run("measure", "--pack", tmp_path / "pack", "--ground-truth", "--target", "sm_80")
    assert done.status == 0, done.err
    assert "python3 pack.pyz ground-truth --out ground-truth.json" in done.out
    assert "left out, for want of NVIDIA's headers: gemm_half2" in done.err
    names = ZipFile(tmp_path / "pack" / "pack.pyz").namelist()
    assert "ground_truth/table.json" in names
    assert {name.split("/")[1] for name in names if "/sm_" in name} == {"sm_80"}


def test_an_unknown_kernel_is_named_before_anything_runs(run):
    done = run("measure", "--ground-truth", "--only", "gemm_nave")
    assert done.status == 2
    assert "did you mean gemm_naive" in done.err
