"""What the commands print, word for word: a change of any report is seen in the diff of its file.

`scripts/update-golden` writes the files anew; review what it changed. They hold what one version of
NVIDIA's compiler makes of the examples, so with another they are skipped.
"""

from __future__ import annotations

import re
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from kernelcast.cli.main import main

pytestmark = pytest.mark.usefixtures("shared_cases")
ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "reports"
COMPILER = FOLDER / "compiler.txt"

EXAMPLES = tuple(sorted(file.stem for file in (ROOT / "examples").glob("*.cu")))
OF_EVERY_EXAMPLE = (
    "predict {}",
    "predict {} --json",
    "predict {} --model all --gpu gtx-280,rtx-2080-ti,a100-sxm-80gb --quiet",
    "explain {} --launch 1",
    "occupancy-curve {} --gpu k20x",
    "kernels {}",
)
ONCE = (
    "compare examples/saxpy.cu --gpu a100-sxm-80gb,h100-sxm,rtx-4090",
    "compare examples/saxpy.cu --gpu a100-sxm-80gb,h100-sxm --json",
    "compare examples/matmul_naive.cu examples/matmul_tiled.cu",
    "compare examples/matmul_naive.cu examples/matmul_tiled.cu --json",
    "predict examples/reduction.cu --gpu h100-sxm,b200",
    "predict examples/saxpy.cu --isa ptx --set dram.bandwidth=1e12",
    "explain examples/saxpy.cu --json",
    "explain examples/matmul_tiled.cu --model mwp-cwp --gpu gtx-280",
    "explain examples/matmul_tiled.cu --model gpumech --gpu rtx-3090",
    "explain examples/spmv_csr.cu --model mdm --gpu gtx-1080",
    "explain examples/matmul_tiled.cu --model teg --gpu rtx-2080-ti",
    "occupancy-curve examples/matmul_tiled.cu --json",
    "explore examples/spmv_csr.cu examples/saxpy.cu "
    "--sweep sm.count=40:160:40 --sweep l2.ways=8,16",
    "explore examples/saxpy.cu --sweep dram.bandwidth=1e12,2e12 --top 1 --json",
    "occupancy-curve --cusp --gpu m60",
    "occupancy-curve --cusp --gpu m60 --json",
    "dvfs examples/spmv_csr.cu --gpu a100-sxm-80gb --model volkov,gpumech",
    "dvfs examples/matmul_tiled.cu --clock-sm 1.0e9:2.0e9:0.5e9 --clock-memory 0.65e9,1.313e9",
    "dvfs examples/saxpy.cu --json",
    "what-if examples/transpose.cu --gpu rtx-2080-ti",
    "what-if examples/transpose.cu --remove bank-conflicts,l2-misses,barriers --pairs --json",
    "disasm examples/saxpy.cu --gpu rtx-4090",
    "disasm examples/saxpy.cu --json",
    "kernels examples/transpose.cu --json",
    "launches tests/cli/launching.cu",
    "launches tests/cli/launching.cu --json",
    "trace examples/saxpy.cu",
    "trace examples/saxpy.cu --json",
    "offload examples/heat.c --function heat --size steps=10 --size n=500 --cpu-time 0.001",
    "offload examples/heat.c --function heat --size steps=1 --size n=200 --cpu-time 0.0001 --json",
    "advise examples/saxpy.cu --gpu a100-sxm-80gb",
    "advise examples/transpose.cu --gpu a100-sxm-80gb --json",
    "mix --gpu h100-sxm --alpha 8",
    "mix --gpu h100-sxm --alpha 8 --json",
    "occupancy --gpu h100-sxm,gtx-280 --block 256 --regs 40 --smem 10000",
    "occupancy --gpu h100-sxm --block 256 --json",
    "models",
    "models --json",
    "models mwp-cwp",
    "models mwp-cwp --json",
    "models mdm",
    "gpus",
    "gpus gtx-280",
    "gpus gtx-280 --json",
    "validate latency-hiding",
    "validate mdm --only BP --only BFS",
    "schema",
    "demo",
)
WITH_ALL = ("matmul_naive", "spmv_csr", "transpose")
"""Examples that all models on three GPUs are asked for with `--all` only."""
COMMANDS = (
    *(c.format(f"examples/{name}.cu") for name in EXAMPLES for c in OF_EVERY_EXAMPLE),
    *ONCE,
)


def golden_of(command: str) -> Path:
    """The file that holds what a command prints."""
    stem = re.sub(r"[^\w.=-]+", "_", command.replace("examples/", "")).strip("_")
    return FOLDER / f"{stem}.{'json' if '--json' in command else 'txt'}"


def printed(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Standard output of a command, without what differs from run to run and machine to machine."""
    assert main(shlex.split(command)) == 0, capsys.readouterr().err
    out = capsys.readouterr().out.replace(f"{ROOT}/", "")
    out = re.sub(r'("seconds": )[\d.e+-]+', r"\g<1>0.0", out)
    return re.sub(r'("kernelcast": )"[^"]+"', r'\1"version"', out)


def rounded(text: str) -> str:
    """A report with 12 digits of every number: CPUs differ in the last ones of a logarithm."""
    return re.sub(r"-?\d+\.\d{9,}(e-?\d+)?", lambda number: f"{float(number[0]):.12g}", text)


def one_command(command: str) -> Any:
    """A parameter of the test below."""
    is_long = "--model all" in command and any(name in command for name in WITH_ALL)
    return pytest.param(command, marks=[pytest.mark.only_with_all] if is_long else [])


@pytest.mark.parametrize("command", [one_command(command) for command in COMMANDS])
def test_reports_are_those_that_were_reviewed(
    command: str, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest, monkeypatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "110")
    compiler = version("nvidia-cuda-nvrtc")
    text = printed(command, capsys)
    file = golden_of(command)
    if request.config.getoption("--update-golden"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
        COMPILER.write_text(f"{compiler}\n", "utf-8")
        return
    if COMPILER.read_text("utf-8").strip() != compiler:
        pytest.skip(f"the reports are of NVRTC {COMPILER.read_text().strip()}, this is {compiler}")
    expected = file.read_text("utf-8")
    assert rounded(text) == rounded(expected), "review the change, then scripts/update-golden"


def test_only_the_last_digits_of_a_report_may_differ() -> None:
    assert rounded('"of": -0.9958103696619747,') == rounded('"of": -0.9958103696619754,')
    assert rounded('"of": -0.99581036966,') != rounded('"of": -0.99581036967,')
    assert rounded("1.23456789012e-07") != rounded("1.23456789013e-07")


def test_no_report_is_left_that_nobody_prints() -> None:
    held = {file.name for file in FOLDER.iterdir()} - {COMPILER.name}
    assert held == {golden_of(command).name for command in COMMANDS}
