"""Compiled loops without a place to keep their machine code."""

from __future__ import annotations

from numba import types
from numba.core import caching

from kernelcast.profiling.compilation import compiled


def test_where_no_cache_can_be_written_the_function_is_compiled_all_the_same(monkeypatch):
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])

    def doubled(number):
        return 2 * number

    function = compiled(types.int64(types.int64))(doubled)
    assert function(21) == 42
    assert function.signatures
