"""What nvcc made of programs is kept."""

from __future__ import annotations

from pathlib import Path

from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvcc import kept_program


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
