"""What nvcc made of programs is kept, and which nvcc that is may be chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.errors import ToolError
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvcc import find_nvcc, kept_program


def test_a_program_is_made_anew_where_one_of_its_files_has_changed(tmp_path):
    """Wrong if only the first file counts, or where one ends and the next begins does not."""
    made: list[dict[str, bytes]] = []

    def program(**texts: bytes) -> bytes:
        def make() -> bytes:
            made.append(texts)
            return b"program %d" % len(made)

        files = {Path(f"{name}.cu"): text for name, text in texts.items()}
        return kept_program(files, (), ["nvcc"], Cache(tmp_path), make)

    assert program(a=b"int x;", b=b"int y;") == b"program 1"
    assert program(a=b"int x;", b=b"int y;") == b"program 1"
    assert program(a=b"int x;", b=b"int z;") == b"program 2"
    assert program(a=b"int x;int", b=b" y;") == b"program 3"


def test_an_nvcc_may_be_chosen(tmp_path, monkeypatch):
    chosen = tmp_path / "nvcc"
    monkeypatch.setenv("KERNELCAST_NVCC", str(chosen))
    with pytest.raises(ToolError, match="there is no nvcc to execute; let KERNELCAST_NVCC name"):
        find_nvcc()
    chosen.write_text("#!/bin/sh\n")
    chosen.chmod(0o700)
    assert find_nvcc() == chosen
