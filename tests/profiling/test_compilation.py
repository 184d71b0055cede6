"""Compiled loops without a place to keep their machine code."""

from __future__ import annotations

from numba import types
from numba.core import caching

from kernelcast.profiling.compilation import compiled, folder_stamp


def test_where_no_cache_can_be_written_the_function_is_compiled_all_the_same(monkeypatch):
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])

    def doubled(number):
        return 2 * number

    function = compiled(types.int64(types.int64))(doubled)
    assert function(21) == 42
    assert function.signatures


def test_compiled_code_is_stale_where_a_module_beside_it_has_changed(tmp_path):
    for name in ("loop.py", "called.py"):
        (tmp_path / name).write_text("pass\n")
    stamp = folder_stamp(tmp_path)
    (tmp_path / "notes.txt").write_text("no code")
    assert folder_stamp(tmp_path) == stamp
    (tmp_path / "called.py").write_text("pass  # otherwise\n")
    assert folder_stamp(tmp_path) != stamp
