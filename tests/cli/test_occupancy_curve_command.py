"""`kernelcast occupancy-curve`: needed warps, what would change them, and the cusp."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

import kernelcast as kc
from kernelcast import api
from kernelcast.errors import MissingNumberError
from kernelcast.exploration.cusp import cusp
from kernelcast.exploration.occupancy_curve import OccupancyCurve, occupancy_curve
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.base import Bottleneck
from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.documents.occupancy_curve import curve_document, curve_schema
from kernelcast.reporting.documents.occupancy_cusp import cusp_schema

ROOT = Path(__file__).parents[2]
FIVE = ("8800-gtx", "gtx-280", "gtx-480", "gtx-680", "gtx-980")
COMMITTED = ["occupancy-curve", "--cusp", "--gpu", ",".join(FIVE), "--svg"]

HEAD = """/* kernelcast
n = "1 << 22"
[[launch]]
kernel = "%s"
grid = "cdiv(n, 256)"
block = 256
smem = %d
args = { %s }
*/
"""
THREAD = "int i = threadIdx.x + blockDim.x * blockIdx.x;"
REVERSE = """
extern "C" __global__ void reverse(const float* __restrict__ x, float* __restrict__ y) {
    extern __shared__ float s[];
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    s[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = s[255 - threadIdx.x];
}
"""


@pytest.fixture
def kernel(tmp_path):
    def write(name: str, args: str, code: str, smem: int = 0) -> Path:
        path = tmp_path / f"{name}.cu"
        path.write_text(HEAD % (name, smem, args) + code)
        return path

    return write


@pytest.fixture
def reverse(kernel):
    return kernel("reverse", 'x = "f32[n] random(1)", y = "f32[n]"', REVERSE, smem=40_000)


def curves(path: Path, *flags: str) -> list[OccupancyCurve]:
    build = api.Build(api.CompileOptions(extra=flags))
    machines = [load_machine(name) for name in FIVE]
    return [occupancy_curve(c) for c in api.cases(api.workload(path), machines, build=build)]


def test_too_few_warps_and_what_would_give_more(run, reverse):
    outcome = run("occupancy-curve", reverse, "--gpu", "gtx-680", "--json")
    (result,) = json.loads(outcome.out)["results"]
    assert (result["warps_per_sm"], result["enough"]) == (8, False)
    assert result["gain"] > 4
    # 48 KiB of an SM among the blocks that are wanted, in units of 256 B.
    most = result["most_for_needed"]["shared memory"]
    assert most == 49152 // result["wanted_blocks"] // 256 * 256
    text = run("occupancy-curve", reverse, "--gpu", "gtx-680").out
    first = " ".join(text.split("\n\n")[0].split())
    assert "it has 8: too few," in first
    assert "times faster at" in first
    assert "bytes of shared memory per block from 40 000 to at most" in " ".join(text.split())


def test_following_the_advice_makes_it_enough(run, reverse):
    def result(smem: int):
        flags = ["--gpu", "gtx-680", "--grid", 1024, "--block", 256, "--smem", smem, "--json"]
        args = ["--arg", "x=f32[262144] random(1)", "--arg", "y=f32[262144]"]
        return json.loads(run("occupancy-curve", reverse, *flags, *args).out)["results"][0]

    most = result(40_000)["most_for_needed"]["shared memory"]
    assert result(most)["enough"]
    assert not result(most + 1)["enough"]


def test_the_answer_for_enough_says_what_may_grow(run):
    outcome = run("occupancy-curve", ROOT / "examples" / "matmul_tiled.cu", "--gpu", "h100-sxm")
    first, *rest = outcome.out.splitlines()
    assert first.endswith("warps per SM; it has 64: enough")
    assert any("may grow from" in line for line in rest)


def test_the_needed_warps_are_those_of_the_forecast(run):
    file = ROOT / "examples" / "saxpy.cu"
    flags = (file, "--gpu", "a100-sxm-80gb", "--json")  # whose loads wait no longer under load
    (curve,) = json.loads(run("occupancy-curve", *flags).out)["results"]
    (forecast,) = json.loads(run("predict", *flags).out)["results"]
    assert curve["needed_warps"] == pytest.approx(forecast["needed_warps"])


def test_a_small_grid_is_named(run):
    file = ROOT / "examples" / "saxpy.cu"
    outcome = run("occupancy-curve", file, "--gpu", "h100-sxm", "--grid", 100)
    said = " ".join(outcome.out.split())
    assert "it has 6.06: too few" in said
    assert "times the throughput" in said
    assert "times faster" not in said
    assert "a larger grid" in outcome.out


def test_the_curve_keeps_to_its_bounds_and_never_falls(kernel):
    path = kernel("reverse", 'x = "f32[n] random(1)", y = "f32[n]"', REVERSE, smem=4096)
    for curve in curves(path):
        before = 0.0
        for p in curve.points:
            assert p.throughput <= min(p.latency_bound, curve.throughput_bound) * (1 + 1e-9)
            assert p.throughput >= before
            before = p.throughput
        if curve.needed_warps <= curve.limit_warps:
            share = curve.wanted.throughput / curve.throughput_bound
            assert share >= curve.needed_share * (1 - 1e-9)


def test_section_3_10_scattered_accesses_need_fewer_warps(kernel):
    code = f"""extern "C" __global__ void permute(int* a, const int* b, const int* c) {{
        {THREAD} a[i] = b[c[i]]; }}"""
    args = 'a = "s32[n]", b = "s32[n]", c = "s32[n] %s"'
    trivial = curves(kernel("permute", args % "arange", code))
    scattered = curves(kernel("permute", args % "permutation(1)", code))
    for straight, random in zip(trivial, scattered, strict=True):
        assert random.needed_warps < straight.needed_warps
        assert random.latency_cycles > straight.latency_cycles
        assert random.throughput_bound < straight.throughput_bound / 2


def test_section_3_10_writes_beside_reads_need_fewer_warps(kernel):
    code = f"""extern "C" __global__ void vabs(float* a) {{
        {THREAD} float b = a[i]; if (b < 0) a[i] = -b; }}"""
    positive = curves(kernel("vabs", 'a = "f32[n] ones"', code))
    negative = curves(kernel("vabs", 'a = "f32[n] randint(-9, -1, 1)"', code))
    for reads, writes in zip(positive, negative, strict=True):
        # About a factor of 2: twice the traffic at about the same latency.
        assert 1.5 < reads.needed_warps / writes.needed_warps < 2.1


def test_section_3_10_fast_mathematics_needs_fewer_warps(kernel):
    """Where memory bounds both, which the analysis asks for: hence the four inputs."""
    code = f"""extern "C" __global__ void price(
        const float* x, const float* y, const float* u, const float* v, float* z) {{
        {THREAD} z[i] = logf(x[i]) * y[i] + u[i] * v[i]; }}"""
    args = ", ".join(f'{name} = "f32[n] random({at})"' for at, name in enumerate("xyuvz"))
    path = kernel("price", args, code)
    for exact, fast in zip(curves(path), curves(path, "--use_fast_math"), strict=True):
        assert exact.busiest is fast.busiest is Bottleneck.DRAM_BANDWIDTH
        assert fast.throughput_bound == pytest.approx(exact.throughput_bound)
        assert fast.needed_warps < exact.needed_warps


def test_the_committed_cusp_is_what_the_command_draws_today(run, tmp_path):
    picture = tmp_path / "cusp.svg"
    assert run(*COMMITTED, picture).status == 0
    assert picture.read_text() == (ROOT / "docs" / "cusp.svg").read_text()
    command = "kernelcast " + " ".join(COMMITTED) + " docs/cusp.svg"
    assert command in (ROOT / "docs" / "latency-hiding.md").read_text()


def test_every_chip_of_the_dissertation_has_a_cusp(run):
    answer = json.loads(run(*COMMITTED[:-1], "--json").out)
    assert [r["gpu"] for r in answer["results"]] == list(FIVE)
    for result in answer["results"]:
        ends = max(result["loads_alone_warps"], result["additions_alone_warps"])
        assert result["is_cusp"]
        assert result["most_warps"] > 1.3 * ends
        assert 8 <= result["most_alpha"] <= 64
    assert run(*COMMITTED[:-1], "--quiet").out.startswith("5 of 5 GPUs have a cusp")
    one = run("occupancy-curve", "--cusp", "--gpu", "gtx-680", "--quiet").out
    assert one.startswith("gtx-680 needs most warps, 74.5 per SM where 64 fit")


def test_chosen_intensities(run, tmp_path):
    """Section 4.5, Maxwell: 30 warps for loads alone, (368 + 49 x 6) 4/50 behind the cusp."""
    picture = tmp_path / "cusp.svg"
    flags = ["occupancy-curve", "--cusp", "--gpu", "gtx-980", "--alpha", "0,1.5,49,512"]
    answer = json.loads(run(*flags, "--svg", picture, "--json").out)
    jsonschema.validate(answer, cusp_schema())
    assert answer["alphas"] == [0, 1.5, 49, 512]
    (result,) = answer["results"]
    assert result["needed_warps"][0] == result["loads_alone_warps"] == pytest.approx(30, abs=0.1)
    assert result["needed_warps"][2] == result["most_warps"] == pytest.approx(52.96)
    assert result["most_alpha"] == 49
    assert result["is_cusp"]
    lines = [line.split() for line in run(*flags).out.splitlines()]
    assert {"0", "1.5", "49", "512"} <= {line[0] for line in lines if len(line) == 2}
    assert picture.exists()


def test_where_no_intensity_between_is_asked_for_there_is_no_cusp(run):
    out = run("occupancy-curve", "--cusp", "--gpu", "gtx-980", "--alpha", "0", "--quiet").out
    assert "no cusp" in out


def test_the_json_follows_its_schema(run, reverse):
    for schema, flags in (
        ("occupancy-curve", (reverse, "--gpu", "gtx-680,t4")),
        ("occupancy-cusp", ("--cusp", "--gpu", "gtx-680,t4")),
    ):
        published = json.loads(run("schema", schema).out)
        jsonschema.Draft202012Validator.check_schema(published)
        answer = json.loads(run("occupancy-curve", *flags, "--json").out)
        assert len(answer["results"]) == 2
        jsonschema.validate(answer, published)
        assert answer["schema"] == published["$id"]
        del answer["results"][1]["gpu"]
        with pytest.raises(jsonschema.ValidationError, match="gpu"):
            jsonschema.validate(answer, published)


def test_a_launch_that_never_has_enough_is_null(kernel):
    path = kernel("reverse", 'x = "f32[n] random(1)", y = "f32[n]"', REVERSE, smem=4096)
    curve = replace(curves(path)[0], needed_warps=math.inf)
    result = as_json(curve_document([curve]))
    jsonschema.validate(result, curve_schema())
    assert result["results"][0]["needed_warps"] is None


def test_an_unknown_schema_answers_with_the_nearest(run):
    outcome = run("schema", "occupancy-curv")
    assert (outcome.status, outcome.out) == (2, "")
    assert "did you mean occupancy-curve" in outcome.err


def test_the_curve_from_python_is_that_of_the_command(run, reverse):
    (case,) = api.cases(api.workload(reverse), [load_machine("gtx-680")])
    curve = kc.occupancy_curve(case)
    (result,) = json.loads(run("occupancy-curve", reverse, "--gpu", "gtx-680", "--json").out)[
        "results"
    ]
    assert curve.as_dict() == result
    assert curve.needed_warps == result["needed_warps"]
    assert str(curve).startswith("reverse<<<16384, 256>>>")
    assert str(curve).split() == run("occupancy-curve", reverse, "--gpu", "gtx-680").out.split()


def test_the_picture_of_a_launch_has_a_chart_per_gpu(run, reverse, tmp_path):
    picture = tmp_path / "curve.svg"
    outcome = run("occupancy-curve", reverse, "--gpu", "t4,h100-sxm", "--svg", picture, "--quiet")
    assert outcome.status == 0
    assert len(outcome.out.replace("\n", " ").split(" on ")) == 3
    root = ElementTree.parse(picture).getroot()
    assert len(root.findall("{http://www.w3.org/2000/svg}g")) == 2


SAXPY = str(ROOT / "examples" / "saxpy.cu")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "FILE or --cusp expected"),
        ([SAXPY, "--cusp"], "not both"),
        (["nowhere.cu"], "no such file"),
        (["--cusp", "--gpu", "gtx980"], "did you mean gtx-980"),
        ([SAXPY, "--gpu", "8800-gt", "--set", "dram.bandwidth=0"], "out of range"),
        (["--cusp", "--svg", "/nowhere/cusp.svg"], "cannot be written"),
        (["--cusp", "--alpha", "1,two"], "not a list of numbers"),
        (["--cusp", "--alpha", "-1"], "alpha is -1"),
        (["--cusp", "--alpha", "1,inf"], "alpha is inf"),
        ([SAXPY, "--alpha", "1"], "goes with --cusp"),
    ],
)
def test_bad_input_is_one_line(run, arguments, said):
    outcome = run("occupancy-curve", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_file_without_a_launch_is_an_error(run, tmp_path):
    path = tmp_path / "bare.cu"
    path.write_text(f'extern "C" __global__ void f(int* a) {{ {THREAD} a[i] = i; }}')
    outcome = run("occupancy-curve", path)
    assert outcome.status == 2
    assert "launch" in outcome.err


def test_a_number_that_the_machine_lacks_is_named():
    machine = load_machine("gtx-680")
    known = {k: v for k, v in machine.quantities.items() if k != "latency.dram"}
    with pytest.raises(MissingNumberError, match=r"latency\.dram"):
        cusp(replace(machine, quantities=known))
