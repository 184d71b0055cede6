"""What guides and README show is what their commands print: `scripts/update-docs` writes it anew.

A fenced block `console` holds commands behind `$`, each followed by what it prints. A comment
`<!-- file: NAME -->` above a block says that the commands find the block in a file of that name,
`<!-- needs: PACKAGE VERSION -->` of which version of an optional package the outputs are, and
`<!-- tool: NAME -->` that the commands need a tool.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from tests.golden.test_golden_reports import COMPILER

ROOT = Path(__file__).parents[2]
GUIDES = (ROOT / "README.md", *sorted((ROOT / "docs/guides").glob("*.md")))
LONG = ("c-to-gpu", "matrix-multiplication", "running-programs", "tuning-triton")
"""Guides whose commands take ten seconds and more: what these do has tests of its own."""
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^<!-- file: ([\w.-]+) -->\n```\S*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


NEEDS = re.compile(r"^<!-- needs: (\w+) ([\w.]+) -->$", re.MULTILINE)


TOOL = re.compile(r"^<!-- tool: (\S+) -->$", re.MULTILINE)


def skip_without_packages(guide: str) -> None:
    """Where a package that a guide shows the output of is missing, or is of another version, or a
    tool is missing."""
    for tool in TOOL.findall(guide):
        if shutil.which(tool) is None:
            pytest.skip(f"the guide needs {tool}")
    for package, wanted in NEEDS.findall(guide):
        try:
            found = version(package)
        except PackageNotFoundError:
            pytest.skip(f"the guide needs {package}")
        if found != wanted:
            pytest.skip(f"the guide is of {package} {wanted}, this is {found}")


def printed(command: str, folder: Path) -> str:
    """What a shell prints for a command, errors included, without spaces at the ends of lines."""
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    changed = {"PATH": path, "COLUMNS": "100", "PYTHONPATH": str(ROOT / "src")}
    kept = {k: v for k, v in os.environ.items() if k not in ("GITHUB_ACTIONS", "TF_BUILD")}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder / "work",
        env=kept | changed,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def run_again(guide: str, folder: Path) -> str:
    """The guide with what its commands print now, each in turn in one folder."""
    ours = folder / "bin/kernelcast"
    for made in (folder / "work", ours.parent):
        made.mkdir()
    ours.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kernelcast "$@"\n')
    ours.chmod(0o755)
    (folder / "work/examples").symlink_to(ROOT / "examples")
    for name, text in FILE.findall(guide):
        (folder / "work" / name).write_text(text)

    def again(block: re.Match[str]) -> str:
        commands = [line for line in block[1].splitlines() if line.startswith("$ ")]
        shown = "".join(f"{each}\n{printed(each[2:], folder)}" for each in commands)
        return f"```console\n{shown}```"

    return CONSOLE.sub(again, guide)


def one_guide(file: Path) -> Any:
    """A parameter of the test below."""
    marks = [pytest.mark.only_with_all] if file.stem in LONG else []
    return pytest.param(file, id=file.stem, marks=marks)


@pytest.mark.parametrize("file", [one_guide(file) for file in GUIDES])
def test_guides_show_what_their_commands_print(file, tmp_path, request):
    guide = file.read_text("utf-8")
    compiler = version("nvidia-cuda-nvrtc")
    is_updated = request.config.getoption("--update-golden")
    if not is_updated and COMPILER.read_text("utf-8").strip() != compiler:
        pytest.skip(f"the guides are of NVRTC {COMPILER.read_text().strip()}, this is {compiler}")
    skip_without_packages(guide)
    again = run_again(guide, tmp_path)
    if is_updated:
        file.write_text(again, "utf-8")
        return
    assert again == guide, "review the change, then scripts/update-docs"


def test_every_guide_is_in_the_index_and_runs_something():
    index = (ROOT / "docs/index.md").read_text("utf-8")
    guides = [file for file in GUIDES if file.parent.name == "guides"]
    assert len(guides) >= 3
    assert all(f"\nguides/{file.stem}\n" in index for file in guides)
    for file in GUIDES:
        assert CONSOLE.search(file.read_text("utf-8"))
