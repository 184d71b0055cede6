"""`completion`: scripts that the shells accept, and what they complete."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHELLS = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_each_shell(run, shell):
    found = run("completion", shell)
    assert (found.status, found.err) == (0, "")
    assert "_KERNELCAST_COMPLETE" in found.out
    assert json.loads(run("completion", shell, "--json").out)["script"] + "\n" == found.out


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_accepts_its_script(run, shell):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"needs {shell}")
    script = run("completion", shell).out
    done = subprocess.run([program, "-n"], input=script, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_bash_completes_what_is_typed(run, tmp_path):
    program = shutil.which("bash")
    if program is None:
        pytest.skip("needs bash")
    ours = tmp_path / "kernelcast"
    ours.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kernelcast "$@"\n')
    ours.chmod(0o755)
    script = run("completion", "bash").out
    typed = (
        "COMP_WORDS=(kernelcast predict k.cu --gpu h100-s); COMP_CWORD=4; "
        '_kernelcast_completion kernelcast; echo "${COMPREPLY[@]}"'
    )
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [program], input=f"{script}\n{typed}", capture_output=True, text=True, env=os.environ | path
    )
    assert done.stdout.split() == ["h100-sxm"], done.stderr


def test_an_unknown_shell_is_one_line(run):
    found = run("completion", "fsh")
    assert (found.status, found.out) == (2, "")
    assert "unknown shell 'fsh'; did you mean fish" in found.err
