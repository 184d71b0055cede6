"""Text and JSON of an answer come from one document; `conftest` sees that JSON lacks nothing."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from tests.cli.conftest import as_text

import kernelcast.cli
from kernelcast.cli.options import Output
from kernelcast.reporting.documents.base import as_json

ROOT = Path(__file__).parents[2]
SAXPY = ROOT / "examples/saxpy.cu"
LAUNCHING = ROOT / "tests/cli/launching.cu"
PTX = ("--isa", "ptx")
GEMM = ROOT / "tests/frontends/c/nests/algebra.c"
GEMM_SIZES = ("--size", "n=40", "--size", "m=40", "--size", "k=40")
COMMANDS: list[tuple[object, ...]] = [
    ("predict", SAXPY, *PTX, "--sample", "2"),
    ("predict", SAXPY, *PTX, "--gpu", "t4,l4", "--model", "all"),
    ("compare", SAXPY, ROOT / "examples/matmul_naive.cu", *PTX),
    ("explain", SAXPY, "--sample", "2"),
    ("demo",),
    ("disasm", ROOT / "examples/reduction.cu", "--sample", "2"),
    ("trace", SAXPY, *PTX, "--sample", "2"),
    ("kernels", SAXPY),
    ("launches", LAUNCHING),
    ("occupancy", "--block", "256", "--grid", "1000", "--gpu", "t4,gtx-280"),
    ("occupancy-curve", SAXPY, *PTX, "--gpu", "gtx-980"),
    ("occupancy-curve", "--cusp", "--gpu", "t4,gtx-680"),
    ("explore", SAXPY, *PTX, "--gpu", "t4", "--sweep", "sm.count=20,40"),
    ("dvfs", SAXPY, *PTX, "--clock-sm", "1e9,2e9", "--clock-memory", "1e9,2e9"),
    ("what-if", SAXPY, "--remove", "dram-bandwidth,tail", "--pairs"),
    ("offload", GEMM, "--function", "gemm_linear", *GEMM_SIZES, "--cpu-time", "1e-3", *PTX),
    ("mix", "--alpha", "inf"),
    ("gpus",),
    ("gpus", "gtx-280"),
    ("models",),
    ("models", "zhang-owens"),
    ("doctor",),
    ("validate", "latency-hiding", "--gpu", "gtx-280", "--alpha", "0,8,inf"),
    ("validate", "mdm", "--only", "BP"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_text_and_json_show_one_document(run, shown, capsys, command):
    text = run(*command)
    (document,) = shown
    assert text.out == as_text(document), text.err
    Output(as_json=True, quiet=False, debug=False).show(document)
    assert json.loads(capsys.readouterr().out) == as_json(document)


def calls(file: Path) -> set[str]:
    """Names that a module calls as `object.name(...)`."""
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    return {
        ast.unparse(node.func)
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


def test_every_command_shows_a_document_and_prints_in_no_other_way():
    folder = Path(kernelcast.cli.__file__).parent
    commands = [f for f in folder.rglob("*.py") if "def command(" in f.read_text("utf-8")]
    assert len(commands) > 15
    for file in commands:
        if file.name in ("schema.py", "__init__.py"):  # JSON in both forms; groups of commands
            continue
        found = calls(file)
        assert "output.show" in found, file
        assert not {"click.echo", "click.secho", "sys.stdout.write"} & found, file
