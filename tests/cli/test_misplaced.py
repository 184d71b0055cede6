"""Options that stand behind a program are its own, which is told where they were meant for us."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from kernelcast.cli.misplaced import options_come_first
from kernelcast.cli.options import Output
from kernelcast.cli.run import command
from kernelcast.errors import CompileError


def run(call: list[str], *, fails: bool) -> None:
    """A program that is compiled, or cannot be."""
    output = Output(as_json=False, quiet=False, debug=False)
    with options_come_first(click.Context(command), call, output):
        if fails:
            raise CompileError("no such file", where="app.cu", hint="correct the source")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["7"], "correct the source"),
        (["7", "-I", "src"], "put -I before app.cu"),
        (["-Isrc"], "put -Isrc before app.cu"),
        (["-x", "--std=c++20"], "put --std=c++20 before app.cu"),
        (["-i", "--size"], "correct the source"),
        (["missing.cu"], "correct the source"),
    ],
)
def test_what_the_compiler_lacks_may_stand_behind_the_program(
    arguments: list[str], hint: str
) -> None:
    with pytest.raises(CompileError, match=re.escape(hint)):
        run(["app.cu", *arguments], fails=True)


def test_another_source_may_be_part_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.cu").touch()
    with pytest.raises(CompileError, match=r"put --nvcc other\.cu before app\.cu"):
        run(["app.cu", "other.cu"], fails=True)


def test_where_functions_are_missing_the_sources_beside_may_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("force.cu", ""), ("of memory.cu", ""), ("other.cu", "int main() {}")):
        Path(name).write_text(text)
    output = Output(as_json=False, quiet=False, debug=False)
    hint = "these sources are part of the program, put --nvcc force.cu --nvcc 'of memory.cu' before"
    with (
        pytest.raises(CompileError, match=re.escape(hint)),
        options_come_first(click.Context(command), ["main.cu", "8"], output),
    ):
        raise CompileError("undefined reference to `force()'", where="main.o", hint="")


def test_an_option_of_ours_behind_a_program_gets_a_remark(capsys) -> None:
    run(["app.cu", "--size", "7"], fails=False)
    assert capsys.readouterr().err == ""
    run(["app.cu", "--gpu", "a40"], fails=False)
    assert "--gpu behind app.cu is the program's own" in capsys.readouterr().err
