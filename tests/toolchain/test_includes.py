from __future__ import annotations

from pathlib import Path

from kernelcast.toolchain import includes
from kernelcast.toolchain.includes import include_fingerprint


def fingerprint(source: str, beside: Path, *directories: Path) -> str | None:
    return include_fingerprint(
        source.encode(), str(beside / "kernel.cu"), directories, supplied={"stdio.h"}
    )


def test_a_changed_header_changes_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text('#include "b.h"\n')
    (tmp_path / "b.h").write_text("int x;\n")
    before = fingerprint('#include "a.h"\n', tmp_path)
    assert before == fingerprint('#include "a.h"\n', tmp_path)
    (tmp_path / "b.h").write_text("int y;\n")
    assert fingerprint('#include "a.h"\n', tmp_path) != before


def test_a_header_that_appears_in_an_earlier_directory_changes_it(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (second / "a.h").write_text("same")
    before = fingerprint("#include <a.h>", tmp_path, first, second)
    (first / "a.h").write_text("same")
    assert fingerprint("#include <a.h>", tmp_path, first, second) != before


def test_unusual_spellings_are_followed(tmp_path: Path) -> None:
    for spelling in (
        "  #  include <a.h>",
        "#/* why */include <a.h>",
        "#include /* why */ <a.h>",
        "#inc\\\nlude <a.h>",
        "#if __has_include(<a.h>)",
    ):
        directory = tmp_path / str(abs(hash(spelling)))
        directory.mkdir()
        before = fingerprint(spelling, tmp_path, directory)
        (directory / "a.h").write_text("int x;")
        assert fingerprint(spelling, tmp_path, directory) != before, spelling


def test_what_cannot_be_told_is_not_cached(tmp_path: Path, monkeypatch) -> None:
    assert fingerprint("#include HEADER\n", tmp_path) is None
    (tmp_path / "a.h").write_text("#include HEADER\n")
    assert fingerprint('#include "a.h"\n', tmp_path) is None
    monkeypatch.setattr(includes, "_MAX_FILES", 1)
    for name, text in {"b.h": '#include "c.h"', "c.h": '#include "d.h"', "d.h": ""}.items():
        (tmp_path / name).write_text(text)
    assert fingerprint('#include "d.h"\n', tmp_path) is not None
    assert fingerprint('#include "b.h"\n', tmp_path) is None


def test_headers_that_include_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text('#include "b.h"\n')
    (tmp_path / "b.h").write_text('#include "a.h"\n')
    assert fingerprint('#include "a.h"\n', tmp_path) is not None


def test_supplied_headers_are_not_looked_for(tmp_path: Path) -> None:
    before = fingerprint("#include <stdio.h>", tmp_path, tmp_path)
    (tmp_path / "stdio.h").write_text("int x;")
    assert fingerprint("#include <stdio.h>", tmp_path, tmp_path) == before
