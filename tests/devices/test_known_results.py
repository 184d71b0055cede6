"""Kernels of known results as a program launches them: their arrays are NumPy's, and the profile of
`run` is what `predict` says of the same launches."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from kernelcast import api
from kernelcast.devices import memory
from kernelcast.errors import CompileError
from kernelcast.execution.address_map import GUARD_BYTES
from kernelcast.execution.memory import Memory
from kernelcast.frontends import LaunchFlags, check_launch, read_workload
from kernelcast.frontends.cuda import CompiledSource, compile_source
from kernelcast.ir import Kernel, Launch
from kernelcast.suite.expected import Given, expected_result
from kernelcast.suite.registry import families
from kernelcast.suite.table import NVIDIA_HEADERS, Scale
from tests.devices.conftest import PROGRAMS, Ended
from tests.kept import CACHE

GPU = "h100-sxm"
EXAMPLES = Path(__file__).parents[2] / "examples"
ELSEWHERE = 0.2
"""By how much a small launch differs whose arrays lie in other sets of the caches: what `predict`
says does, too, where its arrays are laid elsewhere."""

ALWAYS = {"graph", "stream"}
"""Families that are run each time; the others only with `--all`. What a search through a graph does
depends on what it has changed: every execution behind its forecast has to find it unchanged."""


@dataclass(frozen=True)
class Prepared:
    """One launch: the kernel, and its memory as it is before."""

    kernel: Kernel
    launch: Launch
    memory: Memory

    @property
    def arrays(self) -> list[str]:
        return [region.label for region in self.memory.regions if region.is_argument]


def prepared(source: CompiledSource, launch: Launch) -> Prepared:
    mangled = {label: name for name, label in source.labels.items()}[launch.kernel]
    kernel = source.machine_kernel(mangled, CACHE)
    launch = check_launch(kernel, launch)
    return Prepared(kernel, launch, Memory.build(kernel, launch))


def described(one: Prepared, number: int, folder: Path, cubin: str) -> dict[str, object]:
    """What `launches.py` is to do; the arrays are written to the folder."""
    kernel, held = one.kernel, one.memory
    names = {label: f"{number}-{label}.bin" for label in one.arrays}
    for label, name in names.items():
        (folder / name).write_bytes(held.image()[label])
    pointers = held.pointers(kernel)
    parameters = []
    for p in kernel.parameters:
        span = range(p.offset_bytes, p.offset_bytes + p.size_bytes)
        value = held.parameters[span.start : span.stop].tobytes().hex()
        within = {at - span.start: names[pointers[at]] for at in pointers if at in span}
        parameters.append({"bytes": value, "pointers": within})
    return {
        "cubin": cubin,
        "kernel": kernel.name,
        "grid": one.launch.grid,
        "block": one.launch.block,
        "smem": one.launch.smem_bytes,
        "parameters": parameters,
        "arrays": list(names.values()),
    }


def run_all(
    ended: Callable[..., Ended], folder: Path, source: CompiledSource, launches: Sequence[Prepared]
) -> Ended:
    """Let a program make launches; `memory` of each is what it left."""
    (folder / "code.cubin").write_bytes(source.compilation.cubin)
    texts = [described(one, n, folder, "code.cubin") for n, one in enumerate(launches)]
    (folder / "launches.json").write_text(json.dumps(texts))
    done = ended("--gpu", GPU, sys.executable, PROGRAMS / "launches.py", folder)
    assert (done.status, done.printed, done.said) == (0, "done\n" * len(launches), "")
    for number, one in enumerate(launches):
        for region in one.memory.regions:
            if region.is_argument:
                found = np.fromfile(folder / f"{number}-{region.label}.bin", np.uint8)
                one.memory.bytes_at(region.address, region.size_bytes)[:] = found
    return done


def check_profile(done: Ended, launches: Iterable[Prepared], *, within: float) -> None:
    """That what each launch took is what `predict` says."""
    times = {
        (k["kernel"], tuple(k["block"]), k["smem"]): k["times"][0] for k in done.profile["kernels"]
    }
    for one in launches:
        forecast = api.predict(api.case(one.kernel, one.launch, GPU))
        label = one.kernel.shown
        found = times[label, one.launch.block, one.launch.smem_bytes]
        assert found["mean_s"] == pytest.approx(forecast.time_s, rel=within), label
        if within < ELSEWHERE:
            assert found["bottleneck"] == forecast.bottleneck, label


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(name, marks=() if name in ALWAYS else pytest.mark.only_with_all)
        for name in families()
    ],
)
def test_kernels_of_known_results_are_run_and_forecast(ended, built, tmp_path, family):
    built("vector_add")  # skips where the libraries cannot be made
    members = families()[family]
    wanted = [member.launches(Scale.SMALL)[0] for member in members]
    text = members[0].source.read_text()
    try:
        source = compile_source(
            text,
            name=family,
            architecture="sm_90",
            kernels=[launch.kernel for launch in wanted],
            cache=CACHE,
        )
    except CompileError as error:
        if any(NVIDIA_HEADERS in m.needs for m in members) and "open source file" in error.what:
            pytest.skip("NVIDIA's headers are not installed")
        raise
    launches = [prepared(source, launch) for launch in wanted]
    expected = [expected_result(*pair) for pair in zip(members, wanted, strict=True)]
    done = run_all(ended, tmp_path, source, launches)
    for result, one in zip(expected, launches, strict=True):
        assert not (difference := result.difference(one.memory)), (
            f"{one.kernel.label}: {difference}"
        )
    check_profile(done, launches, within=ELSEWHERE)


def histogram(given):
    return {"bins": np.bincount(given.data, minlength=256)}


def matmul(given):
    return {"C": given.A.astype(float) @ given.B}


def saxpy(given):
    return {"y": given.a * given.x + given.y}


def spmv(given):
    pitch, gathered = given.pitch, given.value * given.x[given.column]
    rows = gathered.reshape(-1, pitch).astype(float)
    return {"y": np.where(np.arange(pitch) < given.lengths[:, None], rows, 0).sum(axis=1)}


def sums(given):
    padded = np.pad(given.x.astype(float), (0, given.partial.size * 256 - given.x.size))
    return {"partial": padded.reshape(-1, 256).sum(axis=1)}


def transpose(given):
    return {"out": getattr(given, "in").T}


@pytest.mark.parametrize(
    ("name", "sizes", "result"),
    [
        ("histogram", ["n=100000"], histogram),
        ("matmul_naive", ["N=128"], matmul),
        ("matmul_tiled", ["N=128"], matmul),
        ("reduction", ["n=100000"], sums),
        ("saxpy", ["n=102400"], saxpy),
        ("spmv_csr", ["rows=4096"], spmv),
        ("transpose", ["N=256"], transpose),
    ],
)
def test_examples_are_run_and_forecast(ended, built, tmp_path, monkeypatch, name, sizes, result):
    monkeypatch.setattr(memory, "_GUARD_BYTES", GUARD_BYTES)  # arrays lie as `predict` lays them
    built("vector_add")  # skips where the libraries cannot be made
    path = EXAMPLES / f"{name}.cu"
    launch = read_workload(path, LaunchFlags(args=tuple(sizes))).launches[0]
    source = compile_source(
        path.read_text(), name=name, architecture="sm_90", kernels=[launch.kernel], cache=CACHE
    )
    one = prepared(source, launch)
    done = run_all(ended, tmp_path, source, [one])
    for label, wanted in result(Given(one.launch)).items():
        np.testing.assert_allclose(one.memory.array(label), np.ravel(wanted), rtol=1e-5)
    check_profile(done, [one], within=1e-6)
